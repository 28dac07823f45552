"""The reference's figures, case by case of the acceptance cases: bugs aside, to the digits given."""

import math

import pytest
from benchmarks.compat import Row, rows, table

from datasmith.errors import ConfigError
from datasmith.metrics import compat
from datasmith.metrics.compat import reference_score
from datasmith.metrics.speedup import Pair
from tests.house.source import ROOT

NAN = math.nan


def near(expected: object, digits: int = 6) -> object:
    return pytest.approx(expected, abs=0.6 * 10**-digits)


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.case}: {row.what}")
def test_a_figure_of_the_cases(row: Row) -> None:
    """Cases 1 to 16, 29 to 39 and 63 to 71, to the digits given."""
    assert row.agrees, row


def test_the_documentation_shows_these_figures() -> None:
    """The table in docs/reference/metrics.md is what `python -m benchmarks.compat` prints."""
    assert table() in (ROOT / "docs/reference/metrics.md").read_text()


@pytest.mark.parametrize(
    ("agent", "expert", "valid"), [(0.0, 1.2, 0), (1.2, math.inf, 0), (None, 1.2, 0), (1.5, 1.2, 1)]
)
def test_workloads_that_count(agent: float | None, expert: float, valid: int) -> None:
    """Case 12: one without both ratios is counted, and no valid one."""
    found = reference_score((Pair("m.time_a", agent, expert),))
    assert (found.valid, found.total) == (valid, 1)


def test_a_legacy_block() -> None:
    """Case 14: marks that state no change are dropped; half of the rest not being slower passes."""
    lines = {"b1": (0.5, "+"), "b2": (-0.2, "-"), "b3": (9.0, "x"), "b4": (200.0, "~")}
    found = compat.legacy_block(lines)
    assert (found.kept, found.passed) == (("b1", "b2"), True)
    assert found.speedup == near(-0.15)
    assert not compat.legacy_block({"b1": (0.5, "+")}).passed
    assert compat.legacy_block({"b4": (200.0, "~")}).kept == ()


def test_scores_from_asv_samples() -> None:
    """Case 15: medians of samples, another kind of benchmark counted and not scored."""
    names = [f"mod.Suite.time_f({at})" for at in range(4)] + ["mod.time_g"]
    base = [[4.0, 4, 40], [4.0, 4, 4], [8.0, 8, 8], [8.0, 8, 8], [10.0, 10, 10]]
    expert = [[2.0] * 3, [2.0] * 3, [4.0] * 3, [8.0] * 3, [10.0] * 3]
    agent = [[1.0] * 3, [4.0] * 3, [8.0, 8, 9], [8.0, NAN, 8], [5.0, 5, 50]]
    tracked = {f"mod.track_size({at})": [1.0] for at in range(4)}
    arms = [dict(zip(names, arm, strict=True)) | tracked for arm in (base, expert, agent)]
    pairs = compat.pairs_from_samples(*arms)
    assert [pair.agent for pair in pairs] == [4.0, 1.0, 1.0, 1.0, 2.0, *[None] * 4]
    assert [pair.expert for pair in pairs][:5] == [2.0, 2.0, 2.0, 1.0, 1.0]
    found = reference_score(pairs)
    assert (found.valid, found.total) == (5, 9)


def test_samples_are_summed_up_by_their_median() -> None:
    """Cases 16 and 17: an outlier does not move it, and NaN is left out."""
    assert compat.median_sample([4.0, 4.0, 40.0]) == 4.0
    assert compat.median_sample([8.0, NAN, 8.0]) == 8.0
    assert compat.median_sample([NAN]) is None


def test_a_row_is_found_by_its_model_or_not_at_all() -> None:
    """Case 35: never the row of another model."""
    rows = ["terminus-2:anthropic-claude-sonnet-4", "terminus-2:gpt-5"]
    assert compat.row_of(rows, "terminus-2:openai/gpt-5") == "terminus-2:gpt-5"
    assert compat.row_of(rows, "terminus-2:anthropic/claude-sonnet-4") == rows[0]
    with pytest.raises(ConfigError, match="gemini"):
        compat.row_of(rows, "terminus-2:google/gemini-2.5-pro")


def test_rewards_have_their_ends() -> None:
    """Case 65: no more than the highest, and the expert's own as it is."""
    assert compat.shaped_reward(3.0) == 6.0
    assert compat.shaped_reward(1.3, oracle=True) == 1.3


def test_relative_change() -> None:
    """Case 62: from 5.359 to 0.104317 microseconds is -98.1 %, and nothing but a ratio of 51.4."""
    assert f"{compat.relative_change(5.359e-6, 0.104317e-6):.1%}" == "-98.1%"
    assert 1 / (1 + compat.relative_change(5.359e-6, 0.104317e-6)) == near(51.372, 3)
