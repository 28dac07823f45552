"""The task folder: whole or absent, read back equal, every breach found."""

import errno
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasmith.errors import ContainerError, InvalidTask
from datasmith.tasks.folder import is_test_path, read_task, source_archive, task_digest, write_task
from datasmith.tasks.folder_check import check_task
from datasmith.tasks.task import BuildInputs
from tests.unit.tasks.samples import PATCH, sample_task, source_tar

SHARED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def test_a_task_is_read_back_equal(folder: Path, source: Path) -> None:
    """Every field comes back, and the folder is in order."""
    assert read_task(folder) == sample_task()
    assert check_task(folder) == ()
    assert source_archive(folder).read_bytes() == source.read_bytes()


@SHARED
@given(title=text, instruction=text, patch=st.binary(max_size=80), workload=text, licence=st.none() | text)
def test_hostile_texts_are_read_back_equal(
    tmp_path: Path, source: Path, title: str, instruction: str, patch: bytes, workload: str, licence: str | None
) -> None:
    """Quotes, line ends of any kind, control characters, other scripts, and a patch of any bytes."""
    task = sample_task(
        title=f"\"'''\r\n\\u0000{title}",
        instruction=f"{instruction}\r\n\r\x85",
        expert_patch=PATCH + patch.decode("utf-8", "surrogateescape"),
        workloads=(workload,),
        passing_tests=(f"t::{workload}",),
        licence=licence,
    )
    folder = write_task(task, tmp_path / "tasks", source=source, provenance={title: instruction})
    assert read_task(folder) == task
    assert (folder / "solution/expert.patch").read_bytes() == PATCH.encode() + patch
    assert json.loads((folder / "provenance.json").read_bytes()) == {title: instruction}


def test_a_latin_1_patch_keeps_its_bytes(tmp_path: Path, source: Path) -> None:
    """What is no UTF-8 reaches the disk, and comes back, byte for byte."""
    raw = PATCH.replace("fast", "été").encode("latin-1")
    task = sample_task(expert_patch=raw.decode("utf-8", "surrogateescape"))
    folder = write_task(task, tmp_path / "tasks", source=source, provenance={})
    assert (folder / "solution/expert.patch").read_bytes() == raw
    assert read_task(folder) == task and check_task(folder) == ()


def test_writing_again_replaces_the_whole_folder(tmp_path: Path, source: Path, folder: Path) -> None:
    """Nothing of the older version stays, and nothing is left beside it."""
    (folder / "environment/old.txt").write_text("old")
    write_task(sample_task(title="new"), folder.parent, source=source, provenance={})
    assert not (folder / "environment/old.txt").exists()
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_a_failed_write_leaves_what_was_there(tmp_path: Path, folder: Path) -> None:
    """A source that cannot be read leaves the older version, and no draft."""
    with pytest.raises(FileNotFoundError):
        write_task(sample_task(title="new"), folder.parent, source=tmp_path / "missing", provenance={})
    assert read_task(folder).title == sample_task().title
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


@pytest.mark.parametrize("name", ["../x", "", ".hidden", "a/b", "a\nb", "-x"])
def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path, source: Path, name: str) -> None:
    """Neither the task's id nor a build file's name can be a path."""
    for task in (sample_task(task_id=name), sample_task(build=BuildInputs(python_version="3.11", files={name: ""}))):
        with pytest.raises(InvalidTask, match="name of a file"):
            write_task(task, tmp_path / "tasks", source=source, provenance={})
    assert not (tmp_path / "tasks").exists()


def test_a_text_that_no_file_can_hold_is_refused(tmp_path: Path, source: Path) -> None:
    """A lone surrogate in a title is an invalid task, not a crash, and leaves nothing."""
    with pytest.raises(InvalidTask, match="UTF-8"):
        write_task(sample_task(title="\ud800"), tmp_path / "tasks", source=source, provenance={})
    assert list((tmp_path / "tasks").iterdir()) == []


def test_the_grader_gets_benchmarks_and_tests_of_base(folder: Path) -> None:
    """Not git's files, not the code; binary files as they are."""
    base = folder / "tests/base"
    names = {path.relative_to(base).as_posix() for path in base.rglob("*") if path.is_file()}
    expected = {"benchmarks/bench.py", "benchmarks/data/x.bin", "src/calc/tests/test_calc.py", "conftest.py"}
    assert names == expected
    assert (base / "benchmarks/data/x.bin").read_bytes() == b"\xff\x00"


def test_links_of_the_tree_reach_no_folder(tmp_path: Path) -> None:
    """A test file that is a link is left out; one behind a link makes the source unusable."""
    linked = source_tar(tmp_path / "linked.tar.gz", {"tests/test_link.py": "/etc/passwd"})
    folder = write_task(sample_task(), tmp_path / "tasks", source=linked, provenance={})
    assert not list(folder.rglob("test_link.py")) and check_task(folder) == ()
    leading_out = source_tar(tmp_path / "out.tar.gz", {"../tests/test_x.py": "/etc"})
    with pytest.raises(ContainerError):
        write_task(sample_task(), tmp_path / "other", source=leading_out, provenance={})


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/data.json", True),
        ("src/pkg/test/x.c", True),
        ("conftest.py", True),
        ("a/test_x.py", True),
        ("a/x_test.py", True),
        ("testing.py", False),
        ("src/contest/x.py", False),
        ("a/test_x.c", False),
    ],
)
def test_what_belongs_to_a_test_suite(path: str, expected: bool) -> None:
    """Directories of tests, and the names that pytest collects."""
    assert is_test_path(path) is expected


@pytest.mark.parametrize(
    "name", ["task.toml", "instruction.md", "environment/lock.txt", "solution/expert.patch", "tests/verdict.py"]
)
def test_a_missing_or_linked_file_is_named(tmp_path: Path, folder: Path, name: str) -> None:
    """A link is as good as nothing: it could show a file of the reader's."""
    content = (folder / name).read_bytes()
    (folder / name).unlink()
    assert f"{folder.name}: {name} is missing" in check_task(folder)
    (tmp_path / "elsewhere").write_bytes(content)
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidTask, match=f"{name} is missing"):
        read_task(folder)


def test_a_linked_directory_is_refused(tmp_path: Path, folder: Path) -> None:
    """Files behind a link to a directory are not the folder's."""
    (folder / "environment").rename(tmp_path / "environment")
    (folder / "environment").symlink_to(tmp_path / "environment")
    assert any("environment/Dockerfile is missing" in problem for problem in check_task(folder))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("task.toml", b"["),
        ("task.toml", b"\xff"),
        ("task.toml", b"[metadata]\nformulacode = 1\n"),
        ("task.toml", b"x = " + b"[" * 100_000),
        ("tests/expected.json", b"[]"),
        ("tests/expected.json", b"[" * 100_000),
        ("tests/expected.json", b'{"passing": 1, "command": []}'),
        ("instruction.md", b"\xff"),
        ("certificate.json", b"{}"),
        ("environment/lock.txt", b"\xff"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_problem(folder: Path, name: str, content: bytes) -> None:
    """Never another exception than InvalidTask, which starts with the folder's name."""
    (folder / name).write_bytes(content)
    problems = check_task(folder)
    assert problems and all(problem.startswith(f"{folder.name}: ") for problem in problems)


@pytest.mark.parametrize(
    ("said", "expected"), [("Hard", "hard"), ("meduim", "medium"), ("", "unknown"), (" ", "unknown"), (None, "unknown")]
)
def test_a_difficulty_is_one_of_four(said: str | None, expected: str) -> None:
    """Case 77: in any case; a word that is none is medium, and nothing is unknown."""
    assert sample_task(difficulty=said).difficulty == expected


def test_what_task_toml_says_to_harbor_alone_is_not_asked(folder: Path) -> None:
    """Case 88: sizes as texts and keys that nobody knows are Harbor's; the task is the same."""
    before, path = read_task(folder), folder / "task.toml"
    text = path.read_text().replace("memory_mb = 4096", 'memory = "4G"\nstorage = "10G"')
    path.write_text(f"more = 1\n{text}")
    assert 'memory = "4G"' in text
    assert read_task(folder) == before
    assert check_task(folder) == ()


@pytest.mark.parametrize("name", ["tests/expected.json", "task.toml", "certificate.json"])
def test_a_file_that_is_no_document_is_named(folder: Path, name: str) -> None:
    """By its path, without the name of an exception, and without the name of a field where it is about none."""
    (folder / name).write_text("rubbish")
    (problem,) = check_task(folder)
    assert problem.startswith(f"{folder.name}: {name}: cannot be read: ") and "Error" not in problem
    assert ": : " not in problem


@pytest.mark.parametrize("name", ["instruction.md", "environment/docker_build_pkg.sh", "task.toml"])
def test_a_file_that_is_no_text_is_named(folder: Path, name: str) -> None:
    """In words, whichever file it is."""
    (folder / name).write_bytes(b"\xff\xfe")
    assert check_task(folder) == (f"{folder.name}: {name}: cannot be read: not UTF-8 text: invalid start byte",)


def test_a_file_that_the_system_refuses_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what the system says of it."""
    refused = PermissionError(errno.EACCES, "Permission denied", str(folder / "environment"))
    monkeypatch.setattr(Path, "iterdir", lambda _self: (_ for _ in ()).throw(refused))
    assert check_task(folder) == (f"{folder.name}: {folder / 'environment'} cannot be read: Permission denied",)


def test_the_digest_covers_all_but_the_certificate(folder: Path) -> None:
    """Certifying again leaves a task the same; any other byte changes it."""
    before = task_digest(folder)
    (folder / "certificate.json").unlink()
    assert task_digest(folder) == before
    (folder / "tests/base/conftest.py").write_text("x")
    assert task_digest(folder) != before
