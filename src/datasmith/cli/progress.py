"""Progress on standard error: a bar for each stage on a terminal, elsewhere a line now and then, and at its end."""

import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn

from datasmith.cli.bars import Bars
from datasmith.printable import cut, one_line

NOTE_WIDTH = 100
BESIDE_NOTE = 42
"""Columns that a stage's name, a short bar, its count and its clock take on a narrow terminal."""
SILENT_S = 20.0
"""Where nobody watches, a stage tells at most so often what is under way."""


class StageBars(Bars):
    """Shows a stage's progress, with what is under way."""

    def __init__(self, console: Console | None = None, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(
            console or Console(stderr=True),
            TextColumn("{task.description:<20}", markup=False),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
        )
        self._stages: dict[str, TaskID] = {}
        self._told: set[str] = set()
        self._now = now
        self._last_s = now()
        self._done: dict[str, str] = {}

    def __call__(self, name: str, done: int, total: int, note: str) -> None:
        """Stage `name` has finished `done` of `total` items (-1: as before); `note` says what is under way."""
        if name not in self._stages:
            self._stages[name] = self.bars.add_task(name, total=None, note="")
        if done >= 0:
            self.bars.update(self._stages[name], completed=done, total=max(total, 1))
        room = max(10, min(NOTE_WIDTH, self.console.width - BESIDE_NOTE))
        self.bars.update(self._stages[name], note=cut(one_line(note), room))
        if not self.console.is_terminal:
            self._tell(name, done, total, note)

    def _tell(self, name: str, done: int, total: int, note: str) -> None:
        """Lines for a log."""
        if done >= 0:
            self._done[name] = f"{done} of {total} items"
        line = f"{name}: {self._done.get(name, 'under way')}"
        if done >= max(total, 1) and name not in self._told:
            self._told.add(name)
        elif name not in self._told and self._now() - self._last_s >= SILENT_S:
            line = f"{line}; {one_line(note)}"
        else:
            return
        self._last_s = self._now()
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)
