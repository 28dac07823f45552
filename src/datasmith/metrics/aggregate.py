"""From tasks to a run: arithmetic means over tasks, each with the number of tasks that have a value."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from datasmith.metrics.levels import LEVELS, Level
from datasmith.metrics.score import Score


@dataclass(frozen=True, slots=True)
class Mean:
    """An arithmetic mean over `n` values; `value` is None where n is 0."""

    value: float | None
    n: int


@dataclass(frozen=True, slots=True)
class RunScore:
    """Means over the tasks of one agent's run."""

    advantage: Mean
    speedup: Mean
    expert_speedup: Mean
    worst_speedup: Mean
    log_advantage: Mean
    normalised_advantage: Mean
    by_level: Mapping[Level, Mean]


def mean(values: Iterable[float | None]) -> Mean:
    """The mean of the values that are there."""
    there = [value for value in values if value is not None]
    return Mean(math.fsum(there) / len(there) if there else None, len(there))


def over_tasks(tasks: Sequence[Sequence[Score | None]], pick: Callable[[Score], float | None]) -> Mean:
    """The mean over tasks of the mean over a task's attempts: a task weighs the same however often it was tried."""
    return mean(mean(pick(found) for found in attempts if found).value for attempts in tasks)


def run_score(tasks: Sequence[Sequence[Score | None]]) -> RunScore:
    """Run-level means; `tasks` holds, for each task, the scores of its attempts (None: no score)."""
    return RunScore(
        advantage=over_tasks(tasks, lambda found: found.advantage),
        speedup=over_tasks(tasks, lambda found: found.speedup),
        expert_speedup=over_tasks(tasks, lambda found: found.expert_speedup),
        worst_speedup=over_tasks(tasks, lambda found: found.worst_speedup),
        log_advantage=over_tasks(tasks, lambda found: found.log_advantage),
        normalised_advantage=over_tasks(tasks, lambda found: found.normalised_advantage),
        by_level={level: over_tasks(tasks, _at(level)) for level in LEVELS},
    )


def _at(level: Level) -> Callable[[Score], float | None]:
    return lambda found: found.by_level[level]
