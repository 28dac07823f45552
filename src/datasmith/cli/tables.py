"""A run's tables on the terminal; every text from a run folder is printed as text, never as markup."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from datasmith.cli.common import one_line
from datasmith.cli.sheet import Column, Sheet, output
from datasmith.evaluation.html import interval, percent, ratio, seconds, signed
from datasmith.evaluation.report import Report, TrialRow
from datasmith.metrics.levels import LEVELS


def print_report(report: Report, page: Path, console: Console | None = None) -> None:
    """Print agents, levels, trials, control and cost to standard output."""
    out = output(console)
    for sheet in (_agents(report), _levels(report), _trials(report)):
        sheet.show(out)
    control, cost = report.control, report.cost
    for line in (
        f"A/A false positives: {control.said}; median interval half-width ±{percent(control.half_width, 2)}",
        f"measuring: {cost.launches} launches, {seconds(cost.wall_s)} wall, {seconds(cost.cpu_s)} cpu, "
        f"{percent(cost.overhead_share)} outside timed calls",
    ):
        out.print(Text(line), soft_wrap=not out.is_terminal)
    page_line = f"{report.n_complete} of {report.n_expected} trials complete; page: {page}"
    out.print(Text(page_line), soft_wrap=True)  # a path that a terminal breaks by itself can be copied


def _agents(report: Report) -> Sheet:
    numbers = [Column(name, right=True) for name in ("speedup", "expert", "advantage", "scored")]
    columns = (Column("agent"), *numbers, Column("outcomes", wraps=True))
    sheet = Sheet(f"{report.run.run_id}: agents (failed trials: {report.policy})", columns)
    for agent in report.agents:
        means = agent.means
        sheet.add(
            agent.agent,
            f"{ratio(means.speedup.value)} {interval(agent.intervals.speedup)}",
            ratio(means.expert_speedup.value),
            f"{signed(means.advantage.value)} {interval(agent.intervals.at('overall'), 3, sign=True)}",
            f"{agent.n_scored} of {len(report.run.config.task_ids)}",
            ", ".join(f"{name} {count}" for name, count in sorted(agent.outcomes.items())),
        )
    return sheet


def _levels(report: Report) -> Sheet:
    levels = LEVELS[-2::-1]
    sheet = Sheet("advantage per level", (Column("agent"), *(Column(level, right=True) for level in levels)))
    for agent in report.agents:
        cells = [
            f"{signed(agent.means.by_level[level].value)} {interval(agent.intervals.at(level), 3, sign=True)}"
            for level in levels
        ]
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
        one_line(record.reason or "")[:60],
        ratio(score.speedup if score else None),
        signed(score.advantage if score else None),
    ]
