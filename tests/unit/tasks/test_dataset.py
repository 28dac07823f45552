"""Datasets: found by directory or name, tasks chosen by any spelling of their id."""

import json
import os
from pathlib import Path

import pytest

from datasmith.errors import ConfigError, InvalidTask, TaskError
from datasmith.settings import Settings
from datasmith.tasks.dataset import Places, load_dataset
from datasmith.tasks.folder import write_task
from tests.unit.tasks.samples import sample_task, source_tar

TASKS = {("acme", "calc", 1), ("acme", "calc", 12), ("pandas-dev", "pandas", 50643), ("pandas", "dev-pandas", 7)}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Four task folders."""
    source = source_tar(tmp_path / "source.tar.gz")
    for owner, repo, number in TASKS:
        name = f"{owner}_{repo}_{number}"
        task = sample_task(task_id=name, owner=owner, repo=repo, pr_number=number, certificate=None)
        write_task(task, tmp_path / "tasks", source=source, provenance={})
    return tmp_path / "tasks"


def chosen(root: Path, *patterns: str, exclude: tuple[str, ...] = ()) -> list[str]:
    return [task.task_id for task in load_dataset(str(root)).select(patterns, exclude)]


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ((), ["acme_calc_1", "acme_calc_12", "pandas-dev_pandas_50643", "pandas_dev-pandas_7"]),
        (("acme_*",), ["acme_calc_1", "acme_calc_12"]),
        (("acme/calc#12", "acme__calc-1", "ACME_calc_1"), ["acme_calc_1", "acme_calc_12"]),
        (("pandas_dev-pandas_50643",), ["pandas-dev_pandas_50643"]),
        (("pandas-dev__pandas-50643",), ["pandas-dev_pandas_50643"]),
        (("pandas_dev-pandas_7",), ["pandas_dev-pandas_7"]),
    ],
)
def test_every_spelling_chooses_its_task(root: Path, patterns: tuple[str, ...], expected: list[str]) -> None:
    """Globs, references and the older spelling; each task once, in order."""
    assert chosen(root, *patterns) == expected


def test_what_is_excluded_is_left_out(root: Path) -> None:
    """Exclusions are read like choices; a glob may match nothing, a name that does is a slip of the pen."""
    assert chosen(root, "acme_*", exclude=("acme/calc#12", "nobody_*")) == ["acme_calc_1"]
    assert chosen(root, exclude=("*",)) == []
    with pytest.raises(
        ConfigError, match=r"--exclude 'acme_clac_1' matches no task of .*example: --exclude acme_calc_1"
    ):
        chosen(root, exclude=("acme_clac_1",))


def test_a_folder_of_another_name_than_its_task_is_no_task(root: Path) -> None:
    """What looks for it by the task's id would find nothing; the words are those of the check, and of what to do."""
    (root / "acme_calc_1").rename(root / "copy of it")
    with pytest.raises(InvalidTask, match="copy of it: task_id is acme_calc_1, and the folder must have that name"):
        chosen(root)
    assert chosen(root, "acme_calc_12") == ["acme_calc_12"]
    assert len(load_dataset(str(root)).readable(())[1]) == 1


def test_a_folder_that_may_not_be_read_is_not_left_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dataset with one task less would be another one."""
    closed, access = str(root / "acme_calc_1"), os.access
    monkeypatch.setattr(os, "access", lambda path, *rest, **more: str(path) != closed and access(path, *rest, **more))
    with pytest.raises(TaskError, match=r"acme_calc_1 may not be read \(example: chmod"):
        load_dataset(str(root))


@pytest.mark.parametrize("pattern", ["acme_calc_2", "pandas-dev-pandas-50643", "x*", ""])
def test_a_pattern_without_tasks_is_an_error_with_an_example(root: Path, pattern: str) -> None:
    """It names the pattern, and an id that exists."""
    with pytest.raises(ConfigError, match="example: --task-id acme_calc_1"):
        chosen(root, pattern)


def test_a_broken_folder_matters_only_where_it_is_chosen(root: Path) -> None:
    """Its neighbours can be used."""
    (root / "acme_calc_1/task.toml").write_text("[")
    assert chosen(root, "acme_calc_12", "pandas_dev-pandas_50643") == ["acme_calc_12", "pandas-dev_pandas_50643"]
    with pytest.raises(InvalidTask, match="acme_calc_1"):
        chosen(root)


def test_a_folder_that_lost_its_record_is_not_passed_over(root: Path) -> None:
    """It is a task that cannot be read, not one that is not there."""
    (root / "acme_calc_1/task.toml").unlink()
    assert chosen(root, "acme_calc_12") == ["acme_calc_12"]
    with pytest.raises(InvalidTask, match=r"acme_calc_1: task\.toml is missing"):
        chosen(root)


def test_one_task_folder_is_a_dataset(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by a relative path that says nothing of its name."""
    monkeypatch.chdir(root / "acme_calc_1")
    assert load_dataset(".").folders == {"acme_calc_1": Path()}


def test_a_directory_without_tasks_is_an_error(tmp_path: Path) -> None:
    """Drafts of an interrupted write do not count as tasks."""
    (tmp_path / ".acme_calc_1.xyz" / "task").mkdir(parents=True)
    (tmp_path / ".acme_calc_1.xyz" / "task" / "task.toml").touch()
    with pytest.raises(ConfigError, match="no task folder"):
        load_dataset(str(tmp_path))


def test_a_registered_name_leads_to_its_directory(root: Path, tmp_path: Path) -> None:
    """Paths are relative to the registry; a release is looked up by its full name, else the directory has to be one."""
    registry = tmp_path / "datasets.json"
    registry.write_text(json.dumps({"fc": "tasks", "fc@2026-03": "tasks/acme_calc_1"}))
    assert len(load_dataset("fc", Places({"--registry": registry})).folders) == len(TASKS)
    assert list(load_dataset("fc@2026-03", Places({"--registry": registry})).folders) == ["acme_calc_1"]
    with pytest.raises(ConfigError, match=r"fc@2026-02: .*/tasks has no release.json .*\(example: --dataset fc\)"):
        load_dataset("fc@2026-02", Places({"--registry": registry}))


def test_an_unknown_name_says_what_is_known(root: Path, tmp_path: Path) -> None:
    """With and without a registry."""
    registry = tmp_path / "datasets.json"
    with pytest.raises(ConfigError, match="there is no registry file"):
        load_dataset("fc", Places({"--registry": registry}))
    registry.write_text('{"fc": "tasks"}')
    with pytest.raises(ConfigError, match=r"no name in .*datasets\.json; known: fc, formulacode \("):
        load_dataset("other", Places({"--registry": registry}))
    with pytest.raises(ConfigError, match="; did you mean 'formulacode'"):
        load_dataset("formulacod", Places({"--registry": registry}))
    registry.write_text('{"fc": "moved"}')
    with pytest.raises(ConfigError, match=r"--dataset fc: the registry names .*/moved, which is no directory"):
        load_dataset("fc", Places({"--registry": registry}))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[", "Expecting value"),
        ("[]", "not a JSON object"),
        ('{"fc": 1}', "'fc' stands for no text"),
        ('{"fc": "a", "x": {}}', "'x' stands for no text"),
        ('{"fc": "a", "fc": "b"}', "'fc' stands there twice"),
    ],
)
def test_a_registry_that_cannot_be_read_is_named(tmp_path: Path, content: str, says: str) -> None:
    """One line with its setting, the file's name and what is wrong, whichever of the registries it is."""
    mine, other = tmp_path / "mine.json", tmp_path / "datasets.json"
    places = Places.of(Settings(datasets_file=mine), other)
    for registry, setting in ((mine, "FC_DATASETS_FILE"), (other, "--registry")):
        registry.write_text(content)
        with pytest.raises(TaskError) as raised:
            load_dataset("fc", places)
        assert str(raised.value).startswith(f"{setting} {registry}: no registry of datasets: {says}")
        assert "\n" not in str(raised.value) and "example" in str(raised.value)
