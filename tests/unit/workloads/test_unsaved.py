"""What single calls save on other inputs is saved between marks, too: else something works while a clock is stopped."""

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


def launches(
    seed: int, scatter: float, arm_s: float, unstopped_s: float = 0.0, pairs: int = MOST_PAIRS
) -> list[Measurement]:
    """Base's in the rounds, then pairs of single calls and of calls between marks, on a core that others share.

    Base's calls take 1 ms.
    """
    source = np.random.default_rng(seed)
    rounds = enumerate(np.exp(source.normal(0, scatter, ROUNDS)))
    made = [Measurement("m.time_x", BASE, number, (1e-3 * slower,), 1, 0.1, 0.1, 0) for number, slower in rounds]
    for number in range(pairs):
        times = {BASE: (1e-3, 1e-3), AGENT: (arm_s, arm_s + unstopped_s), EXPERT: (5e-4, 5e-4)}
        for arm, (single, marked) in times.items():
            looked, clocked = np.exp(source.normal(0, scatter, 2))
            one = Measurement("m.time_x", arm, FRESH_ROUND - number, (single * looked,), 1, 0.1, 0.1, 0)
            whole = (marked + 4e-4) * clocked
            made += [one, replace(one, round=CLOCKED_ROUND - number, samples=(whole,))]
    return made


def is_found(made: list[Measurement]) -> bool:
    """What a check decides that goes on while something seems to be missing, three arms' two launches each time."""
    so_far = made
    for number in range(1, MOST_PAIRS + 1):
        so_far = made[: ROUNDS + 6 * number]
        if not may_be_unsaved(so_far, AGENT):
            break
    return is_unsaved(so_far, AGENT)


@pytest.mark.parametrize("arm_s", [2e-5, 3e-4, 8e-4])
def test_honest_arms_are_seldom_suspected_where_launches_scatter(arm_s: float) -> None:
    """By a quarter, on a core that others share: in 5 of 1,000 checks at most."""
    assert sum(is_found(launches(seed, 0.25, arm_s)) for seed in range(1000)) <= 5


def test_what_is_hidden_is_found_where_launches_scatter() -> None:
    """By a tenth always, and mostly by a quarter, as on a core of two speeds."""
    assert all(is_found(launches(seed, 0.1, 1e-4, 9e-4)) for seed in range(100))
    assert sum(is_found(launches(seed, 0.25, 1e-4, 9e-4)) for seed in range(100)) >= 90


def test_one_launch_is_not_enough() -> None:
    """It is worth more of them, and decides nothing."""
    one = launches(1, 0.01, 1e-4, 9e-4, pairs=1)
    assert may_be_unsaved(one, AGENT)
    assert not is_unsaved(one, AGENT)
