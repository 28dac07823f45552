"""What a call leaves in files: told by endings, sizes and the text in them, by no name."""

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


def told(**written: bytes) -> list[object]:
    """What is told of a call that writes these; `a__txt` is a.txt, and afterwards nothing is there again."""
    seen = Files()
    paths = [Path(name.replace("__", ".")) for name in written]
    for path, data in zip(paths, written.values(), strict=True):
        path.write_bytes(data)
    found = seen.told()
    for path in paths:
        path.unlink()
    return found


def compared(ours: list[object], theirs: list[object]) -> Difference | None:
    """As base's and an arm's."""
    return difference([["files", ours]], [["files", theirs]])  # type: ignore[list-item]


def test_a_call_that_writes_nothing_says_so() -> None:
    """And is held against nobody: only what base writes has to be there."""
    assert told() == ["skip", "no file is written"]
    assert compared(told(), told(a__txt=b"1")) is None
    unlike = compared(told(a__txt=b"1"), told())
    assert unlike is not None and unlike.found == "not compared (no file is written)"


@pytest.mark.parametrize(
    ("ours", "theirs", "alike"),
    [
        (b"x 1.25\n" * 10, b"x 1.25\n" * 10, True),
        (b"x 1.25\n" * 10, b"x 1.2500000001\n" * 10, False),
        (b"x 1.2500001\n" * 10, b"x 1.2500002\n" * 10, True),
        (b"x 1.25\n" * 10, b"x 1.26\n" * 10, False),
        (b"x 1.25\n" * 10, b"y 1.25\n" * 10, False),
        (b"", b"x", False),
        (b"\0\1" * 500, b"\0\2" * 510, True),
        (b"\0\1" * 500, b"\0\1" * 700, False),
        (b"\0\1" * 500, b"", False),
        ("ä".encode() * 5000, b"a" * 10_000, False),
        ("ä".encode() * 5000, "ä".encode() * 5000, True),
    ],
)
def test_texts_are_compared_and_other_files_by_size(ours: bytes, theirs: bytes, alike: bool) -> None:
    """Numbers in a text as numbers; ten per cent and a few bytes more or less are a version, or a moment."""
    assert (compared(told(a__txt=ours), told(b__txt=theirs)) is None) is alike


def test_the_end_of_a_long_text_is_seen() -> None:
    """Its middle is not."""
    long = [b"%d\n" % number for number in range(10_000)]
    other, middle = [*long[:-1], b"9998\n"], [*long[:5000], b"4000\n", *long[5001:]]
    assert compared(told(a__csv=b"".join(long)), told(a__csv=b"".join(other))) is not None
    assert compared(told(a__csv=b"".join(long)), told(a__csv=b"".join(middle))) is None


def test_new_places_are_searched_and_no_others(place: Path) -> None:
    """A directory for temporary files that the call makes; what was there before is another launch's."""
    (place / "before").mkdir()
    seen = Files()
    (place / "before/a.txt").write_text("1")
    (place / "new/below").mkdir(parents=True)
    (place / "new/below/b.bin").write_bytes(b"\0")
    (place / "c.dat").write_text("2")
    Path("link.txt").symlink_to(place / "before/a.txt")
    assert [label for label, _ in seen.told()[2]] == ["file 1 of .bin", "file 1 of .dat"]  # type: ignore[attr-defined]


def test_what_was_there_and_is_changed_counts() -> None:
    """Also where it is as long as before."""
    Path("a.txt").write_text("12")
    seen = Files()
    assert seen.told()[0] == "skip"
    Path("a.txt").write_text("34")
    assert seen.told()[0] == "object"


def test_a_log_is_told_by_its_size() -> None:
    """It holds the time."""
    assert compared(told(a__log=b"at 10:02"), told(a__log=b"at 10:03")) is None


def test_beside_other_processes_nothing_is_said(place: Path) -> None:
    """They may write at any time: two looks would not see the same."""
    seen = Files()
    (place / "a.txt").write_text("1")
    with subprocess.Popen(["sleep", "60"]) as child:
        assert seen.told() == ["skip", "other processes may still write"]
        child.kill()
    assert seen.told()[0] == "object"
