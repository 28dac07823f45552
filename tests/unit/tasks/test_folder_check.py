"""What is wrong with a task folder is told, all of it, and of a folder in order nothing."""

import errno
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from datasmith.tasks import folder_check
from datasmith.tasks.folder import write_task
from datasmith.tasks.folder_check import MOST_RUNNER, check_task
from datasmith.tasks.task import BuildInputs
from tests.unit.tasks.samples import PATCH, certificate, sample_task, source_tar


def _remove_scripts(folder: Path) -> None:
    (folder / "environment/docker_build_pkg.sh").unlink()


def _move(folder: Path) -> None:
    folder.rename(folder.with_name("acme_calc_13"))


BREACHES: dict[str, tuple[dict[str, object], str]] = {
    "identity": ({"task_id": "acme_calc_13"}, "does not follow"),
    "base": ({"base_commit": "main"}, "no full commit id"),
    "merge": ({"merge_commit": "b" * 39}, "no full commit id"),
    "same": ({"base_commit": "b" * 40}, "is the merge commit"),
    "no diff": ({"expert_patch": "hello"}, "not a git diff"),
    "foreign": (
        {"expert_patch": PATCH.replace("calc.py", "src/other.py")},
        "changes src/other.py, which is not in environment/repo.tar.gz",
    ),
    "empty": ({"expert_patch": ""}, "changes nothing"),
    "workloads": ({"workloads": ()}, "no workloads"),
    "twice": ({"workloads": ("a", "a")}, "named twice"),
    "tests": ({"passing_tests": ()}, "no passing tests"),
    "report": ({"test_command": ("pytest",)}, "writes no report"),
    "outside": ({"benchmark_dir": "../x"}, "leads out"),
    "absolute": ({"benchmark_dir": "/x"}, "leads out"),
    "silent": ({"instruction": " \n"}, "is empty"),
    "leak": ({"instruction": "see #12"}, "names the solution"),
    "args": ({"build": BuildInputs(python_version="3", build_args={"V": "b" * 40}, files={})}, "is missing"),
    "certificate": ({"certificate": certificate("acme_calc_1")}, "is that of acme_calc_1"),
    "image": ({"certificate": certificate(image_digest="sha256:0")}, "another image"),
}


@pytest.mark.parametrize("breach", BREACHES.values(), ids=BREACHES.keys())
def test_each_breach_of_the_record_is_found(
    tmp_path: Path, source: Path, breach: tuple[dict[str, object], str]
) -> None:
    """A folder with one thing wrong is told what it is."""
    changes, says = breach
    folder = write_task(sample_task(**changes), tmp_path / "tasks", source=source, provenance={})
    assert any(says in problem for problem in check_task(folder))


def test_several_breaches_are_all_told(tmp_path: Path, source: Path) -> None:
    """Nobody has to check again after mending the first."""
    task = sample_task(workloads=(), passing_tests=(), expert_patch="", base_commit="x")
    folder = write_task(task, tmp_path / "tasks", source=source, provenance={})
    assert len(check_task(folder)) == 4


def test_what_is_wrong_with_the_record_hides_nothing_beside_it(folder: Path) -> None:
    """A folder that cannot be read as a task has its archives, links and provenance looked at all the same."""
    (folder / "task.toml").write_text("")
    (folder / "environment/repo.tar.gz").write_bytes(b"no tar")
    (folder / "tests/asv_runner.zip").write_bytes(b"no zip")
    (folder / "provenance.json").write_text("[]")
    told = check_task(folder)
    assert len(told) == 4 and "'metadata' is missing" in told[0] and "no tar archive" in told[1]
    assert "asv_runner.zip" in told[2] and "provenance.json" in told[3]


@pytest.mark.parametrize("record", ["in order", "unreadable"])
def test_what_the_system_does_not_let_us_read_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, record: str
) -> None:
    """A file of somebody else's is a problem of its folder, and not the end of the check."""

    def refuse(path: Path, *_: object) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(folder_check, "open_tar", refuse)
    archive = folder / "environment/repo.tar.gz"
    refused = [f"acme_calc_12: {archive} cannot be read: Permission denied"]
    if record == "unreadable":
        monkeypatch.setattr(Path, "iterdir", refuse)
        refused.insert(0, f"acme_calc_12: {archive.parent} cannot be read: Permission denied")
    assert check_task(folder) == tuple(refused)


def test_a_patch_may_bring_and_move_files(tmp_path: Path, source: Path) -> None:
    """What it adds is not at base; what it moves is there under the name that it had."""
    moved = (
        "diff --git a/calc.py b/quick.py\nsimilarity index 100%\nrename from calc.py\nrename to quick.py\n"
        "diff --git a/more.py b/more.py\nnew file mode 100644\nindex 0000000..89abcde\n--- /dev/null\n+++ b/more.py\n"
        "@@ -0,0 +1 @@\n+fast = 1\n"
    )
    task = sample_task(expert_patch=moved)
    folder = write_task(task, tmp_path / "tasks", source=source, provenance={})
    assert check_task(folder) == ()


def _as_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _spoil(file: Path) -> None:
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    file.write_bytes(whole)


def _bomb(file: Path) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("asv_runner/__init__.py", bytes(MOST_RUNNER + 1))


def _break_off(file: Path, end: int) -> None:
    file.write_bytes(file.read_bytes()[:end])


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("task.toml", "", "task.toml: cannot be read: 'metadata' is missing"),
        ("task.toml", "metadata = 1", "task.toml: cannot be read: a value stands where a table"),
        ("task.toml", "[metadata.formulacode]", "task.toml: cannot be read: 'build' is missing"),
        ("tests/expected.json", "{}", "tests/expected.json: cannot be read: 'passing' is missing"),
        ("tests/expected.json", "[" * 100_000, "tests/expected.json: cannot be read: it is nested too deep"),
        (
            "tests/expected.json",
            "[]",
            "tests/expected.json: cannot be read: a value stands where a table",
        ),
    ],
)
def test_a_file_that_lacks_what_it_is_for_is_named(folder: Path, name: str, text: str, says: str) -> None:
    """Empty, or of another shape: the line says which file it is, and what is missing."""
    (folder / name).write_text(text)
    (problem,) = check_task(folder)
    assert problem.startswith(f"acme_calc_12: {says}")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (_remove_scripts, "docker_build_pkg.sh is missing"),
        (lambda folder: (folder / "tests/base/more").symlink_to("/etc"), "is a link"),
        (lambda folder: (folder / "environment/repo.tar.gz").write_bytes(b"no tar"), "no tar archive"),
        (lambda folder: source_tar(folder / "environment/repo.tar.gz", tree={}), "repo.tar.gz holds nothing"),
        (lambda folder: _break_off(folder / "environment/repo.tar.gz", 40), "repo.tar.gz: cannot be read: "),
        (lambda folder: _break_off(folder / "environment/repo.tar.gz", -60), "repo.tar.gz: cannot be read: "),
        (lambda folder: (folder / "provenance.json").write_bytes(b"[]"), "as a JSON object"),
        (lambda folder: (folder / "tests/launch.py").unlink(), "tests/launch.py is missing"),
        (lambda folder: (folder / "tests/asv_runner.zip").unlink(), "tests/asv_runner.zip is missing"),
        (lambda folder: (folder / "tests/asv_runner.zip").write_bytes(b"no zip"), "asv_runner.zip: cannot be read"),
        (lambda folder: _spoil(folder / "tests/asv_runner.zip"), "asv_runner.zip: cannot be read"),
        (lambda folder: _bomb(folder / "tests/asv_runner.zip"), "asv_runner.zip: cannot be read"),
        (lambda folder: (folder / "tests/test.sh").write_bytes(b""), "tests/test.sh is empty"),
        (lambda folder: (folder / "environment/docker_build_env.sh").write_bytes(b""), "docker_build_env.sh is empty"),
        (lambda folder: (folder / "environment/Dockerfile.repo").write_bytes(b""), "Dockerfile.repo is empty"),
        (lambda folder: _as_directory(folder / "certificate.json"), "certificate.json is no plain file"),
        (lambda folder: (folder / "environment/lock.txt").write_text("x @ git+" + "b" * 40), "names the merge commit"),
    ],
)
def test_each_breach_of_the_files_is_found(folder: Path, damage: Callable[[Path], object], says: str) -> None:
    """What the record does not know: links, archives, scripts."""
    damage(folder)
    assert any(says in problem for problem in check_task(folder))


def test_a_moved_folder_is_told(folder: Path) -> None:
    """The folder's name is the task's id."""
    _move(folder)
    assert check_task(folder.with_name("acme_calc_13")) == (
        "acme_calc_13: task_id is acme_calc_12, and the folder must have that name, too",
    )
