"""Reading uv's refusals."""

import pytest

from datasmith.resolution.failures import (
    blames_python,
    is_absent,
    is_outage,
    lacks_dates,
    locked_out,
    statement,
    to_give_up,
)
from datasmith.resolution.requirements import Need

CONFLICT = """warning: The requested Python version 3.12 is not available; 3.11 will be used to build.
error: No solution found when resolving dependencies
  cause: Because only numpy<=1.26.4 is available and you require numpy>=2 and you require
         pandas-stubs, we can conclude that your requirements are unsatisfiable.

hint: `numpy` was filtered by `exclude-newer`. The latest version is v2.5.5, published at 2026-11-15T21:30:10Z.
"""


def test_a_statement_does_not_change_from_day_to_day() -> None:
    """Hints tell of later releases, warnings of this machine: neither belongs into a log."""
    text = statement(CONFLICT)
    assert text.startswith("No solution found when resolving dependencies: Because only numpy<=1.26.4")
    assert "2.5.5" not in text
    assert "3.11 will be used" not in text


def test_the_least_dear_named_need_gives_way() -> None:
    """Guesses before the asv matrix before benchmarks before tests; names are matched whole."""
    needs = [Need("pandas", "imports"), Need("numpy>=2", "tests"), Need("pandas-stubs", "asv"), Need("six", "imports")]
    assert to_give_up(CONFLICT, needs) == Need("pandas-stubs", "asv")
    assert to_give_up(CONFLICT, needs[:2]) == Need("numpy>=2", "tests")


def test_what_must_stay_gives_way_only_where_it_has_a_weaker_form() -> None:
    """A run-time requirement never goes."""
    assert to_give_up(CONFLICT, [Need("numpy>=2", "runtime"), Need("pytest", "runner")]) is None
    build = Need("numpy>=2", "build", fallback="numpy")
    assert to_give_up(CONFLICT, [build]) == build


def test_an_outage_is_no_answer() -> None:
    """A refusal is one only where uv looked at the releases."""
    assert is_outage("error: Request failed after 3 retries\n  cause: Failed to fetch: http://x/simple/pytest/")
    assert not is_outage(CONFLICT + "hint: failed to fetch something")


def test_other_signs() -> None:
    """No wheels: another Python may help. Unknown name: none will. No dates: the index cannot be used with a cutoff."""
    assert blames_python("Because all versions of pandas have no usable wheels and you require pandas")
    assert not blames_python(CONFLICT)
    assert is_absent("Because zzz was not found in the package registry and you require zzz", "zzz")
    assert lacks_dates("warning: six-1.0.whl is missing an upload date, but user provided: 2024")
    assert not lacks_dates(f"{CONFLICT} depends on x ; platform_version != 'a-1.0.whl is missing an upload date'")


@pytest.mark.parametrize(
    ("said", "absent", "there"),
    [
        ("Because there are no versions of dask-expr and dask==1 depends on dask-expr", "dask-expr", "dask"),
        ("Because barfoo was not found in the package registry and you", "barfoo", "foo"),
        ("Because bar.foo was not found in the package registry", "bar.foo", "foo"),
        ("Because only numpy<=1 is available and there are no versions of six, we", "six", "numpy"),
        ("there are no versions of six, and there are no versions of dask>=99, we", "six", "dask"),
    ],
)
def test_an_absent_name_is_matched_whole(said: str, absent: str, there: str) -> None:
    """What is said of a longer name says nothing of one that it ends or begins with, and of a range not of all."""
    assert is_absent(said, absent)
    assert not is_absent(said, there)


@pytest.mark.parametrize(
    "hint",
    [
        "An index URL (http://h/simple) could not be queried due to a lack of valid authentication\n"
        "      credentials (401 Unauthorized)",
        "An index (http://h/simple) returned a 403 Forbidden error. Check that the index URL is correct.",
    ],
)
def test_a_closed_index_is_an_outage(hint: str) -> None:
    """Although uv says in the same breath that there is no such package."""
    absent = "error: No solution found\n  cause: Because numpy was not found in the package registry\n"
    assert not is_outage(absent) and not locked_out(absent)
    assert is_outage(f"{absent}\nhint: {hint}\n") and locked_out(f"hint: {hint}").startswith("an index ")


REFUSAL = "error: No solution found\n  cause: Because six{sys_platform != 'WORDS'} was not found and you require\n"


@pytest.mark.parametrize(
    "error",
    [
        "error: Couldn't parse requirement in `-` at position 0\n  cause: no URL\n         six===b; 'WORDS'\n",
        "error: Failed to parse: `uv.toml`\n  cause: TOML parse error at line 1\n    1 | 'six===b; WORDS'\n",
        "warning: comparing 'WORDS'\nerror: anything else\n",
        REFUSAL,
        REFUSAL + "\nhint: Pre-releases of six{'WORDS'} are not asked for\n",
    ],
)
@pytest.mark.parametrize(
    "words",
    [
        "timed out",
        "connection reset",
        "hint: An index URL (http://h) could not be queried due to a lack of valid authentication credentials",
    ],
)
def test_what_is_only_repeated_is_no_outage(error: str, words: str) -> None:
    """A marker of a repository may hold any words; what is said of an index that did not answer is uv's."""
    assert not is_outage(error.replace("WORDS", words))
