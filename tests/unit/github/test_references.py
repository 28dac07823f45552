"""References in texts."""

import time

import pytest

from datasmith.github.references import extract_references


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fixes #12", [("o", "r", 12)]),
        ("pandas-dev/pandas#9", [("pandas-dev", "pandas", 9)]),
        ("see (pandas-dev/pandas#9).", [("pandas-dev", "pandas", 9)]),
        ("https://github.com/numpy/numpy/issues/5#issuecomment-77", [("numpy", "numpy", 5)]),
        ("#12, #12 and GH-12, https://github.com/O/R/pull/12", [("o", "r", 12)]),
        ("a#44", []),
        ("color #123456 and &#39;x&#39;", []),
        ("Fixes #123456", [("o", "r", 123456)]),
        ("```\n#12\n```\n#13", [("o", "r", 13)]),
        ("~~~\n#12\n~~~\n`#11` ```unclosed #14", []),
        ("GH-123", [("o", "r", 123)]),
        ("high-12 and agh-13", []),
        ("HTTPS://GitHub.COM/Numpy/NumPy/Issues/5 and numpy/numpy#5", [("Numpy", "NumPy", 5)]),
        ("https://example.org/page#12", []),
        ("#3 then x/y#2 then GH-1", [("o", "r", 3), ("x", "y", 2), ("o", "r", 1)]),
        ("https://notgithub.com/a/b/issues/1 my.github.com/a/b/issues/2 -github.com/a/b/issues/3", []),
        ("www.github.com/a/b/issues/1 (github.com/a/b/issues/2)", [("a", "b", 1), ("a", "b", 2)]),
        ("\u0130\u0130 https://github.com/A/B/issues/4", [("a", "b", 4)]),
    ],
)
def test_references(text: str, expected: list[tuple[str, str, int]]) -> None:
    """Each form gives (owner, repo, number), once, in order of appearance."""
    assert extract_references(text, "o", "r") == expected


@pytest.mark.parametrize("piece", ["`", "```", "#", "#1 ", "a/", "github.com/a/", "gh-1", "x/y#1", " " * 9 + "#123456"])
def test_time_is_linear(piece: str) -> None:
    """A hostile text of 200,000 pieces is read within seconds of CPU time."""
    started = time.process_time()
    extract_references(piece * 200_000, "o", "r")
    assert time.process_time() - started < 5
