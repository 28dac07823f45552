"""The interval of the difference of two agents' advantages on one task: its workloads are the task, rounds vary."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from datasmith.evaluation.intervals import Array, Attempt
from datasmith.metrics.score import Interval
from datasmith.stats.nested import RESAMPLES, ends, pooled_medians

FEWEST_ROUNDS = 2


def task_difference(first: Sequence[Attempt], second: Sequence[Attempt], *, seed: int) -> Interval | None:
    """First less second, over the attempts of each; None where a workload has fewer than two rounds.

    Only rounds are redrawn, as for a task's own speedup (`stats.bootstrap.hierarchical`, whose widening it shares):
    rounds of one number are drawn together, so that what two agents measured together share cancels.
    """
    attempts = [attempt for attempt in (*first, *second) if attempt]
    cells = [side for attempt in attempts for row in attempt for side in (row.agent, row.expert)]
    if not any(first) or not any(second) or min(map(len, cells)) < FEWEST_ROUNDS:
        return None
    rng = np.random.default_rng(seed)
    widening = np.array([math.sqrt(len(cell) / (len(cell) - 1)) for cell in cells])[:, None]
    centres = np.array([np.median(cell) for cell in cells])[:, None]
    medians = centres + (pooled_medians(cells, RESAMPLES, rng) - centres) * widening
    names = sorted({row.workload for attempt in attempts for row in attempt})
    turns = {name: rng.permutation(RESAMPLES) for name in names}
    values = []
    for attempt in attempts:
        mine, medians = medians[: 2 * len(attempt)], medians[2 * len(attempt) :]
        values.append(_advantages(attempt, mine, turns))
    split = sum(map(bool, first))
    return Interval(*ends(np.mean(values[:split], axis=0) - np.mean(values[split:], axis=0)))


def _advantages(attempt: Attempt, medians: Array, turns: Mapping[str, npt.NDArray[np.intp]]) -> Array:
    """The attempt's advantage in each redraw; each workload goes through its redraws in an order of its own."""
    agent, expert = (
        np.mean([medians[2 * at + side][turns[row.workload]] for at, row in enumerate(attempt)], axis=0)
        for side in (0, 1)
    )
    found: Array = np.exp(agent) - np.exp(expert)
    return found
