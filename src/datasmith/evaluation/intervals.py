"""95 % intervals of means over tasks: a bootstrap over tasks, then workloads, then rounds."""

import statistics
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from datasmith.metrics.levels import LEVELS, Level, group_keys
from datasmith.metrics.score import Interval
from datasmith.stats.nested import FEWEST_GROUPS, RESAMPLES, Resampler, ends, pooled_medians

Array = npt.NDArray[np.float64]
QUANTITIES = ("speedup", "expert_speedup", "worst_speedup", "expert_worst", "log_advantage", *LEVELS)
"""What each redraw of a task yields; a level's name stands for the advantage at it."""
FEWEST_REDRAWS = 100
FEWEST_POOLED = 16
TASK_REDRAWS = 150_000
POOLED_AT_ONCE = 500_000
POOLED = 4_000_000
"""Redraws of all tasks, and pooled medians of one and of all tasks, that are aimed at: with many tasks each needs
fewer of its own, as what is drawn is then averaged over them."""


@dataclass(frozen=True, slots=True)
class RoundRatios:
    """One workload's ln(t_base / t_arm) per round, agent and expert in the same rounds.

    Where the agent's are of launches on other inputs, there are fewer or more of them than of the expert's.
    """

    workload: str
    agent: Sequence[float]
    expert: Sequence[float]


Attempt = Sequence[RoundRatios]
"""One attempt's workloads; empty where the attempt has no score."""


@dataclass(frozen=True, slots=True)
class AgentIntervals:
    """Intervals of one agent's means over tasks by the name of the quantity; nothing where there is nothing to draw."""

    by_name: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def speedup(self) -> Interval | None:
        """Of the mean task speedup."""
        return self.by_name.get("speedup")

    @property
    def expert_speedup(self) -> Interval | None:
        """Of the expert's, over the same tasks."""
        return self.by_name.get("expert_speedup")

    @property
    def worst_speedup(self) -> Interval | None:
        """Of the mean of each task's worst workload."""
        return self.by_name.get("worst_speedup")

    @property
    def expert_worst(self) -> Interval | None:
        """Of the mean of the expert's worst workload of each task."""
        return self.by_name.get("expert_worst")

    @property
    def log_advantage(self) -> Interval | None:
        """Of the mean log advantage."""
        return self.by_name.get("log_advantage")

    def at(self, level: Level) -> Interval | None:
        """The interval of the advantage at a level; `overall` is the advantage itself."""
        return self.by_name.get(level)


def tells_apart(interval: Interval | None, n_tasks: int) -> bool:
    """Whether the interval of a difference over so many tasks says which of two is ahead; over a few none can."""
    return interval is not None and n_tasks >= FEWEST_GROUPS and not interval.holds(0.0)


class TaskDraws:
    """Redraws of each agent's values on each task, from which means over any tasks get their intervals.

    A task's workloads are redrawn with replacement, and each drawn workload's rounds with them (the same rounds for
    agent and expert, and for all agents of the task: they were measured together). At a level where workloads stand
    in groups that weigh the same, what is redrawn is groups, and in each drawn group its workloads: a group drawn
    twice counts twice. For its worst workload a task keeps all of them, and rounds alone are redrawn. Of a workload's
    rounds, and of a group's workloads, a pool of redraws is made beforehand, from which each that is drawn takes one
    at random. An interval then comes from resamples that draw tasks with replacement and, for each drawn task, one of
    its redraws.
    """

    def __init__(self, *, n_tasks: int, seed: int, resamples: int = RESAMPLES) -> None:
        """Make ready for about `n_tasks` tasks: with many, each needs fewer redraws of its own."""
        self._n_tasks = max(1, n_tasks)
        self._seed = seed
        self._resamples = resamples
        self._redraws = max(min(FEWEST_REDRAWS, resamples), min(resamples, TASK_REDRAWS // self._n_tasks))
        self._values: dict[str, dict[str, Array]] = {}

    def add(self, task_id: str, agents: Mapping[str, Sequence[Attempt]]) -> None:
        """Redraw one task for all its agents, each with its attempts; their mean is the agent's value.

        Draws belong to a task's set of workloads: attempts that have the same one share them, in whatever order agents
        and workloads are given, and those that have another one change nothing about them.
        """
        found: dict[str, list[Array]] = {}
        same: dict[tuple[str, ...], list[tuple[str, Attempt]]] = {}
        for agent, attempt in ((agent, attempt) for agent, mine in agents.items() for attempt in mine if attempt):
            known = sorted(attempt, key=lambda each: each.workload)
            same.setdefault(tuple(each.workload for each in known), []).append((agent, known))
        for names, group in sorted(same.items()):
            rng = np.random.default_rng([self._seed, *(zlib.crc32(name.encode()) for name in (task_id, *names))])
            drawn = self._redraw([attempt for _, attempt in group], rng)
            for (agent, _), values in zip(group, drawn, strict=True):
                found.setdefault(agent, []).append(values)
        for agent, values_of in found.items():
            self._values.setdefault(agent, {})[task_id] = np.mean(values_of, axis=0)

    def tasks(self, agent: str) -> tuple[str, ...]:
        """The tasks on which an agent has a value."""
        return tuple(self._values.get(agent, ()))

    def intervals(self, agent: str, tasks: Iterable[str] | None = None) -> AgentIntervals:
        """Of an agent's means over its tasks, or over those of them that are named."""
        mine = self._chosen(self._values.get(agent, {}), tasks)
        if not mine:
            return AgentIntervals()
        resampler = self._resampler(len(mine))
        columns = np.stack(mine, axis=1)
        found = {name: Interval(*resampler.ends(columns[at])) for at, name in enumerate(QUANTITIES)}
        return AgentIntervals(found)

    def difference(
        self, first: str, second: str, quantity: str = "overall", tasks: Iterable[str] | None = None
    ) -> Interval | None:
        """Of the mean difference between two agents over the tasks that both have; None where they share none."""
        mine, others = self._values.get(first, {}), self._values.get(second, {})
        at = QUANTITIES.index(quantity)
        both = {task: values[at] - others[task][at] for task, values in mine.items() if task in others}
        chosen = self._chosen(both, tasks)
        return Interval(*self._resampler(len(chosen)).ends(np.stack(chosen))) if chosen else None

    def cost_weighted(self, agent: str, costs: Mapping[str, float]) -> Interval | None:
        """Of mean advantage / mean cost over the tasks that have both; None where there is none or nothing was paid.

        Resamples that draw nothing but tasks that cost nothing have no value.
        """
        at = QUANTITIES.index("overall")
        mine = {task: values[at] for task, values in self._values.get(agent, {}).items() if task in costs}
        if not any(costs[task] > 0.0 for task in mine):
            return None
        paid = np.array([costs[task] for task in mine])[:, None] + np.zeros(self._redraws)
        resampler = self._resampler(len(mine))
        gained, spent = resampler.means(np.stack(list(mine.values()))), resampler.means(paid)
        return Interval(*ends(gained[spent > 0.0] / spent[spent > 0.0], groups=len(mine)))

    def over_tasks(self, values: Mapping[str, float]) -> Interval | None:
        """Of the mean over tasks of which one value each is known; None for one alone, which shows no scatter."""
        if len(values) < 2:
            return None
        found = np.array(list(values.values()))[:, None] + np.zeros(self._redraws)
        return Interval(*self._resampler(len(values)).ends(found))

    @staticmethod
    def _chosen(values: Mapping[str, Array], tasks: Iterable[str] | None) -> list[Array]:
        if tasks is None:
            return list(values.values())
        wanted = set(tasks)
        return [value for task, value in values.items() if task in wanted]

    def _resampler(self, groups: int) -> Resampler:
        return Resampler(groups, self._redraws, seed=self._seed, resamples=self._resamples)

    def _redraw(self, attempts: Sequence[Attempt], rng: np.random.Generator) -> list[Array]:
        """(quantities, redraws) of each attempt; all have the same workloads."""
        layout = _Layout.of([each.workload for each in attempts[0]])
        sides, agents, experts = _sides(attempts, layout.order)
        size = len(sides) * len(layout.order)
        pool = max(
            FEWEST_POOLED, min(self._redraws, POOLED_AT_ONCE // size, POOLED // (size * self._n_tasks), self._resamples)
        )
        medians = pooled_medians([cell for side in sides for cell in side], pool, rng)
        measured_worst = np.exp([min(map(statistics.median, side)) for side in sides])
        drawn = _Drawn(medians.reshape(len(sides), -1), measured_worst, pool, self._redraws, rng)
        return _quantities(drawn, layout, agents, experts)


@dataclass(frozen=True, slots=True)
class _Layout:
    """`order`: the workloads so that each group of each level stands together; `sizes`: how many are in each group."""

    order: tuple[int, ...]
    sizes: Mapping[Level, tuple[int, ...]]

    @classmethod
    def of(cls, names: Sequence[str]) -> "_Layout":
        keys = [group_keys(name) for name in names]
        parts = [(*(part or "" for part in key["function"]), name) for key, name in zip(keys, names, strict=True)]
        order = tuple(sorted(range(len(names)), key=parts.__getitem__))
        return cls(order, {level: tuple(Counter(keys[at][level] for at in order).values()) for level in LEVELS})


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Draws what a task consists of, the same for all sides.

    `medians` is (sides, workloads * pool): of each workload's rounds, in the layout's order, `pool` redraws.
    `measured_worst` is (sides,): the ratio of the worst workload, of the rounds as they are.
    """

    medians: Array
    measured_worst: Array
    pool: int
    redraws: int
    rng: np.random.Generator

    def workloads(self) -> Array:
        """The ln ratios (sides, redraws, drawn workloads)."""
        return self._of(self.medians)

    def groups(self, sizes: Sequence[int]) -> Array:
        """The geometric means (sides, redraws, drawn groups), each of a pool of redraws of its group's workloads."""
        each, starts = np.array(sizes), np.append(0, np.cumsum(sizes)[:-1])
        inside = np.repeat(each, each)[:, None] * self.pool
        picks = self.rng.integers(0, inside, size=(len(inside), self.pool))
        picks += np.repeat(starts, each)[:, None] * self.pool
        sums = np.add.reduceat(np.take(self.medians, picks, axis=1), starts, axis=1)
        return self._of(np.exp(sums / each[:, None]).reshape(len(sums), -1))

    def worst(self) -> Array:
        """The worst ratios (sides, redraws), of all workloads with their rounds redrawn.

        The least of many values that scatter is below the least of what they scatter about, and redraws are once more
        below what was measured, in each task. That would not average out: only their scatter is taken.
        """
        pooled = self.medians.reshape(len(self.medians), -1, self.pool)
        turns = self.rng.permuted(np.tile(np.arange(self.pool), (pooled.shape[1], 1)), axis=1)
        pool = np.exp(np.take_along_axis(pooled, turns[None], axis=2).min(axis=1))
        drawn = pool[:, self.rng.integers(0, self.pool, size=self.redraws)]
        found: Array = drawn * (self.measured_worst / drawn.mean(axis=1))[:, None]
        return found

    def _of(self, pooled: Array) -> Array:
        """Of things that have `pool` redraws each (sides, things * pool), as many drawn with replacement."""
        n = pooled.shape[1] // self.pool
        picks = self.rng.integers(0, pooled.shape[1], size=(self.redraws, n))
        found: Array = np.take(pooled, picks, axis=1)
        return found


def _sides(
    attempts: Sequence[Attempt], order: Sequence[int]
) -> tuple[list[list[Sequence[float]]], list[int], list[int]]:
    """The different arms, each a list of its workloads' rounds, and which of them are each attempt's two."""
    sides: list[list[Sequence[float]]] = []
    agents, experts = [], []
    known: dict[tuple[tuple[float, ...], ...], int] = {}
    for attempt in attempts:
        agents.append(len(sides))
        sides.append([attempt[at].agent for at in order])
        expert = [attempt[at].expert for at in order]
        key = tuple(map(tuple, expert))
        if key not in known:
            known[key] = len(sides)
            sides.append(expert)
        experts.append(known[key])
    return sides, agents, experts


def _quantities(drawn: _Drawn, layout: _Layout, agents: Sequence[int], experts: Sequence[int]) -> list[Array]:
    """Each attempt's quantities in every redraw."""
    logs = drawn.workloads()
    mean = logs.mean(axis=2)
    speedup = np.exp(mean)
    known = {layout.sizes["param"]: np.exp(logs).mean(axis=2), layout.sizes["overall"]: speedup}
    for sizes in layout.sizes.values():
        if sizes not in known:
            known[sizes] = drawn.groups(sizes).mean(axis=2)
    levels = [known[layout.sizes[level]] for level in LEVELS]
    worst = drawn.worst()
    return [
        np.stack(
            [
                speedup[agent],
                speedup[expert],
                worst[agent],
                worst[expert],
                mean[agent] - mean[expert],
                *(value[agent] - value[expert] for value in levels),
            ]
        )
        for agent, expert in zip(agents, experts, strict=True)
    ]
