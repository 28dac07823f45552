"""The store on SQLAlchemy: a SQLite file by default, anything else by URL."""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import sqlalchemy
from sqlalchemy import Connection, Engine, Table, event, exc
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import QueuePool, StaticPool

from datasmith.errors import ConfigError, SchemaMismatch, StoreError, StoreUnavailable
from datasmith.storage import ledger
from datasmith.storage.base import Entry, FunnelRow, ItemKind, ItemState, Row, StageItem, Value, Verdict
from datasmith.storage.schema import REVISION, clean_row, metadata
from datasmith.storage.window_lock import Holder, advisory_lock

BUSY_S = 60.0
"""How long a writer waits for another process's transaction on the same SQLite file."""

_WRITES = {"fc_begin": "BEGIN IMMEDIATE"}
"""SQLite takes the write lock when the transaction begins: it can wait for it then, and only then."""


class SqlStore:
    """A Store on any SQLAlchemy URL; every method may be called from any thread.

    `writable=False` opens an existing SQLite file so that nothing beside it or in it is created or changed.
    """

    def __init__(self, url: str | URL = "sqlite://", *, writable: bool = True) -> None:
        self._url = _read_url(url)
        self._writable = writable
        self._sqlite = self._url.get_backend_name() == "sqlite"
        self._in_memory = self._sqlite and self._url.database in {None, "", ":memory:"}
        self._lock = threading.RLock()
        self._engine = self._make_engine()

    @classmethod
    def at(cls, path: Path, *, writable: bool = True) -> Self:
        """The store in the SQLite file `path`."""
        return cls(URL.create("sqlite", database=str(path)), writable=writable)

    @classmethod
    def empty(cls) -> Self:
        """A store in memory that holds nothing and takes nothing."""
        store = cls()
        store.migrate()
        store._writable = False
        return store

    @property
    def missing(self) -> bool:
        """True where the SQLite file does not exist."""
        return self._sqlite and not self._in_memory and not Path(self._url.database or "").exists()

    @property
    def location(self) -> str:
        """The file's path, or the URL without its password."""
        if self._sqlite:
            return self._url.database or "memory"
        return self._url.render_as_string(hide_password=True)

    def migrate(self) -> None:
        """See Store."""
        self._make_directory()
        with self._transaction(write=True) as connection:
            if self._known_revision(connection) == REVISION:
                return
            from datasmith.storage.migrate import upgrade  # Alembic is slow to import

            upgrade(connection)

    def check(self) -> None:
        """See Store."""
        with self._transaction() as connection:
            found = self._known_revision(connection)
        if found != REVISION:
            raise SchemaMismatch(found or "empty", REVISION)

    def upsert(self, table: str, rows: Sequence[Mapping[str, Value]]) -> None:
        """See Store; a table that counts its own ids gets a new row where no id is given."""
        if rows:
            with self._transaction(write=True) as connection:
                _upsert(connection, _table(table), rows)

    def select(self, table: str, where: Mapping[str, Value] | None = None, order: Sequence[str] = ()) -> list[Row]:
        """See Store; without `order`, rows come in the order of their primary keys."""
        target = _table(table)
        wanted = clean_row(dict(where or {}))
        _known_columns(target, [*wanted, *order])
        ordered = [target.c[name] for name in order] or list(target.primary_key)
        statement = sqlalchemy.select(target).order_by(*ordered)
        for name, value in wanted.items():
            statement = statement.where(target.c[name].is_(None) if value is None else target.c[name] == value)
        with self._transaction() as connection:
            return [dict(row) for row in connection.execute(statement).mappings()]

    def enter(self, window: str, stage: int, items: Sequence[tuple[str, ItemKind]], now: datetime) -> int:
        """See Store."""
        with self._transaction(write=True) as connection:
            return ledger.enter(connection, window, [Entry(stage, item, kind) for item, kind in items], now)

    def record(
        self, window: str, stage: int, items: Sequence[tuple[str, ItemKind, ItemState, str]], now: datetime
    ) -> None:
        """See Store."""
        with self._transaction(write=True) as connection:
            ledger.record(connection, window, [Entry(stage, *decided) for decided in items], now)

    def claim(self, window: str, stage: int, worker: str, n: int, lease_s: float, now: datetime) -> list[StageItem]:
        """See Store."""
        with self._transaction(write=True) as connection:
            return ledger.claim(connection, (window, stage), worker, n, lease_s, now)

    def take(
        self, window: str, stage: int, items: Sequence[tuple[str, ItemKind]], worker: str, lease_s: float, now: datetime
    ) -> list[StageItem]:
        """See Store."""
        with self._transaction(write=True) as connection:
            return ledger.take(connection, (window, stage), items, worker, lease_s, now)

    def finish(self, item: StageItem, state: ItemState, reason: str, now: datetime) -> bool:
        """See Store."""
        return self.finish_many([Verdict(item, state, reason)], now)[0]

    def finish_many(self, verdicts: Sequence[Verdict], now: datetime) -> list[bool]:
        """See Store."""
        with self._transaction(write=True) as connection:
            held = ledger.finish(connection, verdicts, now)
            pairs = [pair for verdict, holds in zip(verdicts, held, strict=True) if holds for pair in verdict.rows]
            for name, group in groupby(sorted(pairs, key=lambda pair: pair[0]), key=lambda pair: pair[0]):
                _upsert(connection, _table(name), [row for _, row in group])
        return held

    def renew(self, items: Sequence[StageItem], lease_s: float, now: datetime) -> int:
        """See Store."""
        with self._transaction(write=True) as connection:
            return ledger.renew(connection, items, lease_s, now)

    def count(self, window: str, stage: int) -> dict[ItemState, int]:
        """See Store."""
        with self._transaction() as connection:
            return ledger.count(connection, window, stage)

    def oldest(self, window: str, stage: int) -> tuple[str, datetime] | None:
        """See Store."""
        with self._transaction() as connection:
            return ledger.oldest(connection, window, stage)

    @contextmanager
    def hold(self, window: str, me: Holder, *, join: bool) -> Iterator[None]:
        """See Store; on SQLite this does nothing."""
        if self._sqlite:
            yield
            return
        try:
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                with advisory_lock(connection, window, me, join=join):
                    yield
                connection.invalidate()  # its name in the server's list is the lock's
        except (exc.SQLAlchemyError, sqlite3.Error) as error:
            raise self._in_our_words(error) from error

    def reopen(self, window: str, stage: int, states: Sequence[ItemState], now: datetime) -> int:
        """See Store."""
        with self._transaction(write=True) as connection:
            return ledger.reopen(connection, (window, stage), states, now)

    def stage_items(self, window: str, stage: int | None = None) -> list[StageItem]:
        """See Store."""
        with self._transaction() as connection:
            return ledger.items(connection, window, stage)

    def funnel(self, window: str) -> list[FunnelRow]:
        """See Store."""
        with self._transaction() as connection:
            return ledger.funnel(connection, window)

    def close(self) -> None:
        """See Store."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[Connection]:
        """One transaction: committed at the end of the body, rolled back on any error, errors in our own words."""
        if write and not self._writable:
            raise StoreUnavailable(f"{self.location}: opened for reading only")
        alone = self._lock if self._in_memory or (write and self._sqlite) else nullcontext()
        try:
            with alone, self._engine.connect() as connection:
                if write:
                    connection.execution_options(**_WRITES)
                with connection.begin():
                    yield connection
        except (exc.SQLAlchemyError, sqlite3.Error) as error:
            raise self._in_our_words(error) from error

    def _in_our_words(self, error: Exception) -> StoreError:
        """Outage, wrong schema, or a row that the database refuses."""
        cause = error.orig if isinstance(error, exc.StatementError) and error.orig else error
        text = f"{self.location}: {' '.join(str(cause).split())}"
        absent = ("no such table", "no such column") if self._sqlite else ("does not exist",)
        if isinstance(error, (exc.OperationalError, exc.ProgrammingError)) and any(words in text for words in absent):
            return SchemaMismatch(f"not that of this version ({text})", REVISION)
        outage = isinstance(error, (exc.OperationalError, exc.InterfaceError, exc.TimeoutError, sqlite3.Error))
        broken = type(error) is exc.DatabaseError
        return StoreUnavailable(text) if outage or broken else StoreError(text)

    def _known_revision(self, connection: Connection) -> str:
        """The revision the database says it has; "" for an empty one."""
        if not sqlalchemy.inspect(connection).has_table("alembic_version"):
            return ""
        return str(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() or "")

    def _make_directory(self) -> None:
        if not self._sqlite or self._in_memory or not self._writable:
            return
        directory = Path(self._url.database or "").parent
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"{self.location}: cannot create {directory}: {error.strerror}") from error

    def _make_engine(self) -> Engine:
        if not self._sqlite:
            return sqlalchemy.create_engine(self._url, json_serializer=_as_json, pool_pre_ping=True, max_overflow=60)
        engine = sqlalchemy.create_engine(
            self._url,
            creator=self._connect_to_sqlite,
            poolclass=StaticPool if self._in_memory else QueuePool,
            json_serializer=_as_json,
            **({} if self._in_memory else {"max_overflow": 60}),
        )
        event.listen(engine, "begin", _begin)
        return engine

    def _connect_to_sqlite(self) -> sqlite3.Connection:
        """Open the file (or memory) with transactions under our own control."""
        connection = sqlite3.connect(
            self._sqlite_name(), uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        if self._writable:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def _sqlite_name(self) -> str:
        if self._in_memory:
            return ":memory:"
        path = Path(self._url.database or "").absolute()
        if self._writable:
            return f"file:{quote(str(path))}"
        # Nobody has the file open where there is no write-ahead log: then SQLite need not create one to read it.
        unused = "" if path.with_name(f"{path.name}-wal").exists() else "&immutable=1"
        return f"file:{quote(str(path))}?mode=ro{unused}"


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("fc_begin", "BEGIN"))


def _read_url(text: str | URL) -> URL:
    """The URL with the driver we use.

    Raises:
        ConfigError: it cannot be read, or names a database that no driver is installed for.
    """
    try:
        url = make_url(text)
        if url.drivername in {"postgres", "postgresql"}:
            url = url.set(drivername="postgresql+psycopg")
        url.get_dialect().import_dbapi()
    except (exc.ArgumentError, exc.NoSuchModuleError, ImportError) as error:
        raise ConfigError(f"DATABASE_URL cannot be used: {error} (example: sqlite:///work/fc.sqlite)") from error
    if url.get_backend_name() not in {"sqlite", "postgresql"}:
        raise ConfigError(f"DATABASE_URL names {url.get_backend_name()}; sqlite and postgresql are supported")
    return url


def _as_json(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _table(name: str) -> Table:
    if name not in metadata.tables:
        raise StoreError(f"there is no table {name!r} (there are: {', '.join(sorted(metadata.tables))})")
    return metadata.tables[name]


def _known_columns(table: Table, names: Iterable[str]) -> None:
    unknown = sorted(set(names) - set(table.columns.keys()))
    if unknown:
        raise StoreError(f"table {table.name} has no column {unknown[0]!r}")


def _upsert(connection: Connection, table: Table, rows: Sequence[Mapping[str, Value]]) -> None:
    """Insert or replace in the rows' order; neighbours that name the same columns go together."""
    for _, group in groupby(rows, key=frozenset):
        same = [clean_row(dict(row)) for row in group]
        _known_columns(table, same[0])
        connection.execute(_upsert_statement(connection, table, list(same[0])), same)


def _upsert_statement(connection: Connection, table: Table, columns: Sequence[str]) -> sqlalchemy.Insert:
    statement = ledger.insert_into(connection, table)
    keys = table.primary_key.columns.keys()
    missing = [key for key in keys if key not in columns]
    if missing and table.autoincrement_column is None:
        raise StoreError(f"a row for {table.name} needs {missing[0]!r}")
    if missing:
        return statement
    replaced = {name: statement.excluded[name] for name in columns if name not in keys}
    if not replaced:
        return statement.on_conflict_do_nothing(index_elements=keys)
    return statement.on_conflict_do_update(index_elements=keys, set_=replaced)
