"""Applying a diff to a text, strictly."""

import difflib

from hypothesis import given
from hypothesis import strategies as st

from datasmith.workloads.textpatch import patched

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=30)


@given(LINES, LINES)
def test_what_a_diff_says_is_what_comes_out(old: list[str], new: list[str]) -> None:
    """For any two texts with at least one line each way."""
    before, after = "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)
    lines = [line.rstrip("\n") for line in difflib.unified_diff(before.splitlines(True), after.splitlines(True))][2:]
    assert patched(before, lines) == after


def test_a_hunk_that_does_not_fit_is_not_applied() -> None:
    """Another line at that place, a place behind the end, hunks out of order."""
    assert patched("a\nb\n", ["@@ -1 +1 @@", "-b", "+c"]) is None
    assert patched("a\n", ["@@ -9 +9 @@", "-a", "+c"]) is None
    assert patched("a\nb\n", ["@@ -2 +2 @@", "-b", "+c", "@@ -1 +1 @@", "-a", "+c"]) is None
    assert patched("a", ["@@ -1 +1 @@", "-a", "\\ No newline at end of file", "+b"]) == "b"
