"""On a core of two speeds a small speed-up of the suite's own inputs is seen, and one of the code is believed."""

import random
from collections.abc import Callable

import numpy as np
import pytest

from datasmith.workloads.base import BASE, CONTROL, EXPERT
from datasmith.workloads.fresh import MOST_FRESH
from datasmith.workloads.measure import Measured, MeasurePlan, measure

from .simulated import SimulatedContainer
from .test_fresh import AGENT, X, about, fresh_launches

TRIALS = 20
SLOWER = 1.6


def speeds(seed: int, slow_share: float) -> Callable[[], float]:
    """Launches that are slow now and then; within a speed they scatter by 3 %."""
    drawn = np.random.default_rng(seed)
    return lambda: float(np.exp(drawn.normal(0, 0.03)) * (SLOWER if drawn.random() < slow_share else 1.0))


def measured(trial: int, slow_share: float, faster: float, on_others: float, base_s: float) -> Measured:
    """An agent whose calls are so many times as fast as base's in the rounds, and on other inputs."""
    arms = {
        BASE: SimulatedContainer(about(base_s, 1)),
        CONTROL: SimulatedContainer(about(base_s, 2)),
        EXPERT: SimulatedContainer(about(base_s / 2, 3)),
        AGENT: SimulatedContainer(about(base_s / faster, 4), fresh=about(base_s / on_others, 5)),
    }
    for number, arm in enumerate(arms.values()):
        arm.slower = speeds(4 * trial + number, slow_share)
    return measure(
        arms, [X], MeasurePlan(seed=trial), benchmark_dir="b", sink=lambda _launch: None, outputs=True,
        lottery=random.Random(trial),
    )  # fmt: skip


def certainly_faster(slow_share: float, faster: float, on_others: float, base_s: float) -> int:
    """Of so many trials, those in which the agent certainly is faster than base."""
    rows = [
        measured(trial, slow_share, faster, on_others, base_s).summaries[AGENT].workloads[0] for trial in range(TRIALS)
    ]
    return sum(row.low is not None and row.low > 1.0 for row in rows)


@pytest.mark.parametrize(
    ("base_s", "slow_share", "faster"),
    [(1e-3, 0.5, 1.6), (1e-3, 0.5, 2.5), (1e-3, 0.1, 1.3), (1e-4, 0.5, 2.5), (1e-4, 0.1, 1.6)],
)
def test_luck_does_not_make_a_cache_a_speed_up_of_the_code(base_s: float, slow_share: float, faster: float) -> None:
    """One launch in which base was slow and the arm fast was enough for up to fifteen of these twenty."""
    assert certainly_faster(slow_share, faster, 1.0, base_s) <= 1


@pytest.mark.parametrize(("slow_share", "faster"), [(0.5, 1.6), (0.1, 1.3)])
def test_a_speed_up_of_the_code_is_believed_there(slow_share: float, faster: float) -> None:
    """It is asked more often, and stays."""
    assert certainly_faster(slow_share, faster, faster, 1e-3) >= TRIALS - 2


def test_how_often_is_asked_follows_from_how_much_base_scatters() -> None:
    """Once on a steady core; up to sixteen times, and a few more beside the marks, where that drowns the claim."""
    steady, shaken = (fresh_launches(measured(1, share, 1.6, 1.6, 1e-3), AGENT) for share in (0.0, 0.5))
    assert steady <= 2
    assert steady < shaken <= MOST_FRESH + 8
