"""The fluent reader: `client.table("pull_requests").select("*").eq("owner", "numpy").execute()`, on every database.

It speaks as supabase-py does. Every step gives a new object, and nothing is asked before `execute()`; values are always
bound, never part of a statement.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Generic, Literal, Self, TypeVar

from datasmith.errors import StoreError
from datasmith.storage.base import Condition, Operator, Order, Query, Row, Store, Value

Data = TypeVar("Data")
_LAST_ROW = 2**63 - 1
_TRUTH = {"null": None, "true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Response(Generic[Data]):
    """What came back: times are aware and UTC, JSON is read. `count` is None where it was not asked for."""

    data: Data
    count: int | None = None


@dataclass(frozen=True, slots=True)
class _Request:
    store: Store
    query: Query

    def _with(self, **parts: object) -> Self:
        return replace(self, query=replace(self.query, **parts))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Insert(_Request):
    """Rows to be written."""

    def execute(self) -> Response[list[Row]]:
        """The rows as they are now, in the order in which they were given.

        Raises:
            StoreError: a column is unknown, or the database refuses a row; then none is written.
        """
        return Response(*self.store.query(self.query))


@dataclass(frozen=True, slots=True)
class _Filtered(_Request):
    """Conditions, all of which must hold; a missing value meets none but `is_`."""

    negated: bool = False

    @property
    def not_(self) -> Self:
        """Turns the next condition round."""
        return replace(self, negated=not self.negated)

    def eq(self, column: str, value: Value) -> Self:
        """Equal."""
        return self._where(column, "eq", value)

    def neq(self, column: str, value: Value) -> Self:
        """There, and not equal."""
        return self.not_._where(column, "eq", value)

    def gt(self, column: str, value: Value) -> Self:
        """Greater; texts by code point."""
        return self._where(column, "gt", value)

    def gte(self, column: str, value: Value) -> Self:
        """Greater or equal."""
        return self._where(column, "gte", value)

    def lt(self, column: str, value: Value) -> Self:
        """Less."""
        return self._where(column, "lt", value)

    def lte(self, column: str, value: Value) -> Self:
        """Less or equal."""
        return self._where(column, "lte", value)

    def in_(self, column: str, values: Iterable[Value]) -> Self:
        """One of these, of which there may be 30,000."""
        if isinstance(values, str):
            raise StoreError(f"{column} in {values!r:.40}? That is one text (example: .in_({column!r}, ['a', 'b']))")
        return self._where(column, "in", list(values))

    def is_(self, column: str, value: bool | Literal["null", "true", "false"] | None) -> Self:
        """Missing ("null" or None), true or false."""
        known = _TRUTH.get(value.lower(), value) if isinstance(value, str) else value
        if known is not None and not isinstance(known, bool):
            raise StoreError(f'{column} is {value!r}? It can be "null", True or False')
        return self._where(column, "is", known)

    def like(self, column: str, pattern: str) -> Self:
        """As the pattern, in which % stands for any text, _ for one character, and a backslash takes that away."""
        return self._where(column, "like", pattern)

    def ilike(self, column: str, pattern: str) -> Self:
        """The same; A to Z and a to z are alike."""
        return self._where(column, "ilike", pattern)

    def _where(self, column: str, operator: Operator, value: Value) -> Self:
        condition = Condition(column, operator, value, self.negated)
        return replace(self._with(conditions=(*self.query.conditions, condition)), negated=False)

    def _asked(self) -> tuple[list[Row], int | None]:
        if self.negated:
            raise StoreError(f"not_ has no condition after it (example: .not_.is_({'column'!r}, None))")
        return self.store.query(self.query)


@dataclass(frozen=True, slots=True)
class Change(_Filtered):
    """An update or a delete; one without a condition is refused."""

    def execute(self) -> Response[list[Row]]:
        """The rows that were changed, as they are now, or were when they were deleted.

        Raises:
            StoreError: there is no condition, a column is unknown, or the database refuses a value.
        """
        return Response(*self._asked())


@dataclass(frozen=True, slots=True)
class Select(_Filtered):
    """A question."""

    def order(self, column: str, *, desc: bool = False, nullsfirst: bool | None = None) -> Self:
        """By this column, after those named before; missing values come last, or first with `desc`."""
        return self._with(order=(*self.query.order, Order(column, desc, nullsfirst)))

    def limit(self, size: int) -> Self:
        """At most so many rows."""
        return self._with(limit=_natural("limit", size))

    def offset(self, size: int) -> Self:
        """Not the first so many."""
        return self._with(offset=_natural("offset", size))

    def range(self, start: int, end: int) -> Self:
        """The rows `start` to `end`, both counted from 0 and both included."""
        return self.offset(start).limit(end - start + 1)

    def single(self) -> "Single":
        """The one row there is, as a row."""
        return Single(self.store, self.query, self.negated)

    def maybe_single(self) -> "MaybeSingle":
        """The row, or None where there is none."""
        return MaybeSingle(self.store, self.query, self.negated)

    def execute(self) -> Response[list[Row]]:
        """The rows.

        Raises:
            StoreError: a column is unknown, or a value does not fit it.
        """
        return Response(*self._asked())


@dataclass(frozen=True, slots=True)
class MaybeSingle(_Filtered):
    """A question that at most one row answers."""

    def execute(self) -> Response[Row | None]:
        """The row, or None.

        Raises:
            StoreError: there are more.
        """
        found, count = replace(self, query=replace(self.query, limit=2))._asked()
        if len(found) > 1:
            raise StoreError(f"{self.query.table}: more than one row answers a question for a single one")
        return Response(found[0] if found else None, count)


@dataclass(frozen=True, slots=True)
class Single(_Filtered):
    """A question that exactly one row answers."""

    def execute(self) -> Response[Row]:
        """The row.

        Raises:
            StoreError: there is none, or more than one.
        """
        found = MaybeSingle(self.store, self.query, self.negated).execute()
        if found.data is None:
            raise StoreError(f"{self.query.table}: no row answers a question for a single one")
        return Response(found.data, found.count)


@dataclass(frozen=True, slots=True)
class Table:
    """One table: what can be asked of it and done to it."""

    store: Store
    name: str

    def select(self, columns: str = "*", *, count: Literal["exact"] | None = None) -> Select:
        """These columns ("a, b"), and with count="exact" the number of all rows that fit."""
        names = tuple(dict.fromkeys(name.strip() for name in columns.split(",")))
        chosen = () if names == ("*",) else names
        return Select(self.store, Query(self.name, columns=chosen, count=count is not None))

    def insert(self, rows: Row | Sequence[Row]) -> Insert:
        """New rows; one whose key is there already is refused, and all the others with it."""
        return Insert(self.store, Query(self.name, "insert", rows=_several(rows)))

    def upsert(self, rows: Row | Sequence[Row], *, on_conflict: str = "", ignore_duplicates: bool = False) -> Insert:
        """Rows that replace the named columns of those with the same key (or leave them as they are)."""
        names = tuple(name.strip() for name in on_conflict.split(",") if name.strip())
        query = Query(self.name, "upsert", rows=_several(rows), conflict=names, keep=ignore_duplicates)
        return Insert(self.store, query)

    def update(self, values: Row) -> Change:
        """New values for the rows that meet the conditions."""
        return Change(self.store, Query(self.name, "update", rows=(values,)))

    def delete(self) -> Change:
        """Take away the rows that meet the conditions."""
        return Change(self.store, Query(self.name, "delete"))


class Client:
    """A store, asked in the words of supabase-py."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def table(self, name: str) -> Table:
        """The table of this name; whether there is one shows when it is asked."""
        return Table(self._store, name)

    def close(self) -> None:
        """Give the connection back."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _natural(word: str, size: object) -> int:
    if not isinstance(size, int) or size < 0:
        raise StoreError(f"{word} {size!r:.40}: it must be a whole number, and not negative (example: .{word}(10))")
    return min(size, _LAST_ROW)


def _several(rows: Row | Sequence[Row]) -> tuple[Row, ...]:
    return (rows,) if isinstance(rows, Mapping) else tuple(rows)
