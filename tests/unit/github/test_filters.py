"""The symbolic filters, case by case."""

import pytest

from datasmith.github.filters import (
    has_core_file,
    message_filter,
    patch_filter,
    symbolic_compliance,
    within_file_limits,
)
from datasmith.github.models import FileChange


@pytest.mark.parametrize(
    "title",
    [
        "PERF: speed up groupby aggregation",
        "Optimize DataFrame.merge for sorted keys",
        "Vectorize rolling window calculation",
        "Cache compiled regex patterns",
        "Refactor internal modules",
        "Support Python 3.12",
        "",
        "Revert performance optimization",
        "Documentation for benchmark suite",
        "Optimizing version parsing",
        "ENH: release the GIL in rolling",
        "Speedups in version compare",
        "Add parallelism to version resolver",
    ],
)
def test_titles_that_stay(title: str) -> None:
    """Titles that speak of speed, and unclear ones, go on to the next filter."""
    assert message_filter(title)


@pytest.mark.parametrize(
    "title",
    [
        "Fix typo in README",
        "Bump version to 1.2.3",
        "CI: fix GitHub Actions workflow",
        "Lint fixes",
        "Release 3.0.0",
        "Add type hints to core module",
    ],
)
def test_titles_that_go(title: str) -> None:
    """Housekeeping is refused by its title."""
    assert not message_filter(title)


@pytest.mark.parametrize(
    "paths",
    [
        ["tests/test_foo.py", "test/x.py"],
        ["docs/index.rst", "doc/g.md"],
        ["benchmarks/b.py"],
        [".github/workflows/ci.yml"],
        ["CHANGELOG.md"],
        [],
        ["pandas/tests/x.py"],
        ["conftest.py"],
        ["LICENSE"],
        ["examples/a.py"],
        ["ci/deps.yml"],
        [".pre-commit-config.yaml"],
    ],
)
def test_changes_without_a_core_file(paths: list[str]) -> None:
    """Tests, documentation, benchmarks, CI and configuration are not the library."""
    assert not has_core_file(paths)


def test_one_core_file_is_enough() -> None:
    """A library file makes the change one of the library; compiled sources and build flags count."""
    assert has_core_file(["src/a.py"])
    assert has_core_file(["tests/test_a.py", "package/_fast.pyx"])
    assert has_core_file(["setup.py"])


def test_limits_are_exclusive() -> None:
    """499 files and 39,999 lines pass; 500 and 40,000 do not."""
    assert within_file_limits(499, 39_999)
    assert not within_file_limits(500, 1)
    assert not within_file_limits(1, 40_000)


@pytest.mark.parametrize(
    ("patch", "kept"),
    [("", False), ("x", False), ("x " * 80_000, False), ("a b " * 25, True), ("word " * 63_999, False)],
)
def test_patch_length(patch: str, kept: bool) -> None:
    """Nothing, one word and 80,000 words are refused; fifty words are not."""
    assert patch_filter(patch) is kept


def test_the_first_refusal_ends_it() -> None:
    """A refused title is the reason even where files and patch would be refused too."""
    tests_only = [FileChange(path="tests/test_a.py", additions=1, deletions=1)]
    assert symbolic_compliance("Bump version", file_changes=tests_only, patch="").reason == "title: housekeeping"
    assert symbolic_compliance("Speed up IO", file_changes=tests_only).reason == "files: no core file"
    assert not symbolic_compliance("Speed up IO", file_changes=tests_only)


def test_unknown_files_and_patches_are_skipped() -> None:
    """None means unknown: neither filter refuses it; counts that are None are no error."""
    assert symbolic_compliance("Speed up IO")
    binary = [FileChange(path="src/data.bin"), FileChange(path="src/a.py", additions=3)]
    assert symbolic_compliance("Speed up IO", file_changes=binary, patch=None)
    assert symbolic_compliance("Speed up IO", file_changes=binary, patch="x").reason == "patch: length"


def test_too_many_lines_are_refused() -> None:
    """The sum of all files' lines counts."""
    large = [FileChange(path=f"src/{n}.py", additions=20_000, deletions=0) for n in range(2)]
    assert symbolic_compliance("Speed up IO", file_changes=large).reason == "files: too many"
