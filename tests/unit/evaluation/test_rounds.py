"""From launches to paired ln ratios, and intervals from those."""

import math
import random
from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np
import pytest

from datasmith.evaluation.intervals import RoundRatios, TaskDraws
from datasmith.evaluation.rounds import arm_times, round_ratios
from datasmith.evaluation.task_difference import task_difference
from datasmith.metrics.levels import LEVELS, Level
from datasmith.stats.nested import pooled_medians
from datasmith.workloads.base import Measurement


def launch(arm: str, number: int, *samples: float, noisy: bool = False, reason: str | None = None) -> Measurement:
    return Measurement("m.time_a", arm, number, samples, 1, 1.0, 1.0, 0, noisy, reason)


def test_only_launches_that_count_count() -> None:
    """Warm-up, noisy and failed launches are left out; of the samples the median is taken."""
    times = arm_times(
        [
            launch("base", -1, 9.0),
            launch("base", 0, 1.0, 2.0, 90.0),
            launch("base", 1, 5.0, noisy=True),
            launch("base", 2, reason="it raised"),
        ],
        {"base", "expert"},
    )
    assert times == {"base": {"m.time_a": {0: 2.0}}}


def test_rounds_are_paired() -> None:
    """A round counts where base, expert and agent were all timed in it."""
    times = arm_times(
        [
            *(launch("base", number, 4.0) for number in range(3)),
            *(launch("expert", number, 2.0) for number in range(3)),
            launch("agent:x", 1, 1.0),
        ],
        {"base", "expert", "agent:x"},
    )
    (found,) = round_ratios(times, dict.fromkeys(["m.time_a", "m.time_b"], "agent:x"))
    assert found == RoundRatios("m.time_a", (math.log(4),), (math.log(2),))
    (unchanged,) = round_ratios(times, {"m.time_a": None})
    assert unchanged.agent == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("launches", [5, 30])
def test_the_expert_keeps_its_rounds_where_a_claim_was_refuted(launches: int) -> None:
    """However many launches on other inputs count for the agent, its estimate and the expert's are of all they have."""
    names = {"base": 4.0, "expert": 2.0, "agent:x": 1.0}
    times = arm_times([launch(arm, number, seconds) for arm, seconds in names.items() for number in range(24)], names)
    times["expert"]["m.time_a"] |= dict.fromkeys(range(5), 3.9)
    told = [0.01 * number for number in range(launches)]
    (found,) = round_ratios(times, {"m.time_a": "agent:x"}, {"m.time_a": told})
    assert found.agent == tuple(told)
    assert len(found.expert) == 24
    draws = drawn({"t": [found]}).intervals("a")
    assert draws.expert_speedup is not None
    assert draws.expert_speedup.holds(2.0)
    assert task_difference([[found]], [[found]], seed=0) is not None


def noisy(seed: int, agent: float, expert: float, names: int = 4, rounds: int = 12) -> list[RoundRatios]:
    rng = random.Random(seed)
    return [
        RoundRatios(
            f"m.time_{n}",
            tuple(rng.gauss(agent, 0.03) for _ in range(rounds)),
            tuple(rng.gauss(expert, 0.03) for _ in range(rounds)),
        )
        for n in range(names)
    ]


def drawn(tasks: Mapping[str, Sequence[RoundRatios]], seed: int = 0, resamples: int = 1000) -> TaskDraws:
    """One agent `a` with one attempt at each task."""
    draws = TaskDraws(n_tasks=len(tasks), seed=seed, resamples=resamples)
    for name, attempt in tasks.items():
        draws.add(name, {"a": [attempt]})
    return draws


def test_nothing_has_no_interval() -> None:
    """Missing is not a point at zero."""
    assert drawn({}).intervals("a").speedup is None
    assert drawn({"t": []}).intervals("a").at("overall") is None
    assert drawn({"t": noisy(1, 0.0, 0.1)}).intervals("a", []).at("overall") is None
    assert drawn({"t": noisy(1, 0.0, 0.1)}).difference("a", "b") is None


def test_the_interval_is_reproducible_and_around_the_value() -> None:
    """The same seed gives the same ends, and they lie around the speedup that went in."""
    tasks = {"t1": noisy(1, 0.5, 0.7), "t2": noisy(2, 0.5, 0.7)}
    first, second = (drawn(tasks, seed=3).intervals("a") for _ in range(2))
    assert first == second
    assert first.speedup is not None
    assert first.speedup.holds(math.exp(0.5))
    assert first.speedup.high - first.speedup.low < 0.1
    overall = first.at("overall")
    assert overall is not None
    assert overall.holds(math.exp(0.5) - math.exp(0.7))


def test_intervals_cover_the_truth() -> None:
    """Of 60 simulated single tasks without any effect, at least 50 intervals hold 1 (95 % nominal)."""
    hits = 0
    for seed in range(60):
        speedup = drawn({"t": noisy(seed, 0.0, 0.1)}, seed, resamples=300).intervals("a").speedup
        assert speedup is not None
        hits += speedup.holds(1.0)
    assert hits >= 50


def test_an_agent_that_is_the_expert_has_no_advantage() -> None:
    """Rounds are drawn together for both, so equal data gives the interval [0, 0] at every level."""
    same = [RoundRatios(row.workload, row.expert, row.expert) for row in noisy(5, 0.0, 0.3)]
    found = drawn({"t": same}).intervals("a")
    for level in LEVELS:
        ends = found.at(level)
        assert ends is not None
        assert [ends.low, ends.high] == pytest.approx([0.0, 0.0])


def test_two_agents_of_a_task_are_drawn_together() -> None:
    """The same times twice differ by 0 exactly; a small step is seen through what both share."""
    draws = TaskDraws(n_tasks=2, seed=1)
    for number in range(2):
        first = noisy(number, 0.3, 0.5)
        ahead = [RoundRatios(row.workload, [value + 0.01 for value in row.agent], row.expert) for row in first]
        draws.add(f"t{number}", {"a": [first], "b": [first], "c": [ahead]})
    same, step = draws.difference("a", "b"), draws.difference("c", "a")
    assert same is not None
    assert step is not None
    assert (same.low, same.high) == (0.0, 0.0)
    assert 0.0 < step.low < math.exp(0.3) * 0.01 < step.high < 0.02
    alone = draws.intervals("a").at("overall")
    assert alone is not None
    assert step.high - step.low < 0.1 * (alone.high - alone.low)


def test_intervals_do_not_ask_who_came_first() -> None:
    """Where workload lists differ: neither the order of agents or workloads decides, nor whether others are there."""
    whole, part, other = noisy(1, 0.3, 0.5), noisy(2, 0.2, 0.5, names=2), noisy(3, 0.1, 0.5, names=3)
    agents = {"a": [whole, part], "b": [part], "c": [other]}
    orders = [*permutations(agents), ("b",), ("c", "b")]
    boards = [TaskDraws(n_tasks=1, seed=0) for _ in orders]
    for board, names in zip(boards, orders, strict=True):
        board.add("t", {name: [rows[:: (-1) ** len(names)] for rows in agents[name]] for name in names})
    for name in agents:
        found = [board.intervals(name) for board, names in zip(boards, orders, strict=True) if name in names]
        assert found[0].speedup is not None
        assert all(each == found[0] for each in found)


def test_experts_are_told_apart_by_their_rounds() -> None:
    """Not by a number made of them, which two may share: -1.0 and -2.0 have one hash."""
    assert hash((-1.0,)) == hash((-2.0,))
    draws = TaskDraws(n_tasks=1, seed=0)
    logs = {"a": -1.0, "b": -2.0}
    draws.add("t", {name: [[RoundRatios("m.time_a", (0.0,) * 5, (log,) * 5)]] for name, log in logs.items()})
    for name, log in logs.items():
        ends = draws.intervals(name).expert_speedup
        assert ends is not None
        assert [ends.low, ends.high] == pytest.approx([math.exp(log)] * 2)


def test_a_free_task_leaves_advantage_per_dollar_its_interval() -> None:
    """It counts in the resamples that something was paid in; where nothing was paid at all there is none."""
    draws = drawn({"t1": noisy(1, 0.5, 0.3), "t2": noisy(2, 0.5, 0.3)})
    found = draws.cost_weighted("a", {"t1": 0.0, "t2": 1.0})
    assert found is not None
    gain = math.exp(0.5) - math.exp(0.3)
    assert found.low == pytest.approx(gain, rel=0.2)
    assert found.high == pytest.approx(gain / 0.5, rel=0.2)
    assert draws.cost_weighted("a", {"t1": 0.0, "t2": 0.0}) is None
    assert draws.cost_weighted("a", {}) is None


def test_of_one_value_a_task_tasks_alone_are_redrawn() -> None:
    """As of costs and chances: the interval is about the mean, and one task has none, as nothing shows a scatter."""
    draws = drawn({})
    found = draws.over_tasks({f"t{at}": float(at % 2) for at in range(40)})
    assert found is not None
    assert found.low == pytest.approx(0.5 - 1.96 * 0.5 / math.sqrt(40), abs=0.05)
    assert found.high == pytest.approx(0.5 + 1.96 * 0.5 / math.sqrt(40), abs=0.05)
    assert draws.over_tasks({"t": 1.0}) is None
    assert draws.over_tasks({}) is None


def test_levels_are_drawn_as_they_are_defined() -> None:
    """Without noise and with one workload per group every level is exact, whatever the workloads' order."""
    logs = {"m.A.time_f(1)": 0.2, "m.A.time_f(2)": 0.2, "m.time_g": 0.2, "n.time_h": 0.2}
    attempt = [RoundRatios(name, (value,) * 5, (0.1,) * 5) for name, value in reversed(logs.items())]
    found = drawn({"t": attempt}).intervals("a")
    for level in LEVELS:
        ends = found.at(level)
        assert ends is not None
        assert [ends.low, ends.high] == pytest.approx([math.exp(0.2) - math.exp(0.1)] * 2)


@pytest.mark.parametrize(("level", "classes", "parameters"), [("param", 60, 1), ("class", 60, 2)])
def test_intervals_of_levels_cover_the_truth(level: Level, classes: int, parameters: int) -> None:
    """Groups are draws from more of their kind: of 200 tasks at least 180 hold the mean of all (95 % nominal).

    A group that is drawn twice counts twice; and what the workloads of one share, redrawing them does not show.
    """
    rng, hits = random.Random(1), 0
    for seed in range(200):
        speeds = [rng.gauss(0.0, 0.05) for _ in range(classes)]
        task = [
            RoundRatios(f"m.C{at}.time_f({number})", (value,), (0.0,))
            for at, value in enumerate(speeds)
            for number in range(parameters)
        ]
        found = drawn({"t": task}, seed, resamples=200).intervals("a").at(level)
        assert found is not None
        hits += found.holds(math.exp(0.05**2 / 2) - 1.0)
    assert hits >= 180


def test_a_level_weighs_its_groups_alike() -> None:
    """Half of the classes are twice as fast, with a fifth of the workloads: the class level is about their mean."""
    quiet = [RoundRatios(f"m.C{at}.time_f({n})", (0.0,) * 5, (0.0,) * 5) for at in range(40) for n in range(4)]
    loud = [RoundRatios(f"m.D{at}.time_f(0)", (math.log(2),) * 5, (0.0,) * 5) for at in range(40)]
    found = drawn({"t": quiet + loud}).intervals("a")
    classes, overall = found.at("class"), found.at("overall")
    assert classes is not None
    assert overall is not None
    assert classes.holds(0.5)
    assert classes.low > 0.35
    assert overall.holds(2**0.2 - 1)
    assert overall.high < 0.25


@pytest.mark.parametrize(("worst", "names", "tasks"), [(0.5, 10, 20), (1.0, 30, 20), (1.0, 20, 1), (0.5, 8, 400)])
def test_the_interval_of_the_worst_holds_it(worst: float, names: int, tasks: int) -> None:
    """One bad workload among good ones, or none: what was measured lies inside, however many workloads there are."""
    board = {f"t{at}": noisy(at, 0.0, 0.1, names) for at in range(tasks)}
    for attempt in board.values():
        attempt[0] = RoundRatios("m.time_0", [value + math.log(worst) for value in attempt[0].agent], attempt[0].expert)
    found = drawn(board).intervals("a")
    for ends, side in ((found.worst_speedup, "agent"), (found.expert_worst, "expert")):
        least = [min(np.median(getattr(row, side)) for row in attempt) for attempt in board.values()]
        assert ends is not None
        assert ends.holds(float(np.mean(np.exp(least))))
        assert 0.0 < ends.high - ends.low < 0.08 / math.sqrt(tasks)


def test_the_worst_scatters_as_tasks_do() -> None:
    """The interval of its mean over tasks that differ is about as wide as their standard error says."""
    rng = random.Random(3)
    levels = [rng.gauss(-0.5, 0.2) for _ in range(60)]
    board = {
        f"t{at}": [RoundRatios(f"m.time_{n}", (level if n == 0 else 0.0,) * 5, (0.0,) * 5) for n in range(9)]
        for at, level in enumerate(levels)
    }
    ends = drawn(board).intervals("a").worst_speedup
    assert ends is not None
    assert ends.high - ends.low == pytest.approx(2 * 1.96 * np.std(np.exp(levels)) / math.sqrt(60), rel=0.1)


def test_pools_stand_for_all_rounds() -> None:
    """Medians of few pooled redraws scatter as those of many: what large boards draw from is not narrower."""
    rng = np.random.default_rng(0)
    cells = rng.normal(0.0, 0.02, size=(400, 12)).tolist()
    few, many = (pooled_medians(cells, size, np.random.default_rng(1)) for size in (16, 1000))
    assert few.shape == (400, 16)
    assert few.std(axis=1, ddof=1).mean() == pytest.approx(many.std(axis=1).mean(), rel=0.1)
    assert np.abs(few.mean() - many.mean()) < 0.0005
    odd = pooled_medians([[1.0, 1.0, 1.0], [2.0]], 4, np.random.default_rng(0))
    assert odd.tolist() == [[1.0] * 4, [2.0] * 4]


@pytest.mark.parametrize("length", [1, 2, 5, 12])
def test_pooled_medians_are_medians(length: int) -> None:
    """Of the values at the drawn places, which are the same for all cells of one length, and balanced."""
    cells = np.random.default_rng(length).normal(size=(7, length))
    places = np.random.default_rng(3).permutation(np.tile(np.arange(length), 20)).reshape(20, length)
    found = pooled_medians(cells.tolist(), 20, np.random.default_rng(3))
    assert found == pytest.approx(np.median(cells[:, places], axis=-1))
