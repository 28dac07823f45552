"""Advantage: how far an agent is ahead of the human expert on one task; formulas of docs/reference/metrics.md."""

import math
from collections.abc import Sequence

from datasmith.metrics.levels import Level, group_key
from datasmith.metrics.speedup import ValidPair, agent_speedup, expert_speedup


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
    return math.fsum(values) / len(values) if values else None


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
    spread = math.sqrt(_variance([pair.agent for pair in pairs]) + _variance([pair.expert for pair in pairs]))
    return value / spread if spread > 0.0 else None


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / len(values)
