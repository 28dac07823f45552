"""Suites that are not base's own: what of them is the fix's, and what of them is shown."""

import pytest

from datasmith.docker.seal import Fix
from datasmith.tasks.gitdiff import parse_diff
from datasmith.tasks.suite import files_of_the_fix, shown_part, wanted_lines

LINES = [
    "    cached = table.get(key) or build_the_table_once(key)",
    "    for row in rows: yield cached.lookup(row.identifier)",
    "    return numpy.fromiter(found, dtype=float, count=len(rows))",
]
FIX = Fix(lines={"a.py": LINES, "benchmarks/bench.py": ["def time_lookup_in_a_very_large_table_of_many_rows():"]})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import a\n\n\ndef time_a():\n    a.run()\n", False),
        ("# a copy of what is timed\n" + "\n".join(LINES[:2]), True),
        (LINES[0], False),
        ("def time_lookup_in_a_very_large_table_of_many_rows(): pass\n", True),
    ],
)
def test_a_file_with_lines_of_the_fix_is_the_fixs(text: str, found: bool) -> None:
    """By the rule of the seal: too many of the lines that it adds to one file; its own benchmarks are among them."""
    assert bool(files_of_the_fix({"benchmarks/x.py": text.encode()}, FIX, at_base=())) is found


def test_what_base_has_is_not_the_fixs() -> None:
    """Lines that base holds anyway tell nothing, and do not count among what the fix adds."""
    known = wanted_lines(FIX)
    files = {"x.py": "\n".join(known).encode(), "y.py": f"{LINES[0]}\n{LINES[1]}\n".encode()}
    assert files_of_the_fix(files, FIX, at_base=known) == ()
    assert files_of_the_fix(files, FIX, at_base=[LINES[2].strip()]) == ("x.py", "y.py")


def test_an_object_of_the_fix_is_the_fixs_whatever_it_says() -> None:
    """A file that is as the merge left it is known by git's name for it."""
    fix = Fix(
        objects=frozenset({"d8a2b8a9ca0c6e9b4e7b1ed1a4a1f2f3f0f3a6a2", "f21b6ec80b4a26a3d1d0f2a5d9d56b9d5d5b3b3b"})
    )
    assert files_of_the_fix({"x.py": b"x = 1\n"}, fix, at_base=()) == ()
    named = Fix(objects=frozenset({"d00491fd7e5bb6fa28c517a0bb32b8b506539d4d"}))
    assert files_of_the_fix({"x.py": b"1\n", "y.py": b"2\n"}, named, at_base=()) == ("x.py",)


def test_hidden_files_are_not_in_the_part_that_is_shown() -> None:
    """The rest of the diff is as it was, also where the last line has no end."""
    piece = "diff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+x = 1\n"
    patch = piece.format("benchmarks/a.py") + piece.format("benchmarks/b.py")
    shown = shown_part(patch.rstrip("\n"), ["benchmarks/a.py"])
    assert [change.path for change in parse_diff(shown)] == ["benchmarks/b.py"]
    assert shown == piece.format("benchmarks/b.py")
    assert shown_part(patch, ()) == patch
