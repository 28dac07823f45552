"""Rows in and out: the statements of upserts, selects and queries, inside the caller's transaction."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias, cast

import sqlalchemy
from sqlalchemy import JSON, Column, ColumnElement, Connection, Table, Text
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import operators

from datasmith.errors import StoreError
from datasmith.storage.base import Condition, Operator, Order, Query, Row, Value
from datasmith.storage.schema import fit, metadata

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

MOST_NAMED = 30_000
"""Values that one condition may list: below every database's limit of parameters."""
MOST_NAMED_IN_ALL = 60_000
LONGEST_PATTERN = 1000
"""Characters of a LIKE pattern: SQLite refuses long ones, and hostile ones take time."""

Rows = tuple[list[Row], int | None]
Insert: TypeAlias = "sqlite.Insert | postgresql.Insert"


def insert_into(connection: Connection, table: Table) -> Insert:
    """An INSERT that knows ON CONFLICT, in this connection's dialect."""
    if connection.dialect.name != "postgresql":
        return sqlite.insert(table)
    # What has no such database to do with does without the tenth of a second that this takes.
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)


def table_named(name: str) -> Table:
    """The table.

    Raises:
        StoreError: there is none of this name; the message lists those that there are.
    """
    if name not in metadata.tables:
        raise StoreError(f"there is no table {name!r} (there are: {', '.join(sorted(metadata.tables))})")
    return metadata.tables[name]


def column_named(table: Table, name: str) -> Column[Value]:
    """The column.

    Raises:
        StoreError: the table has none of this name; the message lists those that it has.
    """
    if name not in table.columns:
        raise StoreError(f"table {table.name} has no column {name!r} (it has: {', '.join(table.columns.keys())})")
    return cast("Column[Value]", table.columns[name])


def upsert(connection: Connection, table: Table, rows: Sequence[Mapping[str, Value]]) -> None:
    """Insert or replace; of rows with one key the last wins. Neighbours that name the same columns go together.

    Everybody writes rows in the order of their keys: then nobody waits for somebody who waits for them.
    """
    keys = table.primary_key.columns.keys()
    for names, group in _alike(sorted(rows, key=lambda row: [str(row.get(key)) for key in keys])):
        connection.execute(_upsert_statement(connection, table, names), _fitting(table, names, group))


def select(connection: Connection, table: Table, where: Mapping[str, Value], order: Sequence[str]) -> list[Row]:
    """Rows whose columns equal `where`, by the columns of `order` or the primary key."""
    conditions = [Condition(name, "is" if value is None else "eq", value) for name, value in where.items()]
    statement = sqlalchemy.select(table).where(*_where(connection, table, conditions))
    ordered = [Order(name) for name in order]
    return _read(connection, statement.order_by(*_order(connection, table, ordered)))


def run(connection: Connection, query: Query) -> Rows:
    """See Store.query."""
    return _ACTIONS[query.action](connection, table_named(query.table), query)


def _select(connection: Connection, table: Table, query: Query) -> Rows:
    wanted = [column_named(table, name) for name in query.columns or table.columns.keys()]
    statement = sqlalchemy.select(*wanted).where(*_where(connection, table, query.conditions))
    total = None
    if query.count:
        counted = sqlalchemy.select(sqlalchemy.func.count()).select_from(statement.subquery())
        total = connection.execute(counted).scalar_one()
    ordered = statement.order_by(*_order(connection, table, query.order))
    # SQLite has no OFFSET without a LIMIT: SQLAlchemy writes one that means none.
    return _read(connection, ordered.limit(query.limit).offset(query.offset or None)), total


def _insert(connection: Connection, table: Table, query: Query) -> Rows:
    made: list[Row] = []
    for names, group in _alike(query.rows):
        statement = insert_into(connection, table).returning(*table.columns, sort_by_parameter_order=True)
        made += _read(connection, statement, _fitting(table, names, group))
    return made, None


def _upsert(connection: Connection, table: Table, query: Query) -> Rows:
    """Rows are written one by one: a statement of many rows may not name the same row twice."""
    keys = table.primary_key.columns.keys()
    if query.conflict and sorted(query.conflict) != sorted(keys):
        raise StoreError(f"rows of {table.name} are recognised by {','.join(keys)}, not by {','.join(query.conflict)}")
    made: list[Row] = []
    for names, group in _alike(query.rows):
        statement = _upsert_statement(connection, table, names, keep=query.keep).returning(*table.columns)
        for row in _fitting(table, names, group):
            made += _read(connection, statement, row)
    return made, None


def _update(connection: Connection, table: Table, query: Query) -> Rows:
    values = {name: fit(column_named(table, name), value) for row in query.rows for name, value in row.items()}
    if not values:
        raise StoreError(
            f"an update of {table.name} without values changes nothing (example: .update({{'state': 'x'}}))"
        )
    statement = sqlalchemy.update(table).where(*_bounded(connection, table, query)).values(values)
    return _sorted(table, _read(connection, statement.returning(*table.columns))), None


def _delete(connection: Connection, table: Table, query: Query) -> Rows:
    statement = sqlalchemy.delete(table).where(*_bounded(connection, table, query))
    return _sorted(table, _read(connection, statement.returning(*table.columns))), None


_ACTIONS: Mapping[str, Callable[[Connection, Table, Query], Rows]] = {
    "select": _select,
    "insert": _insert,
    "upsert": _upsert,
    "update": _update,
    "delete": _delete,
}


def _read(connection: Connection, statement: sqlalchemy.Executable, values: list[Row] | Row | None = None) -> list[Row]:
    return [dict(row) for row in connection.execute(statement, values).mappings()]


def _alike(rows: Iterable[Mapping[str, Value]]) -> Iterable[tuple[list[str], list[Mapping[str, Value]]]]:
    """Neighbours that name the same columns, with those columns."""
    for names, group in groupby(rows, key=frozenset):
        yield sorted(names), list(group)


def _fitting(table: Table, names: Sequence[str], rows: Iterable[Mapping[str, Value]]) -> list[Row]:
    columns = [(name, column_named(table, name)) for name in names]
    return [{name: fit(column, row[name]) for name, column in columns} for row in rows]


def _upsert_statement(connection: Connection, table: Table, columns: Sequence[str], *, keep: bool = False) -> Insert:
    statement = insert_into(connection, table)
    keys = table.primary_key.columns.keys()
    missing = [key for key in keys if key not in columns]
    if missing and table.autoincrement_column is None:
        raise StoreError(f"a row for {table.name} needs {missing[0]!r}")
    if missing:
        return statement
    replaced = {name: statement.excluded[name] for name in columns if name not in keys and name in table.columns}
    if keep or not replaced:
        return statement.on_conflict_do_nothing(index_elements=keys)
    return statement.on_conflict_do_update(index_elements=keys, set_=replaced)


def _order(connection: Connection, table: Table, order: Sequence[Order]) -> list[ColumnElement[Value]]:
    """What to order by, the primary key last: the same order on every database."""
    found = []
    for part in order:
        column = _comparable(connection, column_named(table, part.column))
        first = part.desc if part.nulls_first is None else part.nulls_first
        directed = column.desc() if part.desc else column.asc()
        found.append(directed.nulls_first() if first else directed.nulls_last())
    return [*found, *cast("list[ColumnElement[Value]]", list(table.primary_key))]


def _bounded(connection: Connection, table: Table, query: Query) -> list[ColumnElement[bool]]:
    """The conditions of a change, of which there must be one."""
    if not query.conditions:
        example = f".{query.action}(...).eq({table.primary_key.columns.keys()[0]!r}, ...)"
        raise StoreError(f"this would {query.action} every row of {table.name}: say which (example: {example})")
    return _where(connection, table, query.conditions)


def _where(connection: Connection, table: Table, conditions: Sequence[Condition]) -> list[ColumnElement[bool]]:
    listed = sum(len(condition.value) for condition in conditions if isinstance(condition.value, list))
    if listed > MOST_NAMED_IN_ALL:
        raise StoreError(f"{table.name} is asked for {listed} values: at most {MOST_NAMED_IN_ALL} in all conditions")
    tests = [_test(connection, column_named(table, condition.column), condition) for condition in conditions]
    return [
        sqlalchemy.not_(test) if condition.negated else test for test, condition in zip(tests, conditions, strict=True)
    ]


def _test(connection: Connection, column: Column[Value], condition: Condition) -> ColumnElement[bool]:
    """One condition, not negated."""
    where, operator, value = f"{column.table.name}.{column.name}", condition.operator, condition.value
    if operator == "is":
        return column.is_(None) if value is None else column.is_(bool(fit(column, value)))
    compared = _comparable(connection, column)
    if operator == "in":
        values = value if isinstance(value, list) else [value]
        if len(values) > MOST_NAMED:
            raise StoreError(f"{where} is compared with {len(values)} values: at most {MOST_NAMED} at a time")
        return compared.in_([_present(column, part) for part in values])
    value = _present(column, value)
    if operator in {"like", "ilike"}:
        pattern = _pattern(column, value)
        return compared.like(pattern, escape="\\") if operator == "like" else compared.ilike(pattern, escape="\\")
    return cast("ColumnElement[bool]", compared.operate(_COMPARE[operator], value))


_COMPARE: Mapping[Operator, operators.OperatorType] = {
    "eq": operators.eq,
    "gt": operators.gt,
    "gte": operators.ge,
    "lt": operators.lt,
    "lte": operators.le,
}


def _present(column: Column[Value], value: Value) -> Value:
    """The value to compare with, which must be one: nothing equals a missing value."""
    if value is None:
        name = column.name
        raise StoreError(f"{column.table.name}.{name} cannot be compared with None (example: .is_({name!r}, None))")
    return fit(column, value)


def _pattern(column: Column[Value], value: Value) -> str:
    where = f"{column.table.name}.{column.name}"
    if not isinstance(value, str) or not isinstance(column.type, Text):
        raise StoreError(f"{where} is no text: it cannot be like {value!r}")
    backslashes = len(value) - len(value.rstrip("\\"))
    if backslashes % 2 or len(value) > LONGEST_PATTERN:
        raise StoreError(
            f"{where}: a pattern has at most {LONGEST_PATTERN} characters and no single backslash at its end"
        )
    return value


def _comparable(connection: Connection, column: Column[Value]) -> ColumnElement[Value]:
    """The column with text ordered by code point, as it is in the columns of keys."""
    if isinstance(column.type, JSON):
        raise StoreError(f"{column.table.name}.{column.name} holds JSON: it can only be asked whether it is missing")
    by_language = connection.dialect.name == "postgresql" and isinstance(column.type, Text) and not column.primary_key
    return cast("ColumnElement[Value]", column.collate("C")) if by_language else column


def _sorted(table: Table, rows: list[Row]) -> list[Row]:
    """Rows of a change, by primary key: a database gives them in any order."""
    keys = table.primary_key.columns.keys()
    return sorted(rows, key=lambda row: [cast("str", row[key]) for key in keys])
