"""A run's tables on the terminal; every text from a run folder is printed as text, never as markup."""

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from datasmith.cli.common import one_line
from datasmith.evaluation.html import interval, percent, ratio, seconds, signed
from datasmith.evaluation.report import Report, TrialRow
from datasmith.metrics.levels import LEVELS

WIDTH = 130
"""Columns where standard output is no terminal."""


def print_report(report: Report, page: Path, console: Console | None = None) -> None:
    """Print agents, levels, trials, control and cost to standard output."""
    out = console or Console(highlight=False)
    if not out.is_terminal:
        out.width = WIDTH
    for table in (_agents(report), _levels(report), _trials(report)):
        out.print(table)
    control, cost = report.control, report.cost
    for line in (
        f"A/A false positives: {control.said}; median interval half-width ±{percent(control.half_width, 2)}",
        f"measuring: {cost.launches} launches, {seconds(cost.wall_s)} wall, {seconds(cost.cpu_s)} cpu, "
        f"{percent(cost.overhead_share)} outside timed calls",
        f"{report.n_complete} of {report.n_expected} trials complete; page: {page}",
    ):
        out.print(Text(line), soft_wrap=True)


def _agents(report: Report) -> Table:
    table = Table(title=f"{report.run.run_id}: agents (failed trials: {report.policy})", title_justify="left")
    table.add_column("agent")
    for name in ("speedup", "expert", "advantage", "scored"):
        table.add_column(name, justify="right")
    table.add_column("outcomes")
    for agent in report.agents:
        means = agent.means
        cells = (
            agent.agent,
            f"{ratio(means.speedup.value)} {interval(agent.intervals.speedup)}",
            ratio(means.expert_speedup.value),
            f"{signed(means.advantage.value)} {interval(agent.intervals.at('overall'), 3, sign=True)}",
            f"{agent.n_scored} of {len(report.run.config.task_ids)}",
            ", ".join(f"{name} {count}" for name, count in sorted(agent.outcomes.items())),
        )
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _levels(report: Report) -> Table:
    table = Table(title="advantage per level", title_justify="left")
    table.add_column("agent")
    levels = LEVELS[-2::-1]
    for level in levels:
        table.add_column(level, justify="right")
    for agent in report.agents:
        cells = [
            f"{signed(agent.means.by_level[level].value)} {interval(agent.intervals.at(level), 3, sign=True)}"
            for level in levels
        ]
        table.add_row(Text(agent.agent), *(Text(cell) for cell in cells))
    return table


def _trials(report: Report) -> Table:
    table = Table(title="trials", title_justify="left")
    for name in ("task", "agent", "n", "outcome", "reason"):
        table.add_column(name)
    for name in ("speedup", "advantage"):
        table.add_column(name, justify="right")
    for row in report.trials:
        table.add_row(*_trial_cells(row))
    return table


def _trial_cells(row: TrialRow) -> list[Text]:
    record, score = row.record, row.score
    cells = [
        record.task_id,
        record.agent,
        str(record.attempt),
        record.outcome,
        one_line(record.reason or "")[:60],
        ratio(score.speedup if score else None),
        signed(score.advantage if score else None),
    ]
    return [Text(one_line(cell)) for cell in cells]
