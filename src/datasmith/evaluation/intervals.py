"""95 % intervals of an agent's means: a bootstrap over tasks, then workloads, then rounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from datasmith.metrics.levels import LEVELS, Level, group_key
from datasmith.metrics.score import Interval

RESAMPLES = 1000
Array = npt.NDArray[np.float64]
Values = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class AgentIntervals:
    """Intervals of the run-level means; None where there is nothing to resample."""

    speedup: Interval | None = None
    expert_speedup: Interval | None = None
    by_level: Mapping[Level, Interval | None] | None = None

    def at(self, level: Level) -> Interval | None:
        """The interval of the advantage at a level; `overall` is the advantage itself."""
        return self.by_level.get(level) if self.by_level else None


@dataclass(frozen=True, slots=True)
class RoundRatios:
    """One workload's ln(t_base / t_arm) per round, agent and expert in the same rounds."""

    workload: str
    agent: tuple[float, ...]
    expert: tuple[float, ...]


def bootstrap(
    tasks: Sequence[Sequence[Sequence[RoundRatios]]], *, seed: int, resamples: int = RESAMPLES
) -> AgentIntervals:
    """Intervals of the means over `tasks`, each a list of attempts, each a list of workloads.

    In each resample tasks are drawn with replacement, then workloads within each task, then rounds within each
    workload (the same rounds for agent and expert: they were measured together).
    """
    rng = np.random.default_rng(seed)
    values = [_task(attempts, rng, resamples) for attempts in tasks if any(attempts)]
    if not values:
        return AgentIntervals()
    drawn = rng.integers(0, len(values), size=(resamples, len(values)))
    column = np.arange(resamples)[:, None]
    ends = {name: _interval(np.stack([value[name] for value in values], 1)[column, drawn]) for name in values[0]}
    return AgentIntervals(ends["agent"], ends["expert"], {level: ends[level] for level in LEVELS})


def _task(attempts: Sequence[Sequence[RoundRatios]], rng: np.random.Generator, resamples: int) -> Values:
    each = [_attempt(workloads, rng, resamples) for workloads in attempts if workloads]
    return {name: np.mean([value[name] for value in each], axis=0) for name in each[0]}


def _attempt(workloads: Sequence[RoundRatios], rng: np.random.Generator, resamples: int) -> Values:
    pairs = [_medians(workload, rng, resamples) for workload in workloads]
    agent, expert = (np.stack([pair[side] for pair in pairs], 1) for side in (0, 1))
    counts = rng.multinomial(len(pairs), [1 / len(pairs)] * len(pairs), size=resamples).astype(np.float64)
    found: dict[str, Array] = {
        "agent": np.exp((counts * agent).sum(1) / len(pairs)),
        "expert": np.exp((counts * expert).sum(1) / len(pairs)),
    }
    for level in LEVELS:
        found[level] = _stratified(workloads, level, counts, agent, expert)
    return found


def _medians(workload: RoundRatios, rng: np.random.Generator, resamples: int) -> tuple[Array, Array]:
    n = len(workload.agent)
    drawn = rng.integers(0, n, size=(resamples, n))
    return (
        np.median(np.asarray(workload.agent)[drawn], axis=1),
        np.median(np.asarray(workload.expert)[drawn], axis=1),
    )


def _stratified(workloads: Sequence[RoundRatios], level: Level, counts: Array, agent: Array, expert: Array) -> Array:
    keys = [group_key(workload.workload, level) for workload in workloads]
    member = np.array([[key == group for group in dict.fromkeys(keys)] for key in keys], dtype=np.float64)
    weight = counts @ member
    present = weight > 0
    size = np.where(present, weight, 1.0)
    difference = np.exp((counts * agent) @ member / size) - np.exp((counts * expert) @ member / size)
    mean: Array = np.where(present, difference, 0.0).sum(1) / present.sum(1)
    return mean


def _interval(values: Array) -> Interval:
    low, high = np.quantile(values.mean(axis=1), [0.025, 0.975])
    return Interval(float(low), float(high))
