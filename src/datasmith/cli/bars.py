"""Bars on standard error, which open with the line that a stop is told by; only a terminal shows them."""

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import Progress, ProgressColumn

from datasmith.cli.stopping import STOPPING, stop_told


class Bars:
    """What every command's bars have in common: `console` is where lines go, too, and `bars` what is shown there."""

    def __init__(self, console: Console, *columns: ProgressColumn) -> None:
        self.console = console
        self.bars = Progress(*columns, console=console, disable=not console.is_terminal)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._open.enter_context(self.bars)
        self._open.enter_context(stop_told(lambda: self.console.print(STOPPING)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
