"""From launches to paired ln ratios, and intervals from those."""

import math
import random

import pytest

from datasmith.evaluation.intervals import RoundRatios, bootstrap
from datasmith.evaluation.rounds import arm_times, round_ratios
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
        ]
    )
    assert times == {"base": {"m.time_a": {0: 2.0}}}


def test_rounds_are_paired() -> None:
    """A round counts where base, expert and agent were all timed in it."""
    times = arm_times(
        [
            *(launch("base", number, 4.0) for number in range(3)),
            *(launch("expert", number, 2.0) for number in range(3)),
            launch("agent:x", 1, 1.0),
        ]
    )
    (found,) = round_ratios(times, "agent:x", ["m.time_a", "m.time_b"])
    assert found == RoundRatios("m.time_a", (math.log(4),), (math.log(2),))
    (unchanged,) = round_ratios(times, None, ["m.time_a"])
    assert unchanged.agent == (0.0, 0.0, 0.0)


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


def test_nothing_has_no_interval() -> None:
    """Missing is not a point at zero."""
    assert bootstrap([], seed=0).speedup is None
    assert bootstrap([[]], seed=0).at("overall") is None
    assert bootstrap([[[]]], seed=0).at("overall") is None


def test_the_interval_is_reproducible_and_around_the_value() -> None:
    """The same seed gives the same ends, and they lie around the speedup that went in."""
    tasks = [[noisy(1, 0.5, 0.7)], [noisy(2, 0.5, 0.7)]]
    first, second = bootstrap(tasks, seed=3), bootstrap(tasks, seed=3)
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
        speedup = bootstrap([[noisy(seed, 0.0, 0.1)]], seed=seed, resamples=300).speedup
        assert speedup is not None
        hits += speedup.holds(1.0)
    assert hits >= 50


def test_an_agent_that_is_the_expert_has_no_advantage() -> None:
    """Rounds are drawn together for both, so equal data gives the interval [0, 0] at every level."""
    same = [RoundRatios(row.workload, row.expert, row.expert) for row in noisy(5, 0.0, 0.3)]
    found = bootstrap([[same]], seed=0)
    for level in ("param", "function", "class", "module", "overall"):
        ends = found.at(level)
        assert ends is not None
        assert [ends.low, ends.high] == pytest.approx([0.0, 0.0])
