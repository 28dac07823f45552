"""What only the git forge does: names, styles and sizes."""

import asyncio
import logging
from pathlib import Path

import pytest

from datasmith import process
from datasmith.errors import ConfigError
from datasmith.github import git as git_module
from datasmith.github.base import Window
from datasmith.github.git_forge import GitForge
from datasmith.github.models import PR
from tests.clones import Clone
from tests.unit.github.scripted import ScriptedRepository

WINDOW = Window.parse("2000-01-01", "2100-01-01")


def mine(forge: GitForge) -> list[PR]:
    async def collect() -> list[PR]:
        return [pr async for pr in forge.merged_pull_requests(forge.repository, WINDOW)]

    return asyncio.run(collect())


@pytest.mark.parametrize(
    ("origin", "name", "expected"),
    [
        ("https://github.com/pypa/packaging.git", None, "pypa/packaging"),
        ("https://github.com/pypa/packaging/", None, "pypa/packaging"),
        ("git@github.com:pypa/packaging.git", None, "pypa/packaging"),
        ("ssh://git@github.com/pypa/packaging", None, "pypa/packaging"),
        ("https://github.com/me/packaging", "pypa/packaging", "pypa/packaging"),
        ("/somewhere/else/packaging", None, "local/a-clone"),
        ("--upload-pack=x", None, "local/a-clone"),
        ("", None, "local/a-clone"),
        ("", "o/r", "o/r"),
    ],
)
def test_owner_and_name(tmp_path: Path, origin: str, name: str | None, expected: str) -> None:
    """What the user says comes first, then the remote's URL, then the directory."""
    scripted = ScriptedRepository(tmp_path / "a clone.git")
    scripted.git("config", "remote.origin.url", origin)
    assert GitForge(scripted.path, name).repository.full_name == expected


def test_a_shallow_clone_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """Most merges would be missing from it, and nobody would notice."""
    whole = Clone(tmp_path / "whole")
    whole.merge(2, "perf: less")
    process.run(["git", "clone", "-q", "--depth", "1", f"file://{whole.path}", tmp_path / "shallow"])
    with pytest.raises(ConfigError, match=r"shallow clone.*--unshallow"):
        GitForge(tmp_path / "shallow")


def test_a_name_of_the_wrong_form_is_refused(tmp_path: Path) -> None:
    """The message shows an example."""
    scripted = ScriptedRepository(tmp_path / "x.git")
    with pytest.raises(ConfigError, match="example: pypa/packaging"):
        GitForge(scripted.path, "packaging")


def test_a_repeated_number_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The commit that is left out is named in the log."""
    scripted = ScriptedRepository(tmp_path / "x.git")
    scripted.commit("Start", {"a.py": b"0\n"})
    scripted.commit("one (#1)", {"a.py": b"1\n"})
    later = scripted.commit("again (#1)", {"a.py": b"2\n"})
    with caplog.at_level(logging.INFO, logger="datasmith.github.git_forge"):
        assert [pr.title for pr in mine(GitForge(scripted.path))] == ["one"]
    assert later in caplog.text


def test_a_huge_patch_is_left_out_and_its_files_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the cap the patch is None and the counts are there."""
    monkeypatch.setattr(git_module, "MAX_PATCH", 1_000)
    scripted = ScriptedRepository(tmp_path / "x.git")
    scripted.commit("Start", {"a.py": b"0\n"})
    scripted.commit("one (#1)", {"a.py": b"line\n" * 1_000})
    (pr,) = mine(GitForge(scripted.path))
    assert pr.patch is None
    assert [(file.path, file.additions) for file in pr.files] == [("a.py", 1000)]


def test_a_first_commit_has_no_base_and_is_no_pull_request(tmp_path: Path) -> None:
    """A root commit that carries a number is left out; a commit that changes nothing is a pull request."""
    scripted = ScriptedRepository(tmp_path / "x.git")
    scripted.commit("Start (#1)", {"a.py": b"0\n"})
    scripted.commit("Nothing (#2)", {})
    assert [(pr.issue_number, pr.files, pr.patch) for pr in mine(GitForge(scripted.path))] == [(2, (), "")]
