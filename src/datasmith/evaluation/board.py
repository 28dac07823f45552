"""A board: configurations over tasks, each with means, intervals, rank, tie group and cost."""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from datasmith.evaluation.intervals import AgentIntervals, Attempt, TaskDraws, tells_apart
from datasmith.evaluation.outcome import EXCLUDED, Outcome
from datasmith.evaluation.rows import TrialRow
from datasmith.metrics.aggregate import Mean, RunScore, mean, run_score
from datasmith.metrics.attempts import pass_at_k, reported_ks
from datasmith.metrics.efficiency import cost_weighted, pareto
from datasmith.metrics.integrity import Duplicate, duplicates, repeated, without_copies
from datasmith.metrics.ranking import Ballot, heaviest_share, stability, tie_groups
from datasmith.metrics.score import Interval, Score

Pick = Callable[[Score], float | None]


def advantage_of(found: Score) -> float | None:
    """A trial's advantage."""
    return found.advantage


def log_advantage_of(found: Score) -> float | None:
    """A trial's log advantage."""
    return found.log_advantage


@dataclass(frozen=True, slots=True)
class Scored:
    """One trial as a board takes it: whose it is, its row, and its rounds."""

    configuration: str
    row: TrialRow
    rounds: Attempt


@dataclass(frozen=True, slots=True)
class CostFigures:
    """mean_usd: per task, attempts averaged; None where one trial's is unknown. n: tasks of that mean, 0 without one.

    weighted: mean advantage / mean cost, both over the attempts that have a score. pareto: no other configuration is as
    cheap and as good and better in one, by the same two; None: not compared. What an outage cost is in none of them.
    """

    mean_usd: float | None
    mean_interval: Interval | None
    n: int
    weighted: float | None
    weighted_interval: Interval | None
    pareto: bool | None


@dataclass(frozen=True, slots=True)
class AgentReport:
    """One configuration over its tasks. n_scored counts tasks with a score; n_trials all complete trials.

    rank: by Ranked Pairs over the tasks' advantages, span: best and worst under the rules of `ranking.RULES`; None
    where nothing is scored. tie_group: two configurations share a letter exactly where the interval of their
    difference holds 0, or is of too few tasks. heaviest: share of the sum of |advantage| that its ten heaviest tasks
    carry. pass_at: for each reported k, the chance that one of k attempts is measured and faster than base beyond its
    interval; pass_intervals: of these, over tasks; None where there is one alone.
    """

    agent: str
    n_trials: int
    n_tasks: int
    n_scored: int
    outcomes: Mapping[Outcome, int]
    means: RunScore
    intervals: AgentIntervals
    cost_usd: float | None
    rank: int | None
    span: tuple[int, int] | None
    tie_group: str
    heaviest: float | None
    cost: CostFigures
    pass_at: Mapping[int, Mean]
    pass_intervals: Mapping[int, Interval | None]


class Board:
    """Works out once what tables show: `agents` in the order given, `ranked` best first.

    Of attempts with the same times at a task the first one counts, whether it was measured or failed: the others are
    copies of it, and no attempts.
    """

    def __init__(self, configurations: Sequence[str], trials: Iterable[Scored], *, seed: int) -> None:
        self.configurations = tuple(configurations)
        given: dict[str, dict[str, list[Scored]]] = {name: {} for name in configurations}
        for trial in trials:
            given[trial.configuration].setdefault(trial.row.record.task_id, []).append(trial)
        self.duplicates = _duplicates(given)
        self.by_task = {
            name: {task: _once(attempts) for task, attempts in tasks.items()} for name, tasks in given.items()
        }
        self.draws = self._draws(seed)
        ballots = self._ballots(advantage_of)
        logs = self._ballots(log_advantage_of)
        self.stability = stability(ballots, logs, self.configurations, [self._errors(task) for task in self.tasks])
        self.agents = self._agents()

    @property
    def ranked(self) -> tuple[AgentReport, ...]:
        """By rank, then by mean advantage; those without a score come last."""
        return tuple(
            sorted(self.agents, key=lambda agent: (agent.rank or math.inf, -(agent.means.advantage.value or 0)))
        )

    @property
    def tasks(self) -> tuple[str, ...]:
        """All tasks that have a trial."""
        return tuple(sorted({task for tasks in self.by_task.values() for task in tasks}))

    def scores(self, configuration: str, tasks: Iterable[str] | None = None) -> list[list[Score | None]]:
        """Per task the scores of its attempts, over all tasks or those named."""
        mine = self.by_task[configuration]
        chosen = mine if tasks is None else [task for task in tasks if task in mine]
        return [[trial.row.score for trial in mine[task]] for task in chosen]

    def rounds(self, configuration: str, task: str) -> list[Attempt]:
        """The rounds of each attempt at a task that has a score."""
        return [trial.rounds for trial in self.by_task[configuration].get(task, ()) if trial.rounds]

    def uneven(self, configurations: Sequence[str] = ()) -> tuple[str, ...]:
        """Tasks that these (default: all) are scored on over different workloads, and so against another expert."""
        names = configurations or self.configurations
        found = []
        for task in self.tasks:
            attempts = [attempt for name in names for attempt in self.rounds(name, task)]
            if len({frozenset(row.workload for row in attempt) for attempt in attempts}) > 1:
                found.append(task)
        return tuple(found)

    def values(self, configuration: str, pick: Pick = advantage_of) -> dict[str, float]:
        """Task -> mean over its attempts of what is picked of their scores; tasks without one are not among them."""
        found = {}
        for task, trials in self.by_task[configuration].items():
            there = mean(pick(trial.row.score) if trial.row.score else None for trial in trials).value
            if there is not None:
                found[task] = there
        return found

    def costs(self, configuration: str, *, scored: bool = False) -> dict[str, float] | None:
        """Task -> mean US dollars of its attempts, or of those that have a score; an outage is no attempt.

        None where the cost of an attempt is unknown, or there is none.
        """
        found = {}
        for task, trials in self.by_task[configuration].items():
            attempts = [trial.row for trial in trials if trial.row.record.is_complete]
            if any(row.record.cost_usd is None for row in attempts):
                return None
            costs = [row.record.cost_usd for row in attempts if not scored or row.score is not None]
            known = [cost for cost in costs if cost is not None]
            if known:
                found[task] = statistics.fmean(known)
        return found or None

    def _draws(self, seed: int) -> TaskDraws:
        draws = TaskDraws(n_tasks=len(self.tasks), seed=seed)
        for task in self.tasks:
            draws.add(
                task,
                {name: self.rounds(name, task) for name in self.configurations},
            )
        return draws

    def _ballots(self, pick: Pick) -> list[Ballot]:
        values = {name: self.values(name, pick) for name in self.configurations}
        return [{name: mine[task] for name, mine in values.items() if task in mine} for task in self.tasks]

    def _errors(self, task: str) -> Ballot:
        """How far a configuration's advantage on a task may be off by its own rounds: half of a 95 % interval."""
        return {name: _error(mine[task]) for name, mine in self.by_task.items() if task in mine}

    def _agents(self) -> tuple[AgentReport, ...]:
        means = {name: run_score(self.scores(name)) for name in self.configurations}
        costs = {name: self.costs(name, scored=True) for name in self.configurations}
        price = {name: _mean(each) for name, each in costs.items()}
        front = pareto({name: (price[name], means[name].advantage.value) for name in self.configurations})
        ranks = self.stability.ranks["ranked pairs"]
        ties = self._ties(sorted(ranks, key=lambda name: (ranks[name], -(means[name].advantage.value or 0.0))))
        found = []
        for name in self.configurations:
            paid, scored = self.costs(name), costs[name]
            figures = CostFigures(
                mean_usd=_mean(paid),
                mean_interval=self.draws.over_tasks(paid or {}),
                n=len(paid or ()),
                weighted=cost_weighted(means[name].advantage.value, price[name]),
                weighted_interval=self.draws.cost_weighted(name, scored) if scored else None,
                pareto=front[name],
            )
            found.append(self._agent(name, means[name], figures, ties.get(name, "")))
        return tuple(found)

    def _ties(self, names: Sequence[str]) -> dict[str, str]:
        def differ(first: str, second: str) -> bool:
            shared = {*self.draws.tasks(first)}.intersection(self.draws.tasks(second))
            return tells_apart(self.draws.difference(first, second), len(shared))

        return tie_groups(names, differ)

    def _agent(self, name: str, means: RunScore, cost: CostFigures, ties: str) -> AgentReport:
        tasks = self.by_task[name]
        rows = [trial.row for trials in tasks.values() for trial in trials]
        tried = _tried(tasks)
        ks = reported_ks(min((n for n, _ in tried.values()), default=0))
        chances = {k: {task: pass_at_k(n, c, k) for task, (n, c) in tried.items()} for k in ks}
        return AgentReport(
            agent=name,
            n_trials=len(rows),
            n_tasks=len(tasks),
            n_scored=means.advantage.n,
            outcomes=Counter(row.record.outcome for row in rows),
            means=means,
            intervals=self.draws.intervals(name),
            cost_usd=_spent(rows),
            rank=self.stability.ranks["ranked pairs"].get(name),
            span=self.stability.span(name),
            tie_group=ties,
            heaviest=heaviest_share(self.values(name).values()),
            cost=cost,
            pass_at={k: mean(by_task.values()) for k, by_task in chances.items()},
            pass_intervals={k: self.draws.over_tasks(by_task) for k, by_task in chances.items()},
        )


def _error(attempts: Iterable[Scored]) -> float:
    """Of the mean over attempts; one that a policy scores is not off."""
    rows = [trial.row for trial in attempts if trial.row.score]
    halves = [(row.speedup_interval.high - row.speedup_interval.low) / 2.0 for row in rows if row.speedup_interval]
    return math.hypot(*halves) / len(rows) if rows else 0.0


def _duplicates(given: Mapping[str, Mapping[str, Sequence[Scored]]]) -> tuple[Duplicate, ...]:
    """Of one configuration's attempts, and of two configurations."""
    timed, measured = _told(given, _times), _told(given, _ratios)
    whole = {
        name: {task: [*chain(*(each[at] for at in without_copies(each)))] for task, each in mine.items()}
        for name, mine in measured.items()
    }
    return (*repeated(timed), *duplicates(whole))


def _told(
    given: Mapping[str, Mapping[str, Sequence[Scored]]], what: Callable[[Scored], list[float] | None]
) -> dict[str, dict[str, list[list[float]]]]:
    """Configuration -> task -> what its attempts have of this, without those that have nothing."""
    found = {
        name: {task: [*filter(None, map(what, attempts))] for task, attempts in tasks.items()}
        for name, tasks in given.items()
    }
    return {name: {task: each for task, each in tasks.items() if each} for name, tasks in found.items()}


def _once(attempts: Sequence[Scored]) -> list[Scored]:
    return [attempts[at] for at in without_copies([_times(trial) for trial in attempts])]


def _times(trial: Scored) -> list[float] | None:
    """What clocks have said of an attempt, which they never say twice: its ratios, or how long a failed one worked."""
    return _ratios(trial) or ([trial.row.record.wall_s] if trial.row.record.wall_s > 0.0 else None)


def _ratios(trial: Scored) -> list[float] | None:
    """What was measured of a trial that counts by it.

    Where a claim was refuted, the ratio of the rounds: what counts instead may be 1 exactly, in any trial.
    """
    ratios = trial.row.record.ratios
    if not trial.row.measured or ratios is None:
        return None
    told = (row.ratio if row.repeated is None else row.repeated for row in ratios.valid)
    return [ratio for ratio in told if ratio is not None]


def _tried(tasks: Mapping[str, Sequence[Scored]]) -> dict[str, tuple[int, int]]:
    """Task -> (attempts, successes) of those that say something: outages and invalid measurements are no failures."""
    said = {
        task: [trial.row for trial in trials if trial.row.record.outcome not in EXCLUDED]
        for task, trials in tasks.items()
    }
    return {task: (len(rows), sum(map(_success, rows))) for task, rows in said.items() if rows}


def _mean(costs: Mapping[str, float] | None) -> float | None:
    return statistics.fmean(costs.values()) if costs else None


def _spent(rows: Iterable[TrialRow]) -> float | None:
    """What all trials cost together, None where that of one is unknown.

    Of an outage only what is known: most often nothing was asked, and it is done again.
    """
    records = (row.record for row in rows)
    costs = [record.cost_usd for record in records if record.is_complete or record.cost_usd is not None]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def _success(row: TrialRow) -> bool:
    """Measured, and the task's speedup is above 1 with its whole interval."""
    ratios = row.record.ratios
    return row.measured and ratios is not None and ratios.low is not None and ratios.low > 1.0
