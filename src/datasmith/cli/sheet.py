"""A table for any terminal: intervals below their values where it is too wide, else entries; nothing is cut."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from datasmith.printable import one_line

WIDTH = 130
"""Columns where standard output is no terminal."""
NOTHING = "·"
"""A cell without a value."""
_READABLE = 24
"""Text that may be broken over lines keeps this many columns."""
_INDENT = 2


@dataclass(frozen=True, slots=True)
class Column:
    """A name; `right` for numbers; `wraps` for text that may take several lines."""

    name: str
    right: bool = False
    wraps: bool = False


def output(console: Console | None = None) -> Console:
    """Standard output, as wide as its terminal."""
    out = console or Console(highlight=False)
    if not out.is_terminal:
        out.width = WIDTH
    return out


class Sheet:
    """A title, columns, and rows of text; the first `keys` columns name a row where rows are shown one by one."""

    def __init__(self, title: str, columns: Iterable[Column], *, keys: int = 1) -> None:
        self._title = one_line(title)
        self._columns = tuple(columns)
        self._keys = keys
        self._rows: list[tuple[str, ...]] = []

    def add(self, *cells: str) -> None:
        """One more row; the cells are shown as text, never as markup."""
        self._rows.append(tuple(one_line(cell) for cell in cells))

    def show(self, out: Console) -> None:
        """Print the table; where it is wider than the terminal, with intervals below their values, or its entries.

        One without rows is a line that says so.
        """
        if not self._rows:
            out.print(Text(f"{self._title}: none"), soft_wrap=not out.is_terminal)
            return
        for table in (self._table(self._rows), self._table([self._below(row) for row in self._rows])):
            if Measurement.get(out, out.options.update(width=10_000), table).minimum <= out.width:
                out.print(table)
                return
        out.print(Text(self._title, style="italic"))
        for row in self._rows:
            self._show_entry(out, row)

    def _below(self, row: Sequence[str]) -> tuple[str, ...]:
        """The row with each number's interval on a line of its own."""
        columns = zip(self._columns, row, strict=True)
        return tuple(cell.replace(" [", "\n[") if column.right else cell for column, cell in columns)

    def _table(self, rows: Sequence[Sequence[str]]) -> Table:
        table = Table(title=Text(self._title), title_justify="left")
        for number, column in enumerate(self._columns):
            cells = [line for row in rows for line in row[number].split("\n")]
            longest = max(map(cell_len, (column.name, *cells)))
            table.add_column(
                column.name,
                justify="right" if column.right else "left",
                no_wrap=not column.wraps,
                overflow="fold",
                min_width=min(longest, _READABLE) if column.wraps else longest,
            )
        for row in rows:
            table.add_row(*map(Text, row))
        return table

    def _show_entry(self, out: Console, row: tuple[str, ...]) -> None:
        head = " ".join(cell for cell in row[: self._keys] if cell)
        pairs = zip(self._columns[self._keys :], row[self._keys :], strict=True)
        facts = [f"{column.name} {cell}" for column, cell in pairs if cell not in {"", NOTHING}]
        if head:
            out.print(Text(head, style="bold", overflow="fold"))
        for line in _filled(facts, out.width - _INDENT):
            out.print(Padding(Text(line, overflow="fold"), (0, 0, 0, _INDENT), expand=False))


def _filled(facts: Iterable[str], width: int) -> Iterator[str]:
    """Lines of as many facts as fit, with dots between them; one that is longer stands alone."""
    line = ""
    for fact in facts:
        longer = f"{line} {NOTHING} {fact}" if line else fact
        if line and len(longer) > width:
            yield line
            longer = fact
        line = longer
    if line:
        yield line
