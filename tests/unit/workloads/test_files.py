"""How much a call leaves in files: told in bytes, by no name and no content."""

import subprocess
from pathlib import Path

import pytest

from datasmith.workloads.inside import files
from datasmith.workloads.inside.files import Files
from datasmith.workloads.outputs import Difference, difference


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, beside a place for temporary files."""
    temporary = tmp_path / "temporary"
    (temporary / "work").mkdir(parents=True)
    monkeypatch.chdir(temporary / "work")
    monkeypatch.setattr(files, "TEMPORARY", str(temporary))
    return temporary


def told(size: int, name: str = "a.txt") -> list[object]:
    """What is told of a call that writes one file, which is gone again afterwards."""
    seen, path = Files(), Path(name)
    path.write_bytes(b"1" * size)
    found = seen.told()
    path.unlink()
    return found


def compared(ours: list[object], theirs: list[object]) -> Difference | None:
    """As base's and an arm's."""
    return difference([["files", ours]], [["files", theirs]])  # type: ignore[list-item]


def test_a_call_that_writes_nothing_says_so() -> None:
    """And is held against nobody: only what base writes has to be there."""
    assert Files().told() == ["skip", "no file is written"]
    assert compared(Files().told(), told(1)) is None
    unlike = compared(told(1), Files().told())
    assert unlike is not None and (unlike.expected, unlike.found) == ("1 bytes", "not compared (no file is written)")


@pytest.mark.parametrize(("theirs", "enough"), [(100_000, True), (25_000, True), (24_000, False), (900_000, True)])
def test_a_part_of_what_base_writes_is_enough(theirs: int, enough: bool) -> None:
    """There are shorter formats; names, moments and versions in a file are no difference."""
    assert (compared(told(100_000), told(theirs, "other.bin")) is None) is enough


def test_a_hole_is_nothing_that_was_written() -> None:
    """A file can be made as long as base's at once."""
    seen = Files()
    with Path("a.bin").open("wb") as stream:
        stream.truncate(100_000)
    assert compared(told(100_000), seen.told()) is not None


def test_new_places_are_searched_and_no_others(place: Path) -> None:
    """A directory for temporary files that the call makes; what was there before is another launch's, links too."""
    (place / "before").mkdir()
    seen = Files()
    (place / "before/a.txt").write_text("1")
    (place / "new/below").mkdir(parents=True)
    (place / "new/below/b.bin").write_bytes(b"12")
    (place / "c.dat").write_text("345")
    (place / "link").symlink_to(place / "before")
    Path("link.txt").symlink_to(place / "before/a.txt")
    assert seen.told() == ["written", 5, False]


def test_what_was_there_and_is_changed_counts() -> None:
    """Also where it is as long as before, and another file."""
    Path("a.txt").write_text("12")
    seen = Files()
    assert seen.told()[0] == "skip"
    Path("a.txt").write_text("34")
    assert seen.told() == ["written", 2, False]


def test_base_with_other_processes_says_nothing(place: Path) -> None:
    """They may write, and remove, at any time. An arm of that kind is asked all the same."""
    seen = Files()
    Path("a.txt").write_text("1" * 1000)
    with subprocess.Popen(["sleep", "60"]) as child:
        base = seen.told()
        child.kill()
    alone = seen.told()
    assert (base, alone) == (["written", 1000, True], ["written", 1000, False])
    assert compared(base, told(1)) is None
    assert compared(alone, base) is None
    assert compared(alone, [*told(1)[:2], True]) is not None


def test_too_many_files_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of base: which of them are seen is chance."""
    monkeypatch.setattr(files, "MOST_SEEN", 3)
    seen = Files()
    for number in range(5):
        Path(f"{number}.txt").write_text("1")
    assert seen.told() == ["written", 4, True]


def test_a_place_that_is_gone_holds_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a working directory that was removed nor a missing place for temporary files ends a launch."""
    (place / "gone").mkdir()
    monkeypatch.chdir(place / "gone")
    (place / "gone").rmdir()
    assert Files().told()[0] == "skip"
    monkeypatch.chdir(place)
    monkeypatch.setattr(files, "TEMPORARY", str(place / "gone"))
    assert Files().told()[0] == "skip"


def test_a_file_that_vanishes_is_not_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its name and its size."""
    Path("a.txt").write_text("1")
    monkeypatch.setattr(files, "_paths", lambda _tops: iter(["a.txt", "gone.txt"]))
    assert [path for path, _ in files._states("")] == ["a.txt"]
