"""fc-data status: how far a window is, how fast it goes, what waits, what failed, and who works on it."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from datasmith.cli.document import document
from datasmith.cli.options import End, Json, ResultsDir, Start, results_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from datasmith.cli.sheet import Sheet
    from datasmith.runners.status import Status

_PLURALS = {"repository": "repositories", "pull_request": "pull requests"}
REASONS = 20
"""At most so many reasons of failures are shown; --json gives all of them."""


def status(start_date: Start, end_date: End, data_dir: ResultsDir = None, as_json: Json = False) -> None:
    """Print how far a window is: stages, speed, oldest open item, failures by reason, workers; changes nothing."""
    from datasmith.github.base import Window
    from datasmith.runners.status import nearest
    from datasmith.runners.status import status as read_status
    from datasmith.storage import open_store

    window = Window.parse(start_date, end_date)
    with open_store(results_in(data_dir), create=False) as store:
        found = read_status(store, window.key, datetime.now(UTC))
        near = [] if found.is_known else nearest(store, window.key)
    if as_json:
        print(document({**asdict(found), "nearest": near}, default=lambda value: value.isoformat()))
    else:
        print_status(found, near=near)


def print_status(found: "Status", console: "Console | None" = None, *, near: "Sequence[str]" = ()) -> None:
    """The tables, or the windows that are known instead; what comes from the ledger is text, never markup."""
    from rich.text import Text

    from datasmith.cli.sheet import output

    out = output(console)
    if not found.is_known:
        out.print(Text(f"{found.window}: {unknown(near)}"), soft_wrap=True)
        return
    _stages(found).show(out)
    if found.failures:
        _failures(found).show(out)
    if found.workers:
        _workers(found).show(out)
    else:
        out.print(Text("nobody is at work"))


def unknown(near: "Sequence[str]") -> str:
    """That nothing is known of a window, and of which nearest ones something is."""
    if not near:
        return "nothing is known of this window yet (right --data-dir?)"
    return f"nothing is known of this window; nearest known: {', '.join(near)}"


def _stages(found: "Status") -> "Sheet":
    from datasmith.cli.sheet import NOTHING, Column, Sheet

    counts = ("waiting", "at work", "passed", "refused", "failed", "items/min")
    columns = [Column("stage"), *(Column(name, right=True) for name in counts)]
    columns += [Column("oldest open", wraps=True), Column("age", right=True)]
    sheet = Sheet(f"{found.window} at {found.at:%Y-%m-%d %H:%M:%S} UTC", columns)
    for stage in found.stages:
        numbers = (stage.pending, stage.leased, stage.passed, stage.refused, stage.failed)
        cells = [f"{number:,}" if number else NOTHING for number in numbers]
        speed = NOTHING if stage.per_minute is None else f"{stage.per_minute:,.1f}"
        name = f"{stage.stage} {stage.name}" + (f": {_PLURALS[stage.kind]}" if stage.stage == 2 else "")
        sheet.add(name, *cells, speed, stage.oldest or NOTHING, age(stage.oldest_age_s))
    return sheet


def _failures(found: "Status") -> "Sheet":
    from datasmith.cli.sheet import Column, Sheet

    columns = (Column("count", right=True), Column("stage", right=True), Column("reason", wraps=True))
    sheet = Sheet("failures by reason (a later run tries them again)", columns, keys=0)
    for stage, reason, count in found.failures[:REASONS]:
        sheet.add(f"{count:,}", str(stage), reason)
    more = len(found.failures) - REASONS
    if more > 0:
        sheet.add("", "", f"and {more} more reasons (--json shows them)")
    return sheet


def _workers(found: "Status") -> "Sheet":
    from datasmith.cli.sheet import Column, Sheet

    numbers = [Column(name, right=True) for name in ("holding", "done", "of", "last seen")]
    sheet = Sheet("workers", (Column("worker", wraps=True), Column("stage"), Column("state"), *numbers))
    for worker in found.workers:
        seen = f"{age((found.at - worker.seen).total_seconds())} ago"
        counts = (f"{worker.holding:,}", f"{worker.completed:,}", f"{worker.total:,}")
        sheet.add(worker.worker, str(worker.stage), worker.state, *counts, seen)
    return sheet


def age(seconds: float | None) -> str:
    """A span in its two largest units, as in "3 h 20 min"."""
    if seconds is None:
        return "·"
    whole = max(0, int(seconds))
    for size, name, next_size, next_name in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {name} {whole % size // next_size} {next_name}"
    return f"{whole} s"
