"""Advantage: how far an agent is ahead of the human expert on one task; formulas of docs/reference/metrics.md."""

import math
from collections.abc import Sequence

from datasmith.metrics.levels import Level, group_key
from datasmith.metrics.speedup import ValidPair, agent_speedup, expert_speedup

_SQUARED = 500
"""2 to this can be squared, and millions of such squares added up."""


def advantage(pairs: Sequence[ValidPair]) -> float | None:
    """gmean(s^A) - gmean(s^H); None for no pairs."""
    agent, expert = agent_speedup(pairs), expert_speedup(pairs)
    return None if agent is None or expert is None else agent - expert


def stratified_advantage(pairs: Sequence[ValidPair], level: Level) -> float | None:
    """The mean over the level's groups of each group's advantage; every group weighs the same."""
    groups: dict[tuple[str | None, ...], list[ValidPair]] = {}
    for pair in pairs:
        groups.setdefault(group_key(pair.workload, level), []).append(pair)
    values = [value for group in groups.values() if (value := advantage(group)) is not None]
    if not values:
        return None
    scaled, exponent = _summable(values)
    return math.ldexp(math.fsum(scaled) / len(scaled), exponent)


def log_advantage(pairs: Sequence[ValidPair]) -> float | None:
    """Mean ln s^A - mean ln s^H: scale-free, so that 2x against 4x weighs like 0.5x against 0.25x."""
    if not pairs:
        return None
    return math.fsum(math.log(pair.agent) - math.log(pair.expert) for pair in pairs) / len(pairs)


def normalised_advantage(pairs: Sequence[ValidPair]) -> float | None:
    """Advantage / sqrt(var(s^A) + var(s^H)), variances over the workloads (population); None where both are 0."""
    value = advantage(pairs)
    if value is None:
        return None
    scaled, exponent = _summable([*(pair.agent for pair in pairs), *(pair.expert for pair in pairs)])
    spread = math.sqrt(_variance(scaled[: len(pairs)]) + _variance(scaled[len(pairs) :]))
    return math.ldexp(value, -exponent) / spread if spread > 0.0 else None


def _summable(values: Sequence[float]) -> tuple[list[float], int]:
    """The values over 2 to the exponent that is told, so that no sum and no square of them is too large.

    Ratios of times are far below that: their exponent is 0.
    """
    exponent = max(0, max(math.frexp(value)[1] for value in values) - _SQUARED)
    return [math.ldexp(value, -exponent) for value in values], exponent


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / len(values)
