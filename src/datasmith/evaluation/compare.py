"""Two configurations on the tasks that both have: differences task by task, their mean, and who wins how often."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from datasmith.errors import ConfigError, TrialError
from datasmith.evaluation.board import log_advantage_of
from datasmith.evaluation.gather import Gathered, gather
from datasmith.evaluation.intervals import tells_apart
from datasmith.evaluation.run_folder import RunFolder
from datasmith.evaluation.task_difference import task_difference
from datasmith.metrics.aggregate import Mean, mean
from datasmith.metrics.integrity import Duplicate
from datasmith.metrics.score import FailurePolicy, Interval
from datasmith.stats.nested import FEWEST_GROUPS

Verdict = Literal["win", "tie", "loss"]
VERDICTS: tuple[Verdict, ...] = ("win", "tie", "loss")


@dataclass(frozen=True, slots=True)
class TaskDifference:
    """One task: both advantages, first less second with its interval over rounds.

    win: the interval is above 0, loss: below, tie: it holds 0 or there is none.
    """

    task_id: str
    first: float
    second: float
    interval: Interval | None

    @property
    def value(self) -> float:
        """First less second."""
        return self.first - self.second

    @property
    def verdict(self) -> Verdict:
        """Who is ahead, seen from the first."""
        if self.interval is None or self.interval.holds(0.0):
            return "tie"
        return "win" if self.interval.low > 0.0 else "loss"


@dataclass(frozen=True, slots=True)
class Comparison:
    """First against second. advantage, log_advantage: mean differences over shared tasks with their intervals.

    policy: what failed trials count in both.
    one_machine: each shared task was measured on the same machine for both. uneven: see `Board.uneven`. unlike,
    differing, scopes: see Gathered.
    """

    first: str
    second: str
    policy: FailurePolicy
    advantage: Mean
    interval: Interval | None
    log_advantage: Mean
    log_interval: Interval | None
    tasks: tuple[TaskDifference, ...]
    only_first: int
    only_second: int
    duplicate: Duplicate | None
    one_machine: bool
    uneven: tuple[str, ...]
    unlike: tuple[str, ...]
    differing: tuple[str, ...]
    scopes: Mapping[str, str]

    def count(self, verdict: Verdict) -> int:
        """On how many shared tasks the first wins, ties or loses."""
        return sum(task.verdict == verdict for task in self.tasks)

    @property
    def said(self) -> str:
        """The result in words."""
        if self.interval is None:
            return "no shared task: nothing can be said"
        too_few = f"of fewer than {FEWEST_GROUPS} tasks no interval is one of 95 %"
        if self.interval.holds(0.0):
            reason = "the interval holds 0" if len(self.tasks) >= FEWEST_GROUPS else too_few
            return f"cannot be told apart: {reason}"
        ahead = self.first if self.interval.low > 0.0 else self.second
        if not tells_apart(self.interval, len(self.tasks)):
            return f"{ahead} may be ahead: {too_few}"
        return f"{ahead} is ahead"


def compare(gathered: Gathered, first: str, second: str) -> Comparison:
    """Compare two configurations of a board.

    Raises:
        TrialError: one of them is not on it, because none of its trials has ended.
    """
    board = gathered.board
    for name in (first, second):
        if name not in board.configurations:
            raise TrialError(f"compare: {name} has no trial that ended: nothing can be compared")
    mine, others = board.values(first), board.values(second)
    logs, other_logs = board.values(first, log_advantage_of), board.values(second, log_advantage_of)
    shared = sorted(mine.keys() & others.keys())
    tasks = tuple(
        TaskDifference(
            task,
            mine[task],
            others[task],
            task_difference(*(board.rounds(name, task) for name in (first, second)), seed=gathered.runs[0].config.seed),
        )
        for task in shared
    )
    return Comparison(
        first=first,
        second=second,
        policy=gathered.policy,
        advantage=mean(task.value for task in tasks),
        interval=board.draws.difference(first, second),
        log_advantage=mean(logs[task] - other_logs[task] for task in shared),
        log_interval=board.draws.difference(first, second, "log_advantage"),
        tasks=tasks,
        only_first=len(mine) - len(shared),
        only_second=len(others) - len(shared),
        duplicate=next((each for each in board.duplicates if {each.first, each.second} == {first, second}), None),
        one_machine=all(gathered.machines[first, task] == gathered.machines[second, task] for task in shared),
        uneven=tuple(task for task in board.uneven((first, second)) if task in shared),
        unlike=gathered.unlike,
        differing=gathered.differing,
        scopes=gathered.scopes,
    )


Side = tuple[RunFolder, str]
"""A run and the label of an agent in it; empty: all its agents."""


def compare_sides(first: Side, second: Side, policy: FailurePolicy) -> tuple[Comparison, ...]:
    """Compare two agents; or, of two runs, each agent that both have with itself; of one run, each with each other.

    Raises:
        ConfigError: a side names no agent and cannot do without, or one that its run does not have.
        TrialError: no trial of a side has ended.
    """
    pairs = _pairs(first, second, [_labels(side) for side in (first, second)])
    if first[0].root.resolve() == second[0].root.resolve():
        gathered = gather([first[0]], policy, only=[sorted({label for pair in pairs for label in pair})])
        return tuple(compare(gathered, *pair) for pair in pairs)
    found = []
    for mine, other in pairs:
        gathered = gather([first[0], second[0]], policy, apart=True, only=[[mine], [other]])
        found.append(compare(gathered, f"{gathered.names[0]}:{mine}", f"{gathered.names[1]}:{other}"))
    return tuple(found)


def _labels(side: Side) -> tuple[str, ...]:
    folder, agent = side
    run = folder.read_run()
    if run is None:
        raise ConfigError(f"compare: {folder.root}: no run.json there (example: runs/my-run)")
    labels = run.config.labels
    if agent and agent not in labels:
        raise ConfigError(
            f"compare: {run.run_id} has no agent {agent!r}; it has {', '.join(labels)} "
            f"(example: {folder.root}:{labels[0]})"
        )
    return labels


def _pairs(first: Side, second: Side, labels: Sequence[tuple[str, ...]]) -> list[tuple[str, str]]:
    """Which agents are compared."""
    mine, others = labels
    pairs = [(a, b) for a in mine for b in others if first[1] in ("", a) and second[1] in ("", b)]
    same_run = first[0].root.resolve() == second[0].root.resolve()
    if same_run and not (first[1] or second[1]):
        pairs = list(itertools.combinations(mine, 2))
    elif same_run:
        pairs = [(a, b) for a, b in pairs if a != b]
    elif not (first[1] and second[1]):
        pairs = [(a, b) for a, b in pairs if a == b]
    if not pairs and same_run:
        raise ConfigError(_alone(first[0].root, first[1] or mine[0], mine))
    if not pairs:
        raise ConfigError(
            f"compare: name two agents, of {', '.join(mine)} and of {', '.join(others)} "
            f"(example: {first[0].root}:{mine[0]} {second[0].root}:{others[-1]})"
        )
    return pairs


def _alone(root: Path, agent: str, labels: Sequence[str]) -> str:
    """That an agent is compared with itself, and with whom it can be."""
    others = [label for label in labels if label != agent]
    if not others:
        return (
            f"compare: {root} has no agent but {agent}, and nobody differs from oneself: name another run, too "
            f"(example: {root} {root.parent / 'another-run'})"
        )
    return (
        f"compare: {root}:{agent} is given twice, and nobody differs from oneself: name another agent of it, "
        f"{' or '.join(others)} (example: {root}:{agent} {root}:{others[0]})"
    )
