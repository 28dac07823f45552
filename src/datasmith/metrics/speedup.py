"""Speedups of a task: geometric means over the workloads that are valid in every arm."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


def is_ratio(value: float | None) -> bool:
    """True where the value can be a speedup: there, finite and above zero."""
    return value is not None and math.isfinite(value) and value > 0.0


@dataclass(frozen=True, slots=True)
class Pair:
    """One workload's speedups over base (t_base / t_arm), the agent's and the expert's; None is not measured."""

    workload: str
    agent: float | None
    expert: float | None

    @property
    def valid(self) -> bool:
        """True where both speedups count."""
        return is_ratio(self.agent) and is_ratio(self.expert)


@dataclass(frozen=True, slots=True)
class ValidPair:
    """A pair in which both speedups are finite and above zero."""

    workload: str
    agent: float
    expert: float


def valid_pairs(pairs: Iterable[Pair]) -> tuple[ValidPair, ...]:
    """The pairs that count, in their order."""
    return tuple(
        ValidPair(pair.workload, pair.agent, pair.expert)
        for pair in pairs
        if pair.valid and pair.agent is not None and pair.expert is not None
    )


def geometric_mean(values: Sequence[float]) -> float | None:
    """The exponential of the mean logarithm; None for no values. All values are above zero."""
    if not values:
        return None
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def agent_speedup(pairs: Sequence[ValidPair]) -> float | None:
    """The task speedup of the agent."""
    return geometric_mean([pair.agent for pair in pairs])


def expert_speedup(pairs: Sequence[ValidPair]) -> float | None:
    """The task speedup of the human expert."""
    return geometric_mean([pair.expert for pair in pairs])


def worst_speedup(pairs: Sequence[ValidPair]) -> float | None:
    """The agent's smallest speedup of a workload."""
    return min((pair.agent for pair in pairs), default=None)
