"""Scores: the acceptance cases to the digits given, and missing is never a number."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasmith.metrics.levels import LEVELS, Level
from datasmith.metrics.score import Interval, Score, failed_score, score
from datasmith.metrics.speedup import Pair

RATIOS = {
    "bench.ModA.time_f(1)": (2.0, 4.0),
    "bench.ModA.time_f(2)": (2.0, 1.0),
    "bench.time_g": (1.0, 2.0),
    "other.time_h": (3.0, 1.5),
}


def pairs_of(ratios: dict[str, tuple[float | None, float | None]]) -> list[Pair]:
    return [Pair(name, agent, expert) for name, (agent, expert) in ratios.items()]


def scored(ratios: dict[str, tuple[float | None, float | None]]) -> Score:
    found = score(pairs_of(ratios))
    assert found is not None
    return found


def levels(found: Score, expected: dict[Level, float]) -> bool:
    return all(found.by_level[level] == pytest.approx(value, abs=5e-7) for level, value in expected.items())


def test_four_workloads_in_two_modules() -> None:
    """Case 9: equal geometric means give 0 overall, while the modules differ."""
    found = scored(dict(RATIOS))
    assert found.speedup == pytest.approx(12**0.25, abs=1e-9)
    assert found.speedup == pytest.approx(1.861210, abs=5e-7)
    assert found.advantage == found.by_level["overall"] == pytest.approx(0.0, abs=1e-12)
    assert levels(found, {"module": 0.543701, "class": 1 / 6, "function": 1 / 6, "param": -0.125})
    assert (found.n_valid, found.n_workloads) == (4, 4)
    assert found.worst_speedup == 1.0


def test_a_failed_trial_scores_as_unchanged_code() -> None:
    """Case 10 (ours): the failed agent stands at 1.0 on every workload, its task speedup included."""
    found = failed_score(pairs_of(dict(RATIOS)), "baseline")
    assert found is not None
    assert found.speedup == 1.0
    assert levels(found, {"module": -0.75, "class": -5 / 6, "function": -5 / 6, "overall": -0.861210})


def test_a_function_and_its_module_differ() -> None:
    """Case 11."""
    found = scored({"m.time_a": (1.5, 1.2), "m.time_b": (0.5, 1.2)})
    assert found.speedup == pytest.approx(0.866025, abs=5e-7)
    assert levels(found, {"module": -0.333975, "class": -0.333975, "overall": -0.333975, "function": -0.2})


@pytest.mark.parametrize("bad", [0.0, math.inf, math.nan, -1.0, None])
def test_a_ratio_that_is_none_leaves_its_workload_out(bad: float | None) -> None:
    """Case 12 (ours): alone there is no score at all; beside a valid one it is left out and counted."""
    assert score([Pair("m.time_a", bad, 2.0)]) is None
    assert score([Pair("m.time_a", 2.0, bad)]) is None
    found = scored({"m.time_a": (bad, 2.0), "m.time_b": (2.0, 2.0)})
    assert (found.n_valid, found.n_workloads, found.advantage) == (1, 2, 0.0)


def test_an_empty_table_has_no_score() -> None:
    """Case 13 (ours): nothing measured is no score, not 1.0."""
    assert score([]) is None
    assert failed_score([], "floor") is None


def test_the_policies_differ_where_a_failed_trial_was_measured() -> None:
    """Exclude leaves it out; baseline puts it at 1.0; floor takes the lesser of that and what was measured."""
    slow, fast = pairs_of({"m.time_a": (0.5, 2.0)}), pairs_of({"m.time_a": (3.0, 2.0)})
    assert failed_score(slow, "exclude") is None
    values = [
        found.advantage
        for pairs, policy in ((slow, "baseline"), (slow, "floor"), (fast, "floor"))
        if (found := failed_score(pairs, policy)) is not None  # type: ignore[arg-type]
    ]
    assert values == [-1.0, -1.5, -1.0]


def test_a_failed_trial_without_measurement_needs_only_the_expert() -> None:
    """What the agent would have reached is not needed: floor equals baseline then."""
    nothing = pairs_of({"m.time_a": (None, 2.0), "m.time_b": (None, None)})
    floor, baseline = failed_score(nothing, "floor"), failed_score(nothing, "baseline")
    assert floor == baseline
    assert floor is not None
    assert (floor.advantage, floor.n_valid, floor.n_workloads) == (-1.0, 1, 2)


def test_a_workload_that_a_failed_trial_broke_is_not_left_out() -> None:
    """It stands at 1.0 beside the others: who breaks one has neither a higher speedup of its own nor the expert's."""
    broken = pairs_of({"m.time_a": (2.0, 4.0), "m.time_b": (None, 1.0)})
    found = failed_score(broken, "floor")
    assert found == failed_score(broken, "baseline")
    assert found is not None
    assert (found.speedup, found.expert_speedup, found.n_valid) == (1.0, 2.0, 2)


def test_floor_is_taken_workload_by_workload() -> None:
    """What is slower than base counts as it is, what is faster counts 1.0, each where it stands."""
    found = failed_score(pairs_of({"m.time_a": (0.25, 1.0), "n.time_b": (100.0, 1.0)}), "floor")
    assert found is not None
    assert (found.speedup, found.worst_speedup) == (0.5, 0.25)
    assert found.by_level["module"] == pytest.approx(-0.375)


def test_log_advantage_has_no_scale() -> None:
    """2x against 4x weighs like 0.5x against 0.25x, with the other sign."""
    up, down = scored({"m.time_a": (2.0, 4.0)}), scored({"m.time_a": (0.5, 0.25)})
    assert up.log_advantage == pytest.approx(-math.log(2))
    assert down.log_advantage == pytest.approx(math.log(2))
    assert up.normalised_advantage is None


def test_normalised_advantage_divides_by_both_spreads() -> None:
    """A / sqrt(var + var), variances over the workloads."""
    found = scored({"m.time_a": (1.0, 2.0), "m.time_b": (4.0, 2.0)})
    assert found.advantage == pytest.approx(0.0)
    found = scored({"m.time_a": (1.0, 1.0), "m.time_b": (4.0, 1.0)})
    assert found.normalised_advantage == pytest.approx(1.0 / 1.5)


@pytest.mark.parametrize("huge", [1e156, 1e308, 1.7e308])
def test_no_ratio_is_too_large_for_a_score(huge: float) -> None:
    """What its square and the sum of two would be is nowhere needed: every figure is what it is of smaller ratios."""
    small, large = (
        scored({"m.time_a": (2.0 * unit, unit), "m.time_b": (unit, 1.5 * unit)}) for unit in (1.0, huge / 2.0)
    )
    assert small.normalised_advantage is not None
    assert large.normalised_advantage == pytest.approx(small.normalised_advantage)
    for level in LEVELS:
        value = small.by_level[level]
        assert value is not None
        assert large.by_level[level] == pytest.approx(value * (huge / 2.0), abs=1e-12 * huge)
    assert scored({"m.time_a": (huge, 1.0), "n.time_b": (huge, 1.0)}).by_level["module"] == pytest.approx(huge)


positive = st.floats(min_value=1e-3, max_value=1e3)


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=8))
def test_the_overall_level_is_the_advantage(values: list[tuple[float, float]]) -> None:
    """For any data: overall is the advantage, and an agent equal to the expert has advantage 0 at each level."""
    found = score([Pair(f"m.time_{i}", agent, expert) for i, (agent, expert) in enumerate(values)])
    same = score([Pair(f"m.time_{i}", expert, expert) for i, (_, expert) in enumerate(values)])
    assert found is not None
    assert same is not None
    assert found.by_level["overall"] == found.advantage
    assert all(same.by_level[level] == 0.0 for level in LEVELS)


@given(st.lists(st.tuples(st.none() | positive, positive), min_size=1, max_size=8))
def test_floor_is_never_above_baseline(values: list[tuple[float | None, float]]) -> None:
    """For any data, at every level, in every quantity: over the same workloads, with the same expert."""
    pairs = [Pair(f"m{i % 2}.time_{i % 3}({i})", agent, expert) for i, (agent, expert) in enumerate(values)]
    floor, baseline = failed_score(pairs, "floor"), failed_score(pairs, "baseline")
    assert floor is not None
    assert baseline is not None
    assert (floor.n_valid, floor.expert_speedup) == (baseline.n_valid, baseline.expert_speedup)
    for low, high in (
        (floor.speedup, baseline.speedup),
        (floor.worst_speedup, baseline.worst_speedup),
        (floor.log_advantage, baseline.log_advantage),
        *((floor.by_level[level], baseline.by_level[level]) for level in LEVELS),
    ):
        assert low is not None
        assert high is not None
        assert low <= high + 1e-9 * abs(high)


def test_an_interval_holds_its_ends() -> None:
    """Both ends are inside."""
    assert all(Interval(0.9, 1.1).holds(value) for value in (0.9, 1.0, 1.1))
    assert not Interval(0.9, 1.1).holds(1.11)
