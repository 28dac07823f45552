"""The seven analyses of a board: global, levels, strategies, popularity, cost, worst workload, time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from datasmith.evaluation.board import Board
from datasmith.evaluation.gather import Gathered
from datasmith.evaluation.intervals import AgentIntervals
from datasmith.evaluation.outside import Cutoffs
from datasmith.evaluation.rows import scored_pairs
from datasmith.metrics.aggregate import Mean, RunScore, mean, run_score
from datasmith.metrics.score import Interval
from datasmith.metrics.speedup import valid_pairs
from datasmith.metrics.strata import QUINTILES, TAGS, TEMPORAL_BINS, ntile, temporal_bin


@dataclass(frozen=True, slots=True)
class Slice:
    """One configuration over some of the tasks: `name` says which; n of each mean counts tasks."""

    name: str
    agent: str
    means: RunScore
    intervals: AgentIntervals


@dataclass(frozen=True, slots=True)
class Worst:
    """Global speedup and worst workload of one configuration, and the expert's on the same tasks."""

    agent: str
    speedup: Mean
    speedup_interval: Interval | None
    worst: Mean
    worst_interval: Interval | None
    expert: Mean
    expert_interval: Interval | None
    expert_worst: Mean
    expert_worst_interval: Interval | None


@dataclass(frozen=True, slots=True)
class Missing:
    """How many tasks an analysis leaves out because nobody says what it asks of them."""

    category: int
    stars: int
    merged_at: int
    cutoffs: tuple[str, ...]
    """Configurations whose model has no known cutoff."""
    unmatched: tuple[str, ...]
    """Entries of one's own file of cutoffs that none of the models is."""
    unmatched_stars: tuple[str, ...]
    """Entries of one's own file of stars that are neither a task nor its repository."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The analyses; global, levels and cost are on the board itself.

    stars: the range of each quintile. cutoffs: of each configuration's model.
    """

    gathered: Gathered
    tags: tuple[Slice, ...]
    quintiles: tuple[Slice, ...]
    stars: Mapping[str, tuple[int, int]]
    worst: tuple[Worst, ...]
    bins: tuple[Slice, ...]
    cutoffs: Mapping[str, datetime]
    missing: Missing

    @property
    def board(self) -> Board:
        """The board that everything rests on."""
        return self.gathered.board


def analyse(gathered: Gathered, *, stars: Mapping[str, int], cutoffs: Cutoffs) -> Findings:
    """Break the board out. A task that lacks a fact is in no class of it.

    `stars`, by repository or task id, go before those that tasks have of their own.
    """
    board, facts = gathered.board, gathered.facts
    tags = {task: tag for task in board.tasks if task in facts and (tag := facts[task].category)}
    counts = _stars(gathered, stars)
    buckets = ntile(counts)
    quintiles = {task: f"Q{bucket}" for task, bucket in buckets.items()}
    dates = {task: date for task in board.tasks if task in facts and (date := facts[task].merged_at)}
    known = {name: date for name, entry in gathered.entries.items() if (date := cutoffs.of(entry.model))}
    unknown = tuple(name for name, entry in gathered.entries.items() if name not in known and entry.model != "none")
    order = [*TAGS, *sorted(set(tags.values()) - set(TAGS))]
    return Findings(
        gathered=gathered,
        tags=_slices(board, order, lambda _name: tags),
        quintiles=_slices(board, [f"Q{number}" for number in range(1, QUINTILES + 1)], lambda _name: quintiles),
        stars=_ranges(counts, quintiles),
        worst=tuple(_worst(gathered, agent.agent) for agent in board.ranked),
        bins=_slices(board, TEMPORAL_BINS, lambda name: _bins(dates, known.get(name))),
        cutoffs=known,
        missing=Missing(
            category=len(board.tasks) - len(tags),
            stars=len(board.tasks) - len(counts),
            merged_at=len(board.tasks) - len(dates),
            cutoffs=unknown,
            unmatched=cutoffs.unmatched({entry.model for entry in gathered.entries.values()}),
            unmatched_stars=tuple(sorted(stars.keys() - {*board.tasks} - {row.repository for row in facts.values()})),
        ),
    )


def _stars(gathered: Gathered, stars: Mapping[str, int]) -> dict[str, int]:
    """One count for a repository: the given one, else the largest of those that its tasks were mined with."""
    known: dict[str, int] = {}
    for facts in gathered.facts.values():
        if facts.repository and facts.stars is not None:
            known[facts.repository] = max(facts.stars, known.get(facts.repository, 0))
    known |= stars
    found = {}
    for task in gathered.board.tasks:
        repository = gathered.facts[task].repository if task in gathered.facts else None
        count = known.get(task, known.get(repository) if repository else None)
        if count is not None:
            found[task] = count
    return found


def _ranges(counts: Mapping[str, int], quintiles: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    groups: dict[str, list[int]] = {}
    for task, name in quintiles.items():
        groups.setdefault(name, []).append(counts[task])
    return {name: (min(group), max(group)) for name, group in groups.items()}


def _bins(dates: Mapping[str, datetime], cutoff: datetime | None) -> dict[str, str]:
    return {task: temporal_bin(date, cutoff) for task, date in dates.items()} if cutoff else {}


def _slices(board: Board, order: Sequence[str], classes: Callable[[str], Mapping[str, str]]) -> tuple[Slice, ...]:
    """Every configuration in every class in which it has a score, class by class."""
    of = {agent.agent: classes(agent.agent) for agent in board.ranked}
    found = []
    for name in order:
        for agent, mine in of.items():
            tasks = [task for task, each in mine.items() if each == name]
            means = run_score(board.scores(agent, tasks))
            if means.advantage.n:
                found.append(Slice(name, agent, means, board.draws.intervals(agent, tasks)))
    return tuple(found)


def _worst(gathered: Gathered, name: str) -> Worst:
    board = gathered.board
    means, intervals = run_score(board.scores(name)), board.draws.intervals(name)
    return Worst(
        agent=name,
        speedup=means.speedup,
        speedup_interval=intervals.speedup,
        worst=means.worst_speedup,
        worst_interval=intervals.worst_speedup,
        expert=means.expert_speedup,
        expert_interval=intervals.expert_speedup,
        expert_worst=mean(_expert_worst(gathered, name)),
        expert_worst_interval=intervals.expert_worst,
    )


def _expert_worst(gathered: Gathered, name: str) -> Iterable[float | None]:
    """Per task, the mean over attempts of the expert's smallest speedup of a workload."""
    for trials in gathered.board.by_task[name].values():
        rows = [trial.row for trial in trials]
        pairs = [valid_pairs(scored_pairs(row.record, row.session, gathered.policy)) for row in rows]
        yield mean(min((pair.expert for pair in each), default=None) for each in pairs).value
