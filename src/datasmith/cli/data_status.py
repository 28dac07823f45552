"""fc-data status: how far a window is, how fast it goes, what waits, what failed, and who works on it."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from datasmith.cli.common import one_line
from datasmith.cli.options import DataDir, End, Json, Start

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from datasmith.runners.status import Status

WIDTH = 130
"""Columns where standard output is no terminal."""
REASONS = 20
"""At most so many reasons of failures are shown; --json gives all of them."""


def status(start_date: Start, end_date: End, data_dir: DataDir = None, as_json: Json = False) -> None:
    """Print how far a window is: stages, speed, oldest waiting item, failures by reason, workers; changes nothing."""
    from datasmith.github.base import Window
    from datasmith.runners.status import status as read_status
    from datasmith.settings import load_settings
    from datasmith.storage import open_store

    window = Window.parse(start_date, end_date)
    with open_store(load_settings(data_dir=data_dir), create=False) as store:
        found = read_status(store, window.key, datetime.now(UTC))
    if as_json:
        print(json.dumps(asdict(found), default=lambda value: value.isoformat()))
    else:
        print_status(found)


def print_status(found: "Status", console: "Console | None" = None) -> None:
    """The tables; whatever comes from the ledger is printed as text, never as markup."""
    from rich.console import Console
    from rich.text import Text

    out = console or Console(highlight=False)
    if not out.is_terminal:
        out.width = WIDTH
    if not any(stage.known for stage in found.stages):
        out.print(Text(f"{found.window}: nothing is known of this window yet"))
        return
    out.print(_stages(found))
    if found.failures:
        out.print(_failures(found))
    if found.workers:
        out.print(_workers(found))
    else:
        out.print(Text("nobody is at work"))


def _table(title: str, left: tuple[str, ...], right: tuple[str, ...]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left")
    for name in left:
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _row(table: "Table", *cells: str) -> None:
    from rich.text import Text

    table.add_row(*(Text(one_line(cell)) for cell in cells))


def _stages(found: "Status") -> "Table":
    counts = ("waiting", "at work", "passed", "refused", "failed", "items/min")
    table = _table(f"{found.window} at {found.at:%Y-%m-%d %H:%M:%S} UTC", ("stage",), counts)
    table.add_column("oldest waiting", overflow="fold")
    table.add_column("age", justify="right", no_wrap=True)
    for stage in found.stages:
        numbers = (stage.pending, stage.leased, stage.passed, stage.refused, stage.failed)
        cells = [f"{number:,}" if number else "·" for number in numbers]
        speed = "·" if stage.per_minute is None else f"{stage.per_minute:,.1f}"
        _row(table, f"{stage.stage} {stage.name}", *cells, speed, stage.oldest or "·", age(stage.oldest_age_s))
    return table


def _failures(found: "Status") -> "Table":
    table = _table("failures by reason (a later run tries them again)", (), ("count", "stage"))
    table.add_column("reason", overflow="fold")
    for stage, reason, count in found.failures[:REASONS]:
        _row(table, f"{count:,}", str(stage), reason)
    more = len(found.failures) - REASONS
    if more > 0:
        _row(table, "", "", f"and {more} more reasons (--json shows them)")
    return table


def _workers(found: "Status") -> "Table":
    table = _table("workers", ("worker", "stage", "state"), ("holding", "done", "of", "last seen"))
    for worker in found.workers:
        seen = f"{age((found.at - worker.seen).total_seconds())} ago"
        numbers = (f"{worker.holding:,}", f"{worker.completed:,}", f"{worker.total:,}")
        _row(table, worker.worker, str(worker.stage), worker.state, *numbers, seen)
    return table


def age(seconds: float | None) -> str:
    """A span in its two largest units, as in "3 h 20 min"."""
    if seconds is None:
        return "·"
    whole = max(0, int(seconds))
    for size, name, next_size, next_name in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {name} {whole % size // next_size} {next_name}"
    return f"{whole} s"
