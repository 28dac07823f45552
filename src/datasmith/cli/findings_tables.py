"""Tables of fc-eval findings and compare on the terminal."""

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.text import Text

from datasmith.cli.sheet import NOTHING, Column, Sheet, output
from datasmith.cli.tables import (
    agents_sheet,
    cost_sheets,
    levels_sheet,
    order_sheets,
    ratio_with_interval,
    titled,
    told_uneven,
    warnings,
    with_interval,
)
from datasmith.evaluation.compare import VERDICTS, Comparison
from datasmith.evaluation.findings import Findings, Slice
from datasmith.evaluation.gather import Gathered
from datasmith.evaluation.html import signed
from datasmith.evaluation.outcome import named
from datasmith.evaluation.published import Published, name_of

MOST_TASKS = 20
"""So many tasks of a comparison are shown; JSON has all."""


def print_findings(found: Findings, console: Console | None = None) -> None:
    """The seven analyses one below the other, then what is missing from them and what must be known."""
    out = output(console)
    board, policy = found.board, found.gathered.policy
    of = ", ".join(found.gathered.names)
    stars = {name: f"{name} ({low:,} to {high:,} stars)" for name, (low, high) in found.stars.items()}
    for sheet in (
        agents_sheet(board, of, policy, found.gathered.n_tasks),
        *order_sheets(board, policy),
        levels_sheet(board, policy),
        _slices(titled("advantage by the expert's strategy", policy), "strategy", found.tags, {}),
        _slices(titled("advantage by popularity of the repository", policy), "quintile", found.quintiles, stars),
        *cost_sheets(board, policy, everything=True),
        _worst(found),
        _slices(titled("by months between the model's cutoff and the merge", policy), "months", found.bins, {}),
    ):
        sheet.show(out)
    for line in (*_notes(found), *warnings(board)):
        out.print(Text(line), soft_wrap=not out.is_terminal)


def _slices(title: str, what: str, slices: Iterable[Slice], names: Mapping[str, str]) -> Sheet:
    numbers = [Column(name, right=True) for name in ("advantage", "speedup", "expert", "n")]
    sheet = Sheet(title, (Column(what), Column("agent"), *numbers), keys=2)
    for each in slices:
        sheet.add(
            names.get(each.name, each.name),
            each.agent,
            with_interval(each.means.advantage.value, each.intervals.at("overall")),
            ratio_with_interval(each.means.speedup.value, each.intervals.speedup),
            ratio_with_interval(each.means.expert_speedup.value, each.intervals.expert_speedup),
            str(each.means.advantage.n),
        )
    return sheet


def _worst(found: Findings) -> Sheet:
    names = ("speedup", "worst workload", "expert", "expert's worst", "n")
    title = titled("global speedup against the worst workload", found.gathered.policy)
    sheet = Sheet(title, (Column("agent"), *(Column(name, right=True) for name in names)))
    for row in found.worst:
        sheet.add(
            row.agent,
            ratio_with_interval(row.speedup.value, row.speedup_interval),
            ratio_with_interval(row.worst.value, row.worst_interval),
            ratio_with_interval(row.expert.value, row.expert_interval),
            ratio_with_interval(row.expert_worst.value, row.expert_worst_interval),
            str(row.worst.n),
        )
    return sheet


def _notes(found: Findings) -> list[str]:
    missing, tasks = found.missing, len(found.board.tasks)
    notes = [
        f"{count} of {tasks} tasks have no {what}{hint}: left out there"
        for count, what, hint in (
            (missing.category, "strategy", ""),
            (missing.stars, "stars", " (give --stars FILE)"),
            (missing.merged_at, "merge date", ""),
        )
        if count
    ]
    if missing.cutoffs:
        notes.append(f"no knowledge cutoff known (give --cutoffs FILE): {', '.join(missing.cutoffs)}")
    elif not found.cutoffs:
        notes.append("no configuration has a model, and so a knowledge cutoff: there are no months to count")
    if missing.unmatched:
        notes.append(f"no model of these runs is meant by these entries of --cutoffs: {', '.join(missing.unmatched)}")
    if missing.unmatched_stars:
        notes.append(f"no task of these runs is meant by these entries of --stars: {named(missing.unmatched_stars)}")
    if not found.gathered.one_machine:
        notes.append("warning: not all was measured on one machine")
    return [*notes, *_mixed(found.gathered)]


def _mixed(found: Gathered | Comparison) -> list[str]:
    """What has to be known where runs are not of the same tasks, not configured alike, or not of whole suites."""
    unlike, differing = found.unlike, found.differing
    what = "tasks whose files or measured workloads are not the same in all runs"
    lines = [f"left out: {len(unlike)} {what}: {named(unlike)}"]
    told = [f"warning: the runs are configured differently: {'; '.join(differing)}"]
    scopes = [f"note: {run}: {label}" for run, label in found.scopes.items()]
    return [*scopes, *(lines if unlike else []), *(told if differing else [])]


def print_comparison(found: Comparison, console: Console | None = None) -> None:
    """The mean difference, wins and losses, the tasks that differ most, and whether one is a copy of the other."""
    out = output(console)
    names = ("advantage", "log advantage", "shared tasks", "win", "tie", "loss")
    title = titled(f"{found.first} less {found.second}", found.policy, order="")
    sheet = Sheet(title, tuple(Column(name, right=True) for name in names), keys=0)
    sheet.add(
        with_interval(found.advantage.value, found.interval),
        with_interval(found.log_advantage.value, found.log_interval),
        str(found.advantage.n),
        *(str(found.count(verdict)) for verdict in VERDICTS),
    )
    sheet.show(out)
    _task_differences(found).show(out)
    lines = [found.said]
    if found.only_first or found.only_second:
        lines.append(
            f"left out: {found.only_first} tasks that only {found.first} has, {found.only_second} of the other"
        )
    if found.duplicate:
        copy = ": one is a copy of the other" if found.duplicate.complete else ""
        lines.append(f"warning: equal times on {found.duplicate.equal} of {found.duplicate.shared} tasks{copy}")
    if not found.one_machine:
        lines.append("warning: the two were not measured on the same machines")
    lines += told_uneven(found.uneven)
    for line in (*lines, *_mixed(found)):
        out.print(Text(line), soft_wrap=not out.is_terminal)


def _task_differences(found: Comparison) -> Sheet:
    shown = sorted(found.tasks, key=lambda task: (task.verdict == "tie", -abs(task.value)))[:MOST_TASKS]
    what = (
        "tasks" if len(shown) == len(found.tasks) else f"the {len(shown)} of {len(found.tasks)} tasks that differ most"
    )
    title = titled(what, found.policy, "ties last, then by the difference")
    names = ("first", "second", "difference")
    sheet = Sheet(title, (Column("task"), *(Column(name, right=True) for name in names), Column("")))
    for task in shown:
        ends = with_interval(task.value, task.interval)
        sheet.add(task.task_id, signed(task.first), signed(task.second), ends, task.verdict)
    return sheet


def print_published(found: Published, console: Console | None = None) -> None:
    """Each figure beside the published one, and the ranks that are not held against each other."""
    out = output(console)
    numbers = [Column(name, right=True) for name in ("ours", "published", "difference")]
    sheet = Sheet("published figures (speedups: failed tasks at 1.0)", (Column("figure"), *numbers, Column("note")))
    for figure in found.figures:
        difference = "" if figure.difference is None else f"{figure.difference:.1e}"
        note = figure.note if figure.agrees else f"DIFFERS {figure.note}"
        sheet.add(figure.name, _shown(figure.ours), _shown(figure.published), difference, note)
    sheet.show(out)
    ranks = Sheet(
        "Ranked Pairs over these rows (not compared)",
        (Column("configuration"), Column("ours", right=True), Column("published", right=True)),
    )
    for code, (ours, published) in sorted(found.ranks.items(), key=lambda item: item[1]):
        ranks.add(f"{code} {name_of(code)}", str(ours), str(published))
    ranks.show(out)
    undecided = Sheet("published, and not decided by these files", (Column("figures"), Column("why")))
    for name, why in found.undecided:
        undecided.add(name, why)
    undecided.show(out)
    agree = len(found.figures) - len(found.wrong)
    out.print(Text(f"{agree} of {len(found.figures)} figures agree to 1e-12"))


def _shown(value: float | str | None) -> str:
    if value is None:
        return NOTHING
    return value if isinstance(value, str) else f"{value:.15g}"
