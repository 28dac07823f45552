"""Single pins of a lock changed by the real uv, on an index of ours."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith.errors import Unsatisfiable
from datasmith.process import find_uv
from datasmith.resolution.index import SimpleIndex
from datasmith.resolution.locker import Locker
from datasmith.resolution.relock import relock, with_bounds
from datasmith.resolution.requirements import Need
from datasmith.resolution.sources import Sources
from datasmith.resolution.uv import Compiled, UvCompiler, pins_of
from tests.integration.loopback_index import Release, Sdist, serving

RELEASES = [
    Release("setuptools", "80.0", "2025-01-01"),
    Release("setuptools", "80.5", "2026-06-01"),
    Release("setuptools", "82.0", "2025-02-01"),
    Release("calc", "1.0", "2025-01-01"),
    Release("calc", "2.0", "2026-01-01"),
    Release("needy", "1.0", "2025-01-01", requires=("setuptools>=81",)),
]
PYPROJECT = """[build-system]
requires = ["calc"]
build-backend = "calc"
[project]
name = "homegrown"
version = "1.0"
"""
CUTOFF = datetime(2025, 6, 1, tzinfo=UTC)


def test_one_pin_changes_and_the_others_stay(tmp_path: Path) -> None:
    """Nothing newer than the cutoff comes in, hashes stay, and what is met already, or cannot be, changes nothing."""
    with serving(RELEASES) as index:
        uv = UvCompiler(find_uv(), index_url=index.url, cache_dir=tmp_path / "uv")
        first = uv.compile(["calc", "setuptools"], python_version="3.11", cutoff=CUTOFF)
        assert isinstance(first, Compiled) and first.pins == ("calc==1.0", "setuptools==82.0")
        asked = {"python_version": "3.11", "cutoff": CUTOFF}
        pages = SimpleIndex(index.url)
        changed = relock(uv, pages, first.lock, ["setuptools<81"], **asked)  # type: ignore[arg-type]
        assert changed and "setuptools==80.0" in changed and "calc==1.0" in changed and "--hash=sha256:" in changed
        assert relock(uv, pages, changed, ["setuptools<81"], **asked) == changed  # type: ignore[arg-type]
        needy = uv.compile(["needy"], python_version="3.11", cutoff=CUTOFF)
        assert isinstance(needy, Compiled)
        with pytest.raises(Unsatisfiable, match=r"before 2025-06-01 for Python 3.11.*needy"):
            relock(uv, pages, needy.lock, ["setuptools<81"], **asked)  # type: ignore[arg-type]


def test_a_first_lock_may_have_no_pin(tmp_path: Path) -> None:
    """Where nothing is asked for on this Python it is empty, which is not the same as that there is none."""
    asked = {"python_version": "3.11", "cutoff": CUTOFF}
    with serving(RELEASES) as index:
        uv, pages = UvCompiler(find_uv(), index_url=index.url, cache_dir=tmp_path / "uv"), SimpleIndex(index.url)
        assert relock(uv, pages, "", ["calc; python_version < '3.8'"], **asked) == ""  # type: ignore[arg-type]
        with pytest.raises(Unsatisfiable, match=r"calc<0\.1"):
            relock(uv, pages, "", ["calc<0.1"], **asked)  # type: ignore[arg-type]


def test_a_pin_that_meets_its_change_stays(tmp_path: Path) -> None:
    """Although there is a newer one that would, too; a change beside it is made."""
    older = [Release("setuptools", "79.0", "2025-01-01"), Release("calc", "0.9", "2025-01-01")]
    with serving([*RELEASES, *older]) as index:
        uv, pages = UvCompiler(find_uv(), index_url=index.url, cache_dir=tmp_path / "uv"), SimpleIndex(index.url)
        first = uv.compile(["calc", "setuptools==79.0"], python_version="3.11", cutoff=CUTOFF)
        assert isinstance(first, Compiled)
        assert relock(uv, pages, first.lock, ["setuptools<81"], python_version="3.11", cutoff=CUTOFF) == first.lock
        changed = relock(uv, pages, first.lock, ["setuptools<81", "calc<1"], python_version="3.11", cutoff=CUTOFF)
    assert changed and pins_of(changed) == ("calc==0.9", "setuptools==79.0")


def test_a_pin_changes_within_the_projects_bounds(tmp_path: Path) -> None:
    """What the project asks of it holds after the change, and is told to the next one."""
    releases = [Release("calc", "1.5", "2025-02-01"), Release("calc", "1.6", "2025-02-01")]
    needs = [Need("calc!=1.6,>=1.0", "runtime"), Need("calc<9", "tests"), Need("setuptools", "build")]
    with serving([*RELEASES, *releases]) as index:
        uv, pages = UvCompiler(find_uv(), index_url=index.url, cache_dir=tmp_path / "uv"), SimpleIndex(index.url)
        asked = {"python_version": "3.11", "cutoff": datetime(2026, 2, 1, tzinfo=UTC)}
        first = uv.compile(["calc"], **asked)  # type: ignore[arg-type]
        assert isinstance(first, Compiled) and first.pins == ("calc==2.0",)
        lock = with_bounds(first.lock, needs)
        assert lock == f"{first.lock}#bound calc!=1.6,>=1.0\n"
        changed = relock(uv, pages, lock, ["calc<2"], **asked)  # type: ignore[arg-type]
        assert changed and pins_of(changed) == ("calc==1.5",) and changed.endswith("#bound calc!=1.6,>=1.0\n")
        with pytest.raises(Unsatisfiable, match="calc"):
            relock(uv, pages, lock, ["calc<1"], **asked)  # type: ignore[arg-type]


def test_what_was_never_a_wheel_stays(tmp_path: Path) -> None:
    """A pin beside it changes; the release from sources keeps its version and hash, and what builds it is locked."""
    texts = {"pyproject.toml": PYPROJECT, "PKG-INFO": "Metadata-Version: 2.2\nName: homegrown\nVersion: 1.0\n"}
    wheel = Release("wheel", "0.40", "2025-01-01")
    with serving([*RELEASES, wheel, Sdist("homegrown", "1.0", "2025-01-01", texts)]) as index:
        uv, pages = UvCompiler(find_uv(), index_url=index.url, cache_dir=tmp_path / "uv"), SimpleIndex(index.url)
        locker = Locker(uv, Sources(pages, CUTOFF, ("3.11",)), CUTOFF, lambda _: None)
        first = locker.lock([Need("homegrown", "runtime"), Need("setuptools", "runtime")], "3.11")
        assert isinstance(first, Compiled) and first.pins == ("homegrown==1.0", "setuptools==82.0")
        changed = relock(uv, pages, first.lock, ["setuptools<81"], python_version="3.11", cutoff=CUTOFF)
    assert changed and pins_of(changed) == ("homegrown==1.0", "setuptools==80.0")
    assert "--no-binary homegrown\n" in changed and "#build calc==1.0" in changed
