"""Reading merge and squash commits."""

import time

import pytest

from datasmith.github.merges import MergedTitle, read_merge


@pytest.mark.parametrize(
    ("message", "parents", "expected"),
    [
        ("perf: cache it (#12)\n\nBody\n\nmore\n", 1, MergedTitle(12, "perf: cache it", "Body\n\nmore")),
        ("Fix (#1) and (#2) (#30)", 1, MergedTitle(30, "Fix (#1) and (#2)", "")),
        (
            "Merge pull request #7 from ann/fast\n\nSpeed up\n\nbecause\n",
            2,
            MergedTitle(7, "Speed up", "because", "ann"),
        ),
        (
            "Merge pull request #7 from ann/fast/path\n",
            2,
            MergedTitle(7, "Merge pull request #7 from ann/fast/path", "", "ann"),
        ),
        ("Merge PR #8: Vectorise it\n\nDetails", 2, MergedTitle(8, "Vectorise it", "Details")),
        ('Revert "perf: cache it (#12)" (#13)', 1, MergedTitle(13, 'Revert "perf: cache it (#12)"', "")),
        ("bump, merge pull request #9 from a/b\n\nx", 2, MergedTitle(9, "bump, merge pull request #9 from a/b", "x")),
        ("A long title that was c\u2026 (#5)\n\n\u2026ut by the forge\n\nBody", 1, None),
        ("Update version to 1.2", 1, None),
        ("Merge branch 'main' into fast", 2, None),
        ('Revert "Merge pull request #12 from a/b"', 2, None),
        ("see (#12) for more", 1, None),
        ("", 1, None),
    ],
)
def test_styles(message: str, parents: int, expected: MergedTitle | None) -> None:
    """Each style gives number, title, body and branch owner; commits that name no pull request give nothing."""
    if "\u2026" in message:
        expected = MergedTitle(5, "A long title that was cut by the forge", "Body")
    assert read_merge(message, parents) == expected


def test_hostile_subjects_take_no_time() -> None:
    """A subject of a million spaces, brackets or hashes is judged in linear time."""
    started = time.perf_counter()
    for piece in (" ", "(#", "(#1) ", "Merge pull request #1 from "):
        read_merge(piece * 1_000_000 + "x", 2)
        read_merge("Merge pull request #1" + piece * 1_000_000, 2)
    assert time.perf_counter() - started < 5
