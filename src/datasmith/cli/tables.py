"""A run's tables on the terminal; every text from a run folder is printed as text, never as markup."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from datasmith.cli.common import brief
from datasmith.cli.sheet import NOTHING, Column, Sheet, output
from datasmith.counted import counted
from datasmith.evaluation.board import AgentReport, Board
from datasmith.evaluation.html import half_width, interval, percent, ratio, seconds, signed
from datasmith.evaluation.outcome import named
from datasmith.evaluation.reference import ReferenceReport
from datasmith.evaluation.report import Report
from datasmith.evaluation.rows import TrialRow
from datasmith.metrics.compat import NUMBERED
from datasmith.metrics.integrity import Duplicate
from datasmith.metrics.levels import LEVELS
from datasmith.metrics.ranking import RULES
from datasmith.metrics.score import Interval
from datasmith.stats.nested import FEWEST_GROUPS

_REASON_CHARS = 120
"""So much of a reason is shown; trial.json has all of it."""


def print_report(report: Report, page: Path | None, console: Console | None = None) -> None:
    """Print agents, levels, orders, cost, trials, control and measuring to standard output, and where the page is."""
    out = output(console)
    board, config = report.board, report.run.config
    policy = report.policy
    for sheet in (
        agents_sheet(board, report.run.run_id, policy, len(config.task_ids)),
        levels_sheet(board, policy),
        *order_sheets(board, policy),
        *cost_sheets(board, policy),
        _trials(report),
    ):
        sheet.show(out)
    control, cost = report.control, report.cost
    for line in (
        *warnings(report.board),
        *(f"warning: {text}" for text in (report.left_out, report.unmeasured) if text),
        *([report.scope] if report.scope else []),
        f"A/A false positives: {control.said}; median interval half-width {half_width(control.half_width)}",
        f"measuring: {cost.launches} launches, {seconds(cost.wall_s)} wall, {seconds(cost.cpu_s)} cpu, "
        f"{percent(cost.overhead_share)} outside timed calls",
    ):
        out.print(Text(line), soft_wrap=not out.is_terminal)
    for session in report.sessions:
        if session.host:
            out.print(Text(f"host, {session.task_id}: {session.host.said}"), soft_wrap=not out.is_terminal)
    # A path that a terminal breaks by itself can be copied.
    out.print(Text(f"{report.progress}; page: {page or 'none'}"), soft_wrap=True)


def print_reference(agents: Sequence[ReferenceReport], console: Console | None = None) -> None:
    """The run by the reference's definitions, which is what its published figures can be held against."""
    out = output(console)
    names = ("speedup", *NUMBERED, "geometric", "per USD", "n", "asv", "ours", "of")
    what = "by the reference's definitions: L1 module, L2 class, L3 function, L4 overall; workloads called changed"
    sheet = Sheet(
        titled(what, "at 1.0", "agents as configured"), (Column("agent"), *(Column(name, right=True) for name in names))
    )
    for each in agents:
        sheet.add(
            each.agent,
            ratio(each.speedup),
            *(signed(each.levels[number]) for number in NUMBERED),
            signed(each.geometric),
            signed(each.cost_weighted),
            *map(str, (each.n, each.asv_changed, each.changed, each.workloads)),
        )
    sheet.show(out)


def titled(what: str, policy: str, order: str = "agents by Ranked Pairs") -> str:
    """A table's title: what it holds, what failed trials count there, and the order of its rows, if it has several."""
    return f"{what} (failed trials: {'; '.join(filter(None, (policy, order)))})"


def agents_sheet(board: Board, of: str, policy: str, n_tasks: int) -> Sheet:
    """The leaderboard: rank, means with intervals, n, and how the trials ended."""
    numbers = [Column(name, right=True) for name in ("speedup", "expert", "advantage")]
    columns = (Column("rank"), Column("agent"), *numbers, Column("scored", right=True), Column("outcomes", wraps=True))
    tie = f"a shared letter is a tie, as it is for all of fewer than {FEWEST_GROUPS} tasks"
    title = titled(f"{of}: agents by Ranked Pairs", policy, tie)
    sheet = Sheet(title, columns, keys=2)
    for agent in board.ranked:
        means = agent.means
        sheet.add(
            place(agent),
            agent.agent,
            ratio_with_interval(means.speedup.value, agent.intervals.speedup),
            ratio_with_interval(means.expert_speedup.value, agent.intervals.expert_speedup),
            with_interval(means.advantage.value, agent.intervals.at("overall")),
            f"{agent.n_scored} of {n_tasks}",
            ", ".join(f"{name} {count}" for name, count in sorted(agent.outcomes.items())),
        )
    return sheet


def with_interval(value: float | None, ends: Interval | None) -> str:
    """A difference with its interval behind it."""
    return f"{signed(value)} {interval(ends, 3, sign=True)}".strip()


def ratio_with_interval(value: float | None, ends: Interval | None) -> str:
    """A speedup with its interval behind it."""
    return f"{ratio(value)} {interval(ends)}".strip()


def place(agent: AgentReport) -> str:
    """Rank and tie group, as in `2 ab`."""
    return NOTHING if agent.rank is None else f"{agent.rank} {agent.tie_group}"


def order_sheets(board: Board, policy: str) -> list[Sheet]:
    """The ranks under every rule, where there is somebody to be ranked against."""
    if sum(agent.rank is not None for agent in board.agents) < 2:
        return []
    agreed = percent(board.stability.agreement, 0)
    title = titled(f"ranks under {len(RULES)} rules: all agree on {agreed} of the pairs of agents", policy)
    columns = (Column("agent"), *(Column(rule, right=True) for rule in (*RULES, "ten heaviest tasks")))
    sheet = Sheet(title, columns)
    for agent in board.ranked:
        ranks = [board.stability.ranks[rule].get(agent.agent) for rule in RULES]
        cells = [NOTHING if rank is None else str(rank) for rank in ranks]
        sheet.add(agent.agent, *cells, percent(agent.heaviest, 0))
    return [sheet]


def cost_sheets(board: Board, policy: str, *, everything: bool = False) -> list[Sheet]:
    """What was spent, with `everything` also where nobody knows; and pass@k where there were attempts enough."""
    known = everything or any(agent.cost.mean_usd is not None for agent in board.agents)
    ks = sorted({k for agent in board.agents for k in agent.pass_at})
    return [*([_cost(board, policy)] if known else []), *([_passed(board, policy, ks)] if ks else [])]


def _cost(board: Board, policy: str) -> Sheet:
    names = ("USD per task", "n", "advantage per USD", "scored", "Pareto")
    sheet = Sheet(titled("cost", policy), (Column("agent"), *(Column(name, right=True) for name in names)))
    for agent in board.ranked:
        sheet.add(agent.agent, *_cost_cells(agent))
    return sheet


def _passed(board: Board, policy: str, ks: Sequence[int]) -> Sheet:
    names = [name for k in ks for name in (f"pass@{k}", "n")]
    sheet = Sheet(titled("pass@k", policy), (Column("agent"), *(Column(name, right=True) for name in names)))
    for agent in board.ranked:
        sheet.add(agent.agent, *(cell for k in ks for cell in _passed_cells(agent, k)))
    return sheet


def _passed_cells(agent: AgentReport, k: int) -> tuple[str, str]:
    """The chance that one of k attempts succeeds, and over how many tasks."""
    if k not in agent.pass_at:
        return NOTHING, NOTHING
    found, ends = agent.pass_at[k], agent.pass_intervals[k]
    between = f"[{percent(ends.low)}, {percent(ends.high)}]" if ends else ""
    return f"{percent(found.value)} {between}".strip(), str(found.n)


def _cost_cells(agent: AgentReport) -> tuple[str, str, str, str, str]:
    """US dollars per task, of how many, advantage per dollar, of how many, and whether nobody is cheaper and better."""
    cost = agent.cost
    weighted = with_interval(cost.weighted, cost.weighted_interval)
    front = {True: "yes", False: "no", None: NOTHING}[cost.pareto]
    paid = "unknown" if cost.mean_usd is None else f"{cost.mean_usd:.4f} {_dollars(cost.mean_interval)}".strip()
    return paid, str(cost.n), weighted, str(agent.n_scored), front


def _dollars(ends: Interval | None) -> str:
    return f"[{ends.low:.4f}, {ends.high:.4f}]" if ends else ""


def warnings(board: Board) -> list[str]:
    """What must be known before the ranks are believed."""
    return [
        *(
            f"warning: {_whose(each)} have equal times on {each.equal} of {each.shared} tasks{each.meaning}"
            for each in board.duplicates
        ),
        *told_uneven(board.uneven()),
    ]


def told_uneven(tasks: Sequence[str]) -> list[str]:
    """That what agents are compared by is not the same workloads everywhere; nothing where it is."""
    said = "where agents count over different workloads, as not all had a time in each arm"
    return [f"warning: {counted(len(tasks), 'task')} {said}: {named(tasks)}"] if tasks else []


def _whose(each: Duplicate) -> str:
    """Two agents, or one whose attempts are equal: of a run that was given under two names, for example."""
    return f"two attempts of {each.first}" if each.first == each.second else f"{each.first} and {each.second}"


def levels_sheet(board: Board, policy: str) -> Sheet:
    """Advantage per level; without `param`: four columns with intervals are wider than most terminals."""
    levels = LEVELS[-2:0:-1]
    columns = (Column("agent"), *(Column(name, right=True) for name in (*levels, "n")))
    sheet = Sheet(titled("advantage per level", policy), columns)
    for agent in board.ranked:
        cells = [with_interval(agent.means.by_level[level].value, agent.intervals.at(level)) for level in levels]
        sheet.add(agent.agent, *cells, str(agent.n_scored))
    return sheet


def _trials(report: Report) -> Sheet:
    names = [Column(name) for name in ("task", "agent", "n", "outcome")]
    numbers = [Column(name, right=True) for name in ("speedup", "advantage")]
    title = titled("trials", report.policy, "by task, agent and attempt n")
    sheet = Sheet(title, (*names, Column("reason", wraps=True), *numbers), keys=3)
    for row in report.trials:
        sheet.add(*_trial_cells(row))
    return sheet


def _trial_cells(row: TrialRow) -> list[str]:
    record, score = row.record, row.score
    return [
        record.task_id,
        record.agent,
        str(record.attempt),
        record.outcome,
        brief(record.reason or "", _REASON_CHARS),
        ratio_with_interval(score.speedup if score else None, row.speedup_interval),
        signed(score.advantage if score else None),
    ]
