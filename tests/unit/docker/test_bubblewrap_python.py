"""Interpreters: the best of each minor version, and nothing that only looks like one."""

from pathlib import Path

import pytest

from datasmith.docker.bubblewrap_python import find_interpreters
from datasmith.process import find_uv


@pytest.fixture
def no_uv(tmp_path: Path) -> Path:
    """A program in uv's place that knows of no interpreter."""
    path = tmp_path / "uv"
    path.write_text("#!/bin/sh\necho '[]'\n")
    path.chmod(0o755)
    return path


def install(prefix: Path, version: str, *, headers: bool = False) -> Path:
    """What an installation of CPython looks like from outside."""
    (prefix / "bin").mkdir(parents=True, exist_ok=True)
    (prefix / f"lib/python{version}").mkdir(parents=True)
    (prefix / f"lib/python{version}/os.py").touch()
    (prefix / f"bin/python{version}").touch()
    if headers:
        (prefix / f"include/python{version}").mkdir(parents=True)
        (prefix / f"include/python{version}/Python.h").touch()
    return prefix / f"bin/python{version}"


def test_headers_count_more_than_the_place(tmp_path: Path, no_uv: Path) -> None:
    """Pyenv's interpreter with headers wins over the system's without, the system's wins where both have them."""
    install(tmp_path / "usr", "3.11")
    own = install(tmp_path / "usr", "3.12", headers=True)
    better = install(tmp_path / "home/.pyenv/versions/3.11.7", "3.11", headers=True)
    install(tmp_path / "home/.pyenv/versions/3.12.9", "3.12", headers=True)
    found = find_interpreters(no_uv, tmp_path / "home", tmp_path / "usr")
    assert (found["3.11"].path, found["3.12"].path) == (better, own)
    assert found["3.11"].prefix == tmp_path / "home/.pyenv/versions/3.11.7"


def test_the_newest_patch_wins(tmp_path: Path, no_uv: Path) -> None:
    """3.9.18 is newer than 3.9.2."""
    newest = install(tmp_path / "home/.pyenv/versions/3.9.18", "3.9")
    install(tmp_path / "home/.pyenv/versions/3.9.2", "3.9")
    found = find_interpreters(no_uv, tmp_path / "home", tmp_path / "usr")
    assert {version: one.path for version, one in found.items()} == {"3.9": newest}


def test_an_interpreter_installed_into_the_home_directory_is_left_out(tmp_path: Path, no_uv: Path) -> None:
    """Showing its installation would show everything in there."""
    install(tmp_path / "usr", "3.12")
    assert "3.12" in find_interpreters(no_uv, tmp_path / "home", tmp_path / "usr")
    (tmp_path / "usr/people/me").mkdir(parents=True)
    assert find_interpreters(no_uv, tmp_path / "usr/people/me", tmp_path / "usr") == {}


def test_shims_environments_and_old_versions_are_left_out(tmp_path: Path, no_uv: Path) -> None:
    """A script named like an interpreter, a virtual environment, and Python 3.6 are none to build with."""
    (tmp_path / "usr/local/bin").mkdir(parents=True)
    (tmp_path / "usr/local/bin/python3.10").touch()
    install(tmp_path / "usr/venv", "3.12")
    (tmp_path / "usr/venv/pyvenv.cfg").touch()
    (tmp_path / "usr/bin").mkdir()
    (tmp_path / "usr/bin/python3.12").symlink_to("../venv/bin/python3.12")
    install(tmp_path / "home/.pyenv/versions/3.6.15", "3.6", headers=True)
    assert find_interpreters(no_uv, tmp_path / "home", tmp_path / "usr") == {}


def test_the_real_ones_can_be_found() -> None:
    """On this machine there is at least one, and each stands where it says."""
    found = find_interpreters(find_uv(), Path.home())
    assert found and all(one.path.name == f"python{version}" for version, one in found.items())
    assert all(one.path.is_relative_to(one.prefix) for one in found.values())
