"""Export of task folders: where they cannot go is said before anything is written."""

import errno
import os
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.errors import ConfigError, StoreUnavailable
from datasmith.evaluation import export
from datasmith.evaluation.export import export_tasks
from datasmith.tasks.folder import write_task
from tests.unit.tasks.samples import sample_task, source_tar


def test_a_file_is_no_place_for_folders(tmp_path: Path) -> None:
    """The option is named, with an example, and the file stays."""
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ConfigError, match=r"--output .*is no directory \(example: --output harbor-tasks\)"):
        export_tasks([], tmp_path / "file", "harbor")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--harbor", "--terminal-bench"], "--harbor: --terminal-bench is given, too"),
        ([], "export: --harbor or --terminal-bench is needed"),
    ],
)
def test_one_harness_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], says: str) -> None:
    """Both, and none, are one-line errors."""
    assert run_app(app, ["export", str(tmp_path), "--output", str(tmp_path / "out"), *flags]) == 2
    assert says in capsys.readouterr().err


def test_tasks_are_not_exported_over_themselves(tmp_path: Path) -> None:
    """Also with force, and by another spelling of the place: nothing is touched."""
    task = sample_task()
    folder = write_task(task, tmp_path / "tasks", source=source_tar(tmp_path / "repo.tar.gz"), provenance={})
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(ConfigError, match="holds the tasks themselves"):
        export_tasks([folder], tmp_path / "tasks/../tasks", "harbor", force=True)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_disk_that_is_full_names_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else says where the files were to go; no example would help."""
    folder = write_task(sample_task(), tmp_path / "tasks", source=source_tar(tmp_path / "repo.tar.gz"), provenance={})

    def full(*_: object, **__: object) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(export, "write_task", full)
    with pytest.raises(StoreUnavailable, match=r"--output .*: No space left on device$"):
        export_tasks((folder,), tmp_path / "out", "harbor")


def test_what_is_no_task_is_not_replaced(tmp_path: Path) -> None:
    """With force, too: a directory that happens to be called like a task is somebody's."""
    folder = write_task(sample_task(), tmp_path / "tasks", source=source_tar(tmp_path / "repo.tar.gz"), provenance={})
    mine = tmp_path / "out" / folder.name / "thesis.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(ConfigError, match=f"{folder.name} is there already, and is no task"):
        export_tasks([folder], tmp_path / "out", "harbor", force=True)
    assert mine.read_text() == "mine"
    mine.unlink()
    mine.with_name("task.toml").touch()
    assert export_tasks([folder], tmp_path / "out", "harbor", force=True)
