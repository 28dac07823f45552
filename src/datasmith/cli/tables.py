"""A run's tables on the terminal; every text from a run folder is printed as text, never as markup."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from datasmith.cli.common import brief
from datasmith.cli.sheet import NOTHING, Column, Sheet, output
from datasmith.evaluation.board import AgentReport, Board
from datasmith.evaluation.html import half_width, interval, percent, ratio, seconds, signed
from datasmith.evaluation.reference import ReferenceReport
from datasmith.evaluation.report import Report
from datasmith.evaluation.rows import TrialRow
from datasmith.metrics.compat import NUMBERED
from datasmith.metrics.integrity import Duplicate
from datasmith.metrics.levels import LEVELS
from datasmith.metrics.ranking import RULES
from datasmith.metrics.score import Interval

_REASON_CHARS = 120
"""So much of a reason is shown; trial.json has all of it."""


def print_report(report: Report, page: Path | None, console: Console | None = None) -> None:
    """Print agents, levels, orders, cost, trials, control and measuring to standard output, and where the page is."""
    out = output(console)
    board, config = report.board, report.run.config
    agents = agents_sheet(board, report.run.run_id, report.policy, len(config.task_ids))
    for sheet in (agents, levels_sheet(board), *order_sheets(board), *cost_sheets(board), _trials(report)):
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
    title = "by the reference's definitions (L1 module, L2 class, L3 function, L4 overall; workloads called changed)"
    sheet = Sheet(title, (Column("agent"), *(Column(name, right=True) for name in names)))
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


def agents_sheet(board: Board, of: str, policy: str, n_tasks: int) -> Sheet:
    """The leaderboard: rank, means with intervals, n, and how the trials ended."""
    numbers = [Column(name, right=True) for name in ("speedup", "expert", "advantage")]
    columns = (Column("rank"), Column("agent"), *numbers, Column("scored", right=True), Column("outcomes", wraps=True))
    title = f"{of}: agents by Ranked Pairs (failed trials: {policy}; a shared letter is a tie)"
    sheet = Sheet(title, columns, keys=2)
    for agent in board.ranked:
        means = agent.means
        sheet.add(
            place(agent),
            agent.agent,
            f"{ratio(means.speedup.value)} {interval(agent.intervals.speedup)}",
            ratio(means.expert_speedup.value),
            with_interval(means.advantage.value, agent.intervals.at("overall")),
            f"{agent.n_scored} of {n_tasks}",
            ", ".join(f"{name} {count}" for name, count in sorted(agent.outcomes.items())),
        )
    return sheet


def with_interval(value: float | None, ends: Interval | None) -> str:
    """A difference with its interval behind it."""
    return f"{signed(value)} {interval(ends, 3, sign=True)}".strip()


def place(agent: AgentReport) -> str:
    """Rank and tie group, as in `2 ab`."""
    return NOTHING if agent.rank is None else f"{agent.rank} {agent.tie_group}"


def order_sheets(board: Board) -> list[Sheet]:
    """The ranks under every rule, where there is somebody to be ranked against."""
    if sum(agent.rank is not None for agent in board.agents) < 2:
        return []
    agreed = percent(board.stability.agreement, 0)
    title = f"ranks under {len(RULES)} rules: all agree on {agreed} of the pairs of agents"
    columns = (Column("agent"), *(Column(rule, right=True) for rule in (*RULES, "ten heaviest tasks")))
    sheet = Sheet(title, columns)
    for agent in board.ranked:
        ranks = [board.stability.ranks[rule].get(agent.agent) for rule in RULES]
        cells = [NOTHING if rank is None else str(rank) for rank in ranks]
        sheet.add(agent.agent, *cells, percent(agent.heaviest, 0))
    return [sheet]


def cost_sheets(board: Board) -> list[Sheet]:
    """What was spent, where that is known of any agent; and pass@k where there were attempts enough."""
    known = any(agent.cost.mean_usd is not None for agent in board.agents)
    ks = sorted({k for agent in board.agents for k in agent.pass_at})
    if not (known or ks):
        return []
    names = ("USD per task", "n", "advantage per USD", "Pareto", *(f"pass@{k}" for k in ks))
    sheet = Sheet("cost", (Column("agent"), *(Column(name, right=True) for name in names)))
    for agent in board.ranked:
        passed = [percent(agent.pass_at[k].value) if k in agent.pass_at else NOTHING for k in ks]
        sheet.add(agent.agent, *cost_cells(agent), *passed)
    return [sheet]


def cost_cells(agent: AgentReport) -> tuple[str, str, str, str]:
    """US dollars per task, of how many, advantage per dollar, and whether nobody is cheaper and better."""
    cost = agent.cost
    weighted = with_interval(cost.weighted, cost.weighted_interval)
    front = {True: "yes", False: "no", None: NOTHING}[cost.pareto]
    paid = "unknown" if cost.mean_usd is None else f"{cost.mean_usd:.4f} {_dollars(cost.mean_interval)}".strip()
    return paid, str(cost.n), weighted, front


def _dollars(ends: Interval | None) -> str:
    return f"[{ends.low:.4f}, {ends.high:.4f}]" if ends else ""


def warnings(board: Board) -> list[str]:
    """What must be known before the ranks are believed."""
    return [
        f"warning: {_whose(each)} have equal times on {each.equal} of {each.shared} tasks{each.meaning}"
        for each in board.duplicates
    ]


def _whose(each: Duplicate) -> str:
    """Two agents, or one whose attempts are equal: of a run that was given under two names, for example."""
    return f"two attempts of {each.first}" if each.first == each.second else f"{each.first} and {each.second}"


def levels_sheet(board: Board) -> Sheet:
    """Advantage per level; without `param`: four columns with intervals are wider than most terminals."""
    levels = LEVELS[-2:0:-1]
    sheet = Sheet("advantage per level", (Column("agent"), *(Column(level, right=True) for level in levels)))
    for agent in board.ranked:
        cells = [with_interval(agent.means.by_level[level].value, agent.intervals.at(level)) for level in levels]
        sheet.add(agent.agent, *cells)
    return sheet


def _trials(report: Report) -> Sheet:
    names = [Column(name) for name in ("task", "agent", "n", "outcome")]
    numbers = [Column(name, right=True) for name in ("speedup", "advantage")]
    sheet = Sheet("trials", (*names, Column("reason", wraps=True), *numbers), keys=3)
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
        ratio(score.speedup if score else None),
        signed(score.advantage if score else None),
    ]
