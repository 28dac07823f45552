"""The reference's figures, case by case of the acceptance cases: bugs aside, to the digits given."""

import math

import pytest

from datasmith.errors import ConfigError
from datasmith.metrics import compat
from datasmith.metrics.attempts import pass_at_k, reported_ks
from datasmith.metrics.compat import ReferenceScore, reference_score
from datasmith.metrics.levels import split_name
from datasmith.metrics.speedup import Pair

NAMES = {
    1: ("time_f", (None, None, "time_f")),
    2: ("mod.time_f", ("mod", None, "time_f")),
    3: ("mod.Cls.time_f", ("mod", "Cls", "time_f")),
    4: ("pkg.mod.Cls.time_f(1, 'a')", ("pkg.mod", "Cls", "time_f")),
    5: ("mod.cls.time_f", ("mod.cls", None, "time_f")),
    6: ("a.b.C.D.time_f", ("a.b.C", "D", "time_f")),
    7: ("Mod.time_f", ("Mod", None, "time_f")),
    8: (" ", (None, None, None)),
}
FOUR = (
    Pair("bench.ModA.time_f(1)", 2.0, 4.0),
    Pair("bench.ModA.time_f(2)", 2.0, 1.0),
    Pair("bench.time_g", 1.0, 2.0),
    Pair("other.time_h", 3.0, 1.5),
)
TWO = (Pair("m.time_a", 1.5, 1.2), Pair("m.time_b", 0.5, 1.2))
NAN = math.nan


def levels(found: ReferenceScore) -> list[float]:
    return [found.levels[name] for name in ("L1", "L2", "L3", "L4")]


def near(expected: object, digits: int = 6) -> object:
    return pytest.approx(expected, abs=0.6 * 10**-digits)


@pytest.mark.parametrize("case", NAMES)
def test_names(case: int) -> None:
    """Cases 1-8: where a name is cut."""
    name, parts = NAMES[case]
    found = split_name(name)
    assert (found.module, found.cls, found.function) == parts


@pytest.mark.parametrize(
    ("case", "pairs", "passed", "speedup", "expected", "valid"),
    [
        (9, FOUR, True, 1.861210, [0.543701, 0.166667, 0.166667, 0.0], (4, 4)),
        (10, FOUR, False, 1.0, [-0.75, -0.833333, -0.833333, -0.861210], (4, 4)),
        (11, TWO, True, 0.866025, [-0.333975, -0.333975, -0.2, -0.333975], (2, 2)),
        (12, (Pair("m.time_a", 0.0, 1.2),), True, 1.0, [0.0] * 4, (0, 1)),
        (12, (Pair("m.time_a", 1.2, math.inf),), True, 1.0, [0.0] * 4, (0, 1)),
        (12, (Pair("m.time_a", None, 1.2),), True, 1.0, [0.0] * 4, (0, 1)),
        (13, (), True, 1.0, [0.0] * 4, (0, 0)),
    ],
)
def test_task_scores(
    case: int, pairs: tuple[Pair, ...], passed: bool, speedup: float, expected: list[float], valid: tuple[int, int]
) -> None:
    """Cases 9-13: speedup, the four numbered levels, and how many workloads are valid."""
    found = reference_score(pairs, passed=passed)
    assert found.task_speedup == near(speedup)
    assert levels(found) == near(expected)
    assert (found.valid, found.total) == valid


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
    assert levels(found) == near([0.0, 0.366210, 0.366210, 0.0])
    assert (found.valid, found.total) == (5, 9)


def test_samples_are_summed_up_by_their_median() -> None:
    """Cases 16 and 17: an outlier does not move it, and NaN is left out."""
    assert compat.median_sample([4.0, 4.0, 40.0]) == 4.0
    assert compat.median_sample([8.0, NAN, 8.0]) == 8.0
    assert compat.median_sample([NAN]) is None


def test_run_level_means() -> None:
    """Cases 29-31: geometric form, its fallback, and the board's arithmetic "geomean"."""
    assert compat.run_advantage([0.21, -0.4, 0.0]) == near(-0.101236)
    assert math.fsum([0.21, -0.4, 0.0]) / 3 == near(-0.063333)
    assert compat.run_advantage([-1.2, 0.2]) == near(-0.5)
    assert compat.run_advantage([]) == 0.0
    assert compat.mean_speedup([1.5, 1.0, 0.5]) == 1.0


def test_cost_weighted() -> None:
    """Case 32: 0 where nothing was paid."""
    assert compat.cost_weighted([0.21, -0.4, 0.0], [2.0, 1.0, 0.0]) == near(-0.063333)
    assert compat.cost_weighted([0.21, -0.4, 0.0], [0.0] * 3) == 0.0


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [(1, 1, 1, 1), (4, 0, 2, 0), (4, 1, 2, 0.5), (4, 2, 2, 0.833333), (10, 3, 5, 0.916667), (5, 3, 5, 1)],
)
def test_pass_at_k(n: int, c: int, k: int, expected: float) -> None:
    """Case 33."""
    assert pass_at_k(n, c, k) == near(expected)


@pytest.mark.parametrize(("least", "ks"), [(1, ()), (2, (2,)), (4, (2, 4)), (5, (2, 4, 5)), (10, (2, 4, 5, 8, 10))])
def test_reported_ks(least: int, ks: tuple[int, ...]) -> None:
    """Case 34."""
    assert reported_ks(least) == ks


def test_a_row_is_found_by_its_model_or_not_at_all() -> None:
    """Case 35: never the row of another model."""
    rows = ["terminus-2:anthropic-claude-sonnet-4", "terminus-2:gpt-5"]
    assert compat.row_of(rows, "terminus-2:openai/gpt-5") == "terminus-2:gpt-5"
    assert compat.row_of(rows, "terminus-2:anthropic/claude-sonnet-4") == rows[0]
    with pytest.raises(ConfigError, match="gemini"):
        compat.row_of(rows, "terminus-2:google/gemini-2.5-pro")


def test_paired_speedup() -> None:
    """Case 63: the median of ratios, not the ratio of medians."""
    pairs = [(10.0, 5.0), (10.0, 8.0), (12.0, 6.0), (9.0, 9.0)]
    found = compat.paired_speedup(pairs, 4)
    assert found == near(1.581139)
    assert math.log(found or 1.0) == near(0.458145)


@pytest.mark.parametrize(("rounds", "usable", "there"), [(4, 1, False), (4, 2, True), (5, 2, False), (5, 3, True)])
def test_a_paired_speedup_needs_half_of_its_rounds(rounds: int, usable: int, there: bool) -> None:
    """Case 64: two of four, three of five."""
    pairs = [(2.0, 1.0)] * usable + [(2.0, NAN)] * (rounds - usable)
    assert (compat.paired_speedup(pairs, rounds) is not None) == there


@pytest.mark.parametrize(
    ("speedup", "reward"), [(0.5, 0.625), (1.0, 1.0), (1.04, 2.2740), (1.08, 3.5), (1.1664, 6.0), (3.0, 6.0)]
)
def test_shaped_reward(speedup: float, reward: float) -> None:
    """Case 65."""
    assert compat.shaped_reward(speedup) == near(reward, 4)
    assert compat.shaped_reward(1.1664) == 6.0
    assert compat.shaped_reward(speedup, passed=False) == -1.0
    assert compat.shaped_reward(speedup, oracle=True) == speedup


def test_two_definitions_of_advantage() -> None:
    """Case 66: the same times give +1 by the older one and +2 by the difference of speedups."""
    assert compat.relative_advantage(oracle_s=2.0, agent_s=1.0) == 1.0
    assert reference_score([Pair("m.time_a", 4 / 1, 4 / 2)]).levels["L4"] == near(2.0)


def test_relative_change() -> None:
    """Case 62: from 5.359 to 0.104317 microseconds is -98.1 %, and nothing but a ratio of 51.4."""
    assert f"{compat.relative_change(5.359e-6, 0.104317e-6):.1%}" == "-98.1%"
    assert 1 / (1 + compat.relative_change(5.359e-6, 0.104317e-6)) == near(51.372, 3)


@pytest.mark.parametrize(("agent", "oracle", "expected"), [(1.2, 1, 0.141421), (1, 1.5, -0.353553), (1.3, 1.3, 0)])
def test_distance(agent: float, oracle: float, expected: float) -> None:
    """Case 69."""
    assert compat.distance(agent, oracle) == near(expected)


@pytest.mark.parametrize(
    ("advantage", "cost", "expected", "digits"),
    [(-0.046208, 0.484116, -0.095448, 6), (-0.009606, 7.590425, -0.0012656, 7)],
)
def test_published_cost_weights(advantage: float, cost: float, expected: float, digits: int) -> None:
    """Case 70: from its rounded inputs."""
    assert compat.cost_weighted([advantage], [cost]) == near(expected, digits)
