"""Releases: packed the same twice, fetched one task at a time from a directory or the Hub, believed once checked."""

import gzip
import hashlib
import io
import json
import shutil
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasmith.errors import ConfigError, InvalidTask, TaskError
from datasmith.settings import load_settings
from datasmith.tasks.dataset import Dataset, Places, load_dataset
from datasmith.tasks.folder import task_digest, write_task
from datasmith.tasks.release import archive_name, read_index, write_release
from tests.loopback.hub import LoopbackHub, loopback_hub
from tests.unit.tasks.samples import sample_task, source_tar

NAMES = ("acme_calc_1", "acme_calc_2")
REPO = "formulacode/formulacode-all"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("tasks")
    source = source_tar(root / "source.tar.gz")
    for number in (1, 2):
        task = sample_task(task_id=f"acme_calc_{number}", pr_number=number, certificate=None)
        write_task(task, root, source=source, provenance={})
    return {name: root / name for name in NAMES}


@pytest.fixture
def release(folders: dict[str, Path], tmp_path: Path) -> Path:
    write_release(folders, tmp_path / "release", name="formulacode", release="2026-03")
    return tmp_path / "release"


def opened(release: Path, cache: Path) -> Dataset:
    return load_dataset(str(release), Places(cache=cache))


def test_a_release_is_the_same_twice_and_gives_its_folders_back(
    folders: dict[str, Path], release: Path, tmp_path: Path
) -> None:
    """Byte for byte; a folder is unpacked when it is asked for, and equals the one that was packed."""
    write_release(folders, tmp_path / "again", name="formulacode", release="2026-03")
    for path in release.rglob("*"):
        assert path.is_dir() or path.read_bytes() == (tmp_path / "again" / path.relative_to(release)).read_bytes()
    found = opened(release, tmp_path / "cache")
    assert (found.release, list(found.folders)) == ("2026-03", list(NAMES))
    assert not (tmp_path / "cache").exists()
    (task,) = found.select(["acme/calc#2"])
    assert task.task_id == "acme_calc_2"
    assert task_digest(found.folders["acme_calc_2"]) == task_digest(folders["acme_calc_2"])
    assert len(list((tmp_path / "cache").glob("*/acme_calc_*"))) == 1
    assert (found.folders["acme_calc_2"] / "tests/test.sh").stat().st_mode & 0o111


def test_what_was_changed_in_the_cache_is_unpacked_again(release: Path, tmp_path: Path) -> None:
    """A cache is no place that a run may trust."""
    folder = opened(release, tmp_path / "cache").folders["acme_calc_1"]
    good = task_digest(folder)
    (folder / "instruction.md").write_text("other")
    assert task_digest(opened(release, tmp_path / "cache").folders["acme_calc_1"]) == good


def test_a_broken_folder_is_not_packed(folders: dict[str, Path], tmp_path: Path) -> None:
    """And nothing of the release appears."""
    shutil.copytree(folders["acme_calc_1"], tmp_path / "acme_calc_1")
    (tmp_path / "acme_calc_1/instruction.md").unlink()
    with pytest.raises(InvalidTask, match=r"instruction\.md is missing"):
        write_release({"acme_calc_1": tmp_path / "acme_calc_1"}, tmp_path / "out", name="x", release="1")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("there", ["notes.txt", "mine/thesis.tex", "mine/tasks/thesis.tex"])
def test_only_a_release_is_replaced(folders: dict[str, Path], tmp_path: Path, there: str) -> None:
    """A file, or a directory that holds anything else, stays as it is."""
    (tmp_path / there).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / there).write_text("years of work")
    with pytest.raises(ConfigError, match=r"--to .*is no release.*example: --to release"):
        write_release(folders, tmp_path / there.partition("/")[0], name="x", release="1")
    assert (tmp_path / there).read_text() == "years of work"


def test_a_place_that_cannot_be_made_is_told_by_its_option(folders: dict[str, Path], tmp_path: Path) -> None:
    """It is no defect: here a file is in the way. Directories that are missing are made."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"--to .*/file/release: .* \(example: --to release\)"):
        write_release(folders, tmp_path / "file/release", name="x", release="1")
    write_release(folders, tmp_path / "new/release", name="x", release="1")
    assert read_index(tmp_path / "new/release/release.json").release == "1"


def test_a_release_takes_the_place_of_an_earlier_one(folders: dict[str, Path], release: Path, tmp_path: Path) -> None:
    """What only the earlier one had is gone; an empty directory is as good as none."""
    (tmp_path / "empty").mkdir()
    for target in (release, tmp_path / "empty"):
        write_release({"acme_calc_2": folders["acme_calc_2"]}, target, name="formulacode", release="2026-04")
        assert sorted(path.name for path in (target / "tasks").iterdir()) == ["acme_calc_2.tar.gz"]


def repacked(release: Path, members: dict[str, bytes | tuple[bytes, str]]) -> None:
    """Put another archive in the place of task 1's, and its digests into release.json: all but the folder's."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            if isinstance(content, tuple):
                member.type, member.linkname = content
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    data = gzip.compress(packed.getvalue())
    (release / archive_name("acme_calc_1")).write_bytes(data)
    index = json.loads((release / "release.json").read_text())
    index["tasks"]["acme_calc_1"] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (release / "release.json").write_text(json.dumps(index))


@pytest.mark.figure("hostile archives")
@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"../escaped": b"x"}, "leads out"),
        ({"/etc/escaped": b"x"}, "leads out"),
        ({"link": (tarfile.SYMTYPE, "/etc"), "link/escaped": b"x"}, "another task"),
        ({"task.toml": b"[task]"}, "another task"),
    ],
)
def test_a_hostile_archive_lands_nowhere(
    release: Path, tmp_path: Path, members: dict[str, bytes | tuple[bytes, str]], says: str
) -> None:
    """Paths that lead out, links, and folders that are not what release.json names: one line, and no folder."""
    repacked(release, members)
    with pytest.raises(TaskError, match=says):
        opened(release, tmp_path / "cache").folders["acme_calc_1"]
    assert not list(tmp_path.rglob("escaped"))
    assert not list((tmp_path / "cache").glob("*/acme_calc_1"))
    assert opened(release, tmp_path / "cache").folders["acme_calc_2"].is_dir()


def test_an_archive_that_is_not_the_named_one_is_refused(release: Path, tmp_path: Path) -> None:
    """It is not even opened."""
    (release / archive_name("acme_calc_1")).write_bytes(b"other")
    with pytest.raises(TaskError, match="its sha256 is another one"):
        opened(release, tmp_path / "cache").folders["acme_calc_1"]


@pytest.mark.parametrize("name", ["../x", ".hidden", "a/b", "A", ""])
def test_ids_that_are_no_names_of_folders_are_refused(release: Path, name: str) -> None:
    """Before anything is fetched."""
    index = json.loads((release / "release.json").read_text())
    index["tasks"] = {name: index["tasks"]["acme_calc_1"]}
    (release / "release.json").write_text(json.dumps(index))
    with pytest.raises(TaskError, match="no index of a release"):
        read_index(release / "release.json")


def test_a_directory_knows_its_release(release: Path, tmp_path: Path) -> None:
    """A name with another release does not silently get this one; a name without one gets it, and is told."""
    registry = tmp_path / "datasets.json"
    registry.write_text(json.dumps({"fc": "release", "fc@2026-03": "release"}))
    places = Places({"--registry": registry}, cache=tmp_path / "cache")
    with pytest.raises(ConfigError, match="is release 2026-03"):
        load_dataset("fc@2026-04", places)
    assert load_dataset("fc@2026-03", places).notes == ()
    assert "fc@2026-03" in load_dataset("fc", places).notes[0]


@pytest.fixture
def hub(release: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LoopbackHub]:
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    with loopback_hub() as served:
        served.commit(REPO, release, "2026-03", "main")
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        monkeypatch.setenv("FC_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.setenv("FC_DATASETS_FILE", str(tmp_path / "mine.json"))
        monkeypatch.chdir(tmp_path)
        yield served


def places() -> Places:
    return Places.of(load_settings(), Path("datasets.json"))


def test_the_built_in_name_leads_to_the_hub(hub: LoopbackHub, release: Path, folders: dict[str, Path]) -> None:
    """Only the task that is asked for is fetched; without a release the newest is taken, pinned and told (case 74)."""
    found = load_dataset("formulacode", places())
    sha = hub.names[REPO, "main"]
    assert found.release == sha
    assert found.notes == (
        f"--dataset formulacode: no release is named: its newest state is used, 2026-03, commit {sha[:12]} "
        "(to name one: formulacode@2026-03)",
    )
    (task,) = found.select(["acme__calc-1"])
    assert task_digest(found.folders["acme_calc_1"]) == task_digest(folders["acme_calc_1"])
    assert task.task_id == "acme_calc_1"
    assert not [line for line in hub.asked if "acme_calc_2" in line]
    newer = release.parent / "newer"
    write_release({"acme_calc_2": folders["acme_calc_2"]}, newer, name="formulacode", release="2026-04")
    hub.commit(REPO, newer, "2026-04", "main")
    assert list(load_dataset("formulacode@2026-03", places()).folders) == list(NAMES)
    assert list(load_dataset("formulacode@2026-04", places()).folders) == ["acme_calc_2"]
    assert list(load_dataset("formulacode", places(), release=sha).folders) == list(NAMES)
    assert load_dataset("formulacode@2026-03", places()).notes == ()


def test_what_was_fetched_is_there_without_the_hub(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index and the task come from the cache; a task that was never fetched is said to be missing."""
    load_dataset("formulacode@2026-03", places()).select(["acme_calc_1"])
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)  # the library's waits between its tries
    found = load_dataset("formulacode@2026-03", places())
    assert [task.task_id for task in found.select(["acme_calc_1"])] == ["acme_calc_1"]
    with pytest.raises(TaskError, match="cannot be reached, and it was not fetched before"):
        found.select(["acme_calc_2"])


def test_what_the_hub_refuses_is_one_line_that_says_why(hub: LoopbackHub, tmp_path: Path) -> None:
    """No such release, dataset or index; a private dataset is read with the token."""
    (tmp_path / "bare").mkdir()
    hub.commit("acme/bare", tmp_path / "bare", "main")
    hub.commit("acme/closed", tmp_path / "release", "main")
    hub.private["acme/closed"] = "hf_made_up"
    for name, says in {
        "formulacode@2020-01": "no such release",
        "hf://datasets/acme/none": "no such dataset",
        "hf://datasets/acme/bare": "no task folder in it",
        "hf://datasets/acme/closed": "no such dataset, or a private one",
        "hf://datasets/acme": "no address of a dataset",
    }.items():
        with pytest.raises(ConfigError, match=says) as caught:
            load_dataset(name, places())
        assert "\n" not in str(caught.value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_TOKEN", "hf_made_up")
        assert len(load_dataset("hf://datasets/acme/closed", places()).folders) == len(NAMES)


PLAIN = "hf://datasets/acme/plain"


@pytest.mark.parametrize(("repo", "at", "held"), [("plain", "", NAMES), ("plain", "tasks", NAMES), (NAMES[0], "", ())])
def test_plain_task_folders_on_the_hub_are_a_dataset_that_is_told_to_be_no_release(
    hub: LoopbackHub, folders: dict[str, Path], tmp_path: Path, repo: str, at: str, held: tuple[str, ...]
) -> None:
    """At its top, in `tasks/`, or one task alone, as in a directory; only the chosen task is fetched, as it was."""
    root = tmp_path / "held"
    for name in held:
        shutil.copytree(folders[name], root / at / name)
    if not held:
        shutil.copytree(folders[repo], root)
    sha = hub.commit(f"acme/{repo}", root, "main")
    address = f"hf://datasets/acme/{repo}"
    found = load_dataset(address, places())
    assert list(found.folders) == list(held or [repo])
    assert found.release == sha
    assert found.notes == (
        f"--dataset {address}: no release (release.json is missing): its task folders are used as they are at commit "
        f"{sha[:12]}, and no digest says what they should be (to stay at this state: {address}@{sha})",
    )
    (task,) = found.select([NAMES[0]])
    assert task.task_id == NAMES[0]
    assert task_digest(found.folders[NAMES[0]]) == task_digest(folders[NAMES[0]])
    assert (found.folders[NAMES[0]] / "tests/test.sh").stat().st_mode & 0o111
    assert not [line for line in hub.asked if NAMES[1] in line]


def test_a_run_goes_on_with_the_plain_folders_that_it_began_with(
    hub: LoopbackHub, folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commit is opened again after the branch went on; and without the Hub, as far as it was fetched."""
    shutil.copytree(folders[NAMES[0]], tmp_path / "old" / NAMES[0])
    sha = hub.commit("acme/plain", tmp_path / "old", "main")
    load_dataset(PLAIN, places()).select(["*"])
    shutil.copytree(folders[NAMES[1]], tmp_path / "new" / NAMES[1])
    hub.commit("acme/plain", tmp_path / "new", "main")
    assert list(load_dataset(PLAIN, places()).folders) == [NAMES[1]]
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)  # the library's waits between its tries
    again = load_dataset(PLAIN, places(), release=sha)
    assert [task.task_id for task in again.select(["*"])] == [NAMES[0]]
    with pytest.raises(TaskError, match="cannot be reached, and it was not fetched before"):
        load_dataset(PLAIN, places()).select(["*"])


@pytest.mark.parametrize("name", ["acme_calc_1/../../../escaped", "/etc/escaped", "acme_calc_1//escaped"])
def test_a_listing_whose_names_lead_out_is_refused(
    hub: LoopbackHub, folders: dict[str, Path], tmp_path: Path, name: str
) -> None:
    """One line that names it; nothing is fetched."""
    shutil.copytree(folders[NAMES[0]], tmp_path / "plain" / NAMES[0])
    hub.commit("acme/plain", tmp_path / "plain", "main")
    hub.also.append(name)
    with pytest.raises(TaskError, match="cannot be a file's path in a dataset"):
        load_dataset(PLAIN, places())
    assert not [line for line in hub.asked if "resolve" in line]


def test_rows_of_parquet_are_no_tasks_on_the_hub_or_here(hub: LoopbackHub, tmp_path: Path) -> None:
    """A table lists tasks and holds none of their files; it is said, by the table's name, in both places."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/tasks.parquet").write_bytes(b"PAR1")
    hub.commit("acme/plain", tmp_path / "plain", "main")
    for reference in (PLAIN, str(tmp_path / "plain")):
        with pytest.raises(ConfigError, match=r"no task folder in it \(tasks\.parquet lists tasks, and does not hold"):
            load_dataset(reference, places())


def test_the_nearest_registry_wins(hub: LoopbackHub, tmp_path: Path, folders: dict[str, Path]) -> None:
    """`--registry`, then the user's own, then the built-in names."""
    (tmp_path / "mine.json").write_text(json.dumps({"formulacode": str(folders["acme_calc_1"])}))
    assert list(load_dataset("formulacode", places()).folders) == ["acme_calc_1"]
    (tmp_path / "datasets.json").write_text(json.dumps({"formulacode": f"hf://datasets/{REPO}@2026-03"}))
    assert len(load_dataset("formulacode", places()).folders) == len(NAMES)
    with pytest.raises(ConfigError, match="fixes it to 2026-03"):
        load_dataset("formulacode@2026-04", places())
