"""What single calls save on other inputs is saved between marks, too: else something works while a clock is stopped."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from datasmith.workloads.base import BASE, EXPERT, Measurement, agent_arm
from datasmith.workloads.clocked import CLOCKED_ROUND
from datasmith.workloads.fresh import FRESH_ROUND, MOST_PAIRS, is_unsaved, may_be_unsaved
from datasmith.workloads.summary import summarise

from .simulated import SimulatedContainer
from .test_clocked import clocked_launches
from .test_fresh import about, run

AGENT = agent_arm("agent#1")


def test_work_in_stopped_windows_counts_between_marks() -> None:
    """Ten times as fast by single calls, as slow as base where no clock is stopped; its clock is not accused."""
    measured = run(SimulatedContainer(about(1e-4, 4), unstopped_s=9e-4))
    (row,) = measured.summaries[AGENT].workloads
    assert row.ratio == pytest.approx(1, rel=0.05)
    assert row.repeated == pytest.approx(10, rel=0.05)
    assert not row.changed
    assert summarise(measured.measurements, seed=1)[AGENT] == measured.summaries[AGENT]


def test_half_of_it_is_worth_the_other_half() -> None:
    """The ratio is that of a call which is shorter by what is saved between marks."""
    base = SimulatedContainer(about(1e-3, 1), sets_up_s=1e-5)
    measured = run(SimulatedContainer(about(1e-4, 4), sets_up_s=1e-5, unstopped_s=5e-4), base=base)
    (row,) = measured.summaries[AGENT].workloads
    assert row.ratio == pytest.approx(1e-3 / 6e-4, rel=0.1)


def test_a_setting_up_that_is_longer_than_the_call_proves_nothing() -> None:
    """It may take a quarter longer than base's, and that is all of the call."""
    base = SimulatedContainer(about(1e-3, 1), sets_up_s=1e-2)
    measured = run(SimulatedContainer(about(1e-4, 4), sets_up_s=1.09e-2), base=base)
    (row,) = measured.summaries[AGENT].workloads
    assert row.ratio == pytest.approx(10, rel=0.05)
    assert clocked_launches(measured, AGENT) == 2


ROUNDS = 15
Pace = Callable[[np.random.Generator], float]


def shared(scatter: float) -> Pace:
    """How many times as slow as usual launches are on a core that others share."""
    return lambda source: float(np.exp(source.normal(0, scatter)))


def two_speeds(source: np.random.Generator) -> float:
    """The same on a core that is slow half of the time."""
    return float(np.exp(source.normal(0, 0.03))) * (1.6 if source.random() < 0.5 else 1.0)


def launches(
    seed: int, pace: Pace, arm_s: float, unstopped_s: float = 0.0, *, setup_s: float = 4e-4, pairs: int = MOST_PAIRS
) -> list[Measurement]:
    """Base's in the rounds, then pairs of single calls and of calls between marks; base's calls take 1 ms."""
    source = np.random.default_rng(seed)
    made = [Measurement("m.time_x", BASE, number, (1e-3 * pace(source),), 1, 0.1, 0.1, 0) for number in range(ROUNDS)]
    for number in range(pairs):
        times = {BASE: (1e-3, 1e-3), AGENT: (arm_s, arm_s + unstopped_s), EXPERT: (5e-4, 5e-4)}
        for arm, (single, marked) in times.items():
            one = Measurement("m.time_x", arm, FRESH_ROUND - number, (single * pace(source),), 1, 0.1, 0.1, 0)
            whole = (marked + setup_s) * pace(source)
            made += [one, replace(one, round=CLOCKED_ROUND - number, samples=(whole,))]
    return made


SUSPECTED = [
    (shared(0.25), 2e-5, 3),
    (shared(0.25), 3e-4, 3),
    (shared(0.25), 8e-4, 40),
    (two_speeds, 1e-4, 10),
    (two_speeds, 8e-4, 25),
]
"""A saving of a fifth of a call drowns where they scatter by a quarter."""


def is_found(made: list[Measurement]) -> bool:
    """What a check decides that goes on while something seems to be missing, three arms' two launches each time."""
    so_far = made
    for number in range(1, MOST_PAIRS + 1):
        so_far = made[: ROUNDS + 6 * number]
        if not may_be_unsaved(so_far, AGENT):
            break
    return is_unsaved(so_far, AGENT)


@pytest.mark.parametrize(("pace", "arm_s", "most"), SUSPECTED)
def test_honest_arms_are_seldom_suspected_where_launches_scatter(pace: Pace, arm_s: float, most: int) -> None:
    """Of 500 checks so many may end so; then what counts is what was saved between marks."""
    assert sum(is_found(launches(seed, pace, arm_s)) for seed in range(500)) <= most


def test_what_is_hidden_is_found_where_launches_scatter() -> None:
    """By a tenth always, and nearly so by a quarter."""
    assert all(is_found(launches(seed, shared(0.1), 1e-4, 9e-4)) for seed in range(100))
    assert sum(is_found(launches(seed, shared(0.25), 1e-4, 9e-4)) for seed in range(100)) >= 97


@pytest.mark.parametrize(("setup_s", "least"), [(1e-4, 97), (1e-3, 85)])
def test_a_saving_that_a_core_of_two_speeds_shows_lets_nobody_go(setup_s: float, least: int) -> None:
    """Even where setting up takes as long as the call, when a third of these 100 were let go after a lucky pair."""
    assert sum(is_found(launches(seed, two_speeds, 1e-4, 9e-4, setup_s=setup_s)) for seed in range(100)) >= least


def test_a_disturbed_launch_is_one_of_the_last() -> None:
    """Else whoever disturbs one of his own would never be decided."""
    made = launches(2, two_speeds, 5e-4, 5e-4, setup_s=1e-3)
    last = [replace(one, noisy=one.arm == AGENT and one.round == CLOCKED_ROUND - MOST_PAIRS + 1) for one in made]
    assert is_unsaved(made, AGENT) and is_unsaved(last, AGENT)


def test_one_launch_is_not_enough() -> None:
    """It is worth more of them, and decides nothing."""
    one = launches(1, shared(0.01), 1e-4, 9e-4, pairs=1)
    assert may_be_unsaved(one, AGENT)
    assert not is_unsaved(one, AGENT)
