"""The score of one trial, and what a failed trial scores under each failure policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from datasmith.metrics.advantage import advantage, log_advantage, normalised_advantage, stratified_advantage
from datasmith.metrics.levels import LEVELS, Level
from datasmith.metrics.speedup import Pair, agent_speedup, expert_speedup, is_ratio, valid_pairs, worst_speedup

FailurePolicy = Literal["floor", "baseline", "exclude"]
POLICIES: tuple[FailurePolicy, ...] = ("floor", "baseline", "exclude")


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval, both ends included."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """True where `value` lies inside."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Score:
    """What one agent reached on one task; a value that cannot be computed is None, never 0 or 1.

    speedup, expert_speedup: geometric means over the valid workloads. advantage: the published primary score, equal
    to by_level["overall"].
    """

    n_workloads: int
    n_valid: int
    speedup: float | None
    expert_speedup: float | None
    advantage: float | None
    by_level: Mapping[Level, float | None]
    worst_speedup: float | None
    log_advantage: float | None
    normalised_advantage: float | None


def score(pairs: Sequence[Pair]) -> Score | None:
    """The score over the valid workloads; None where there is none: nothing measured is not an average agent."""
    valid = valid_pairs(pairs)
    if not valid:
        return None
    return Score(
        n_workloads=len(pairs),
        n_valid=len(valid),
        speedup=agent_speedup(valid),
        expert_speedup=expert_speedup(valid),
        advantage=advantage(valid),
        by_level={level: stratified_advantage(valid, level) for level in LEVELS},
        worst_speedup=worst_speedup(valid),
        log_advantage=log_advantage(valid),
        normalised_advantage=normalised_advantage(valid),
    )


def as_unchanged(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """The same workloads with the agent at 1.0: what handing in nothing would have reached."""
    return tuple(replace(pair, agent=1.0 if is_ratio(pair.expert) else None) for pair in pairs)


def failed_pairs(pairs: Sequence[Pair], policy: FailurePolicy) -> tuple[Pair, ...]:
    """The ratios that a failed trial is scored with, from what was measured of it (agent None: nothing was).

    baseline: s^A := 1. floor: s^A := the lesser of 1 and what was measured, 1 where nothing was. exclude: none. All
    but exclude take the workloads in which the expert is valid, whatever the agent broke, so that nothing a failed
    trial is scored with, at no level, is above baseline.
    """
    if policy == "exclude":
        return ()
    unchanged = as_unchanged(pairs)
    if policy == "baseline":
        return unchanged
    return tuple(
        pair if pair.valid and pair.agent is not None and pair.agent < 1.0 else other
        for pair, other in zip(pairs, unchanged, strict=True)
    )


def failed_score(pairs: Sequence[Pair], policy: FailurePolicy) -> Score | None:
    """The score of a failed trial under a policy; None where the policy leaves it out or the expert has none."""
    return score(failed_pairs(pairs, policy))
