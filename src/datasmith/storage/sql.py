"""The store on SQLAlchemy: a SQLite file by default, anything else by URL."""

import errno
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote

import sqlalchemy
from sqlalchemy import Connection, Engine, event, exc
from sqlalchemy.engine import URL
from sqlalchemy.pool import QueuePool, StaticPool

from datasmith.errors import ConfigError, SchemaMismatch, StoreUnavailable
from datasmith.storage import ledger, statements, trouble
from datasmith.storage.address import connect_arguments, read_url
from datasmith.storage.base import Entry, FunnelRow, ItemKind, ItemState, Query, Row, StageItem, Value, Verdict
from datasmith.storage.schema import REVISION, metadata
from datasmith.storage.window_lock import ASK_S, Holder, advisory_lock

BUSY_S = 60.0
"""How long a writer waits for another process's transaction on the same SQLite file."""
_BUSY_STEP_S = 0.01

_NO_PLACE = frozenset({errno.EEXIST, errno.ENOTDIR, errno.ENOENT, errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES})
"""What a system says of a directory that cannot be there, however often it is tried."""
_WRITES = {"fc_begin": "BEGIN IMMEDIATE"}
"""SQLite takes the write lock when the transaction begins: it can wait for it then, and only then."""
_TRIES = 5
"""How often a transaction is begun that PostgreSQL ended for another's sake."""
_MIGRATING = 0x66635F64617461
"""PostgreSQL's advisory lock that whoever migrates holds."""

Answer = TypeVar("Answer")


class SqlStore:
    """A Store on any SQLAlchemy URL; every method may be called from any thread.

    `writable=False` opens an existing SQLite file so that nothing beside it or in it is created or changed.
    """

    def __init__(self, url: str | URL = "sqlite://", *, writable: bool = True) -> None:
        self._url = read_url(url)
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
        """A store in memory that holds nothing and takes nothing; its tables are made at once, not by migrations."""
        store = cls()
        with store._transaction(write=True) as connection:
            metadata.create_all(connection)
            connection.exec_driver_sql(f"CREATE TABLE alembic_version AS SELECT '{REVISION}' AS version_num")
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
            if not self._sqlite:  # SQLite's transaction keeps other processes out by itself
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATING})")
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
        target = statements.table_named(table)
        if rows:
            self._write(lambda connection: statements.upsert(connection, target, rows))

    def select(self, table: str, where: Mapping[str, Value] | None = None, order: Sequence[str] = ()) -> list[Row]:
        """See Store; without `order`, rows come in the order of their primary keys."""
        target = statements.table_named(table)
        return self._read(lambda connection: statements.select(connection, target, where or {}, order))

    def query(self, query: Query) -> tuple[list[Row], int | None]:
        """See Store."""
        return (self._read if query.action == "select" else self._write)(
            lambda connection: statements.run(connection, query)
        )

    def enter(self, window: str, stage: int, items: Sequence[tuple[str, ItemKind]], now: datetime) -> int:
        """See Store."""
        entries = [Entry(stage, item, kind) for item, kind in items]
        return self._write(lambda connection: ledger.enter(connection, window, entries, now))

    def record(
        self, window: str, stage: int, items: Sequence[tuple[str, ItemKind, ItemState, str]], now: datetime
    ) -> None:
        """See Store."""
        entries = [Entry(stage, *decided) for decided in items]
        self._write(lambda connection: ledger.record(connection, window, entries, now))

    def amend(self, rows: Sequence[StageItem], state: ItemState, reason: str, now: datetime) -> int:
        """See Store."""
        return self._write(lambda connection: ledger.amend(connection, rows, state, reason, now))

    def claim(
        self,
        window: str,
        stage: int,
        worker: str,
        n: int,
        lease_s: float,
        now: datetime,
        *,
        repositories: Collection[str] | None = None,
    ) -> list[StageItem]:
        """See Store."""
        return self._write(
            lambda connection: ledger.claim(
                connection, (window, stage), worker, n, lease_s, now, repositories=repositories
            )
        )

    def take(
        self, window: str, stage: int, items: Sequence[tuple[str, ItemKind]], worker: str, lease_s: float, now: datetime
    ) -> list[StageItem]:
        """See Store."""
        return self._write(lambda connection: ledger.take(connection, (window, stage), items, worker, lease_s, now))

    def finish(self, item: StageItem, state: ItemState, reason: str, now: datetime) -> bool:
        """See Store."""
        return self.finish_many([Verdict(item, state, reason)], now)[0]

    def finish_many(self, verdicts: Sequence[Verdict], now: datetime) -> list[bool]:
        """See Store."""
        return self._write(lambda connection: _finish(connection, verdicts, now))

    def renew(self, items: Sequence[StageItem], lease_s: float, now: datetime) -> int:
        """See Store."""
        return self._write(lambda connection: ledger.renew(connection, items, lease_s, now))

    def count(self, window: str, stage: int, *, repositories: Collection[str] | None = None) -> dict[ItemState, int]:
        """See Store."""
        return self._read(lambda connection: ledger.count(connection, window, stage, repositories=repositories))

    def oldest(self, window: str, stage: int) -> tuple[str, datetime] | None:
        """See Store."""
        return self._read(lambda connection: ledger.oldest(connection, window, stage))

    @contextmanager
    def hold(self, window: str, me: Holder, *, join: bool, ask_s: float = ASK_S) -> Iterator[None]:
        """See Store; on SQLite this does nothing."""
        if self._sqlite:
            yield
            return
        try:
            with (
                self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
                advisory_lock(connection, window, me, join=join, ask_s=ask_s),
            ):
                yield
        except (exc.SQLAlchemyError, sqlite3.Error) as error:
            raise trouble.in_our_words(error, self.location) from error

    def reopen(self, window: str, stage: int, states: Sequence[ItemState], now: datetime) -> int:
        """See Store."""
        return self._write(lambda connection: ledger.reopen(connection, (window, stage), states, now))

    def stage_items(self, window: str, stage: int | None = None) -> list[StageItem]:
        """See Store."""
        return self._read(lambda connection: ledger.items(connection, window, stage))

    def windows(self) -> list[str]:
        """See Store."""
        return self._read(ledger.windows)

    def funnel(self, window: str) -> list[FunnelRow]:
        """See Store."""
        return self._read(lambda connection: ledger.funnel(connection, window))

    def close(self) -> None:
        """See Store."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, work: Callable[[Connection], Answer]) -> Answer:
        """What `work` returns, in one transaction."""
        with self._transaction() as connection:
            return work(connection)

    def _write(self, work: Callable[[Connection], Answer]) -> Answer:
        """The same, allowed to write; where the database ended it because of another's, it is done again."""
        for _ in range(_TRIES - 1):
            try:
                with self._transaction(write=True) as connection:
                    return work(connection)
            except StoreUnavailable as error:
                if not trouble.is_conflict(error.__cause__):
                    raise
        with self._transaction(write=True) as connection:
            return work(connection)

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
            raise trouble.in_our_words(error, self.location) from error

    def _known_revision(self, connection: Connection) -> str:
        """The revision the database says it has; "" for an empty one.

        Raises:
            StoreUnavailable: PostgreSQL's row level security hides every row from this user: it would look empty.
        """
        if not sqlalchemy.inspect(connection).has_table("alembic_version"):
            return ""
        if not self._sqlite and connection.exec_driver_sql("SELECT row_security_active('alembic_version')").scalar():
            raise StoreUnavailable(
                f"{self.location}: row level security hides all rows from this user: DATABASE_URL must name the "
                "tables' owner or a role with BYPASSRLS (example: postgresql://postgres:PASSWORD@HOST:5432/postgres)"
            )
        return str(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() or "")

    def _make_directory(self) -> None:
        if not self._sqlite or self._in_memory or not self._writable:
            return
        directory = Path(self._url.database or "").parent
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problem = f"{self.location}: cannot create {directory}: {error.strerror} (example: --data-dir ./work)"
            raise (ConfigError if error.errno in _NO_PLACE else StoreUnavailable)(problem) from error

    def _make_engine(self) -> Engine:
        if not self._sqlite:
            return sqlalchemy.create_engine(
                self._url,
                json_serializer=_as_json,
                pool_pre_ping=True,
                max_overflow=60,
                connect_args=connect_arguments(self._url),
            )
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
            _use_write_ahead_log(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA case_sensitive_like = ON")
        return connection

    def _sqlite_name(self) -> str:
        if self._in_memory:
            return ":memory:"
        path = Path(self._url.database or "").absolute()
        if self._writable:
            return f"file:{quote(os.fsencode(path))}"
        # Nobody has the file open where there is no write-ahead log: then SQLite need not create one to read it.
        unused = "" if path.with_name(f"{path.name}-wal").exists() else "&immutable=1"
        return f"file:{quote(os.fsencode(path))}?mode=ro{unused}"


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch a file to write-ahead logging; SQLite itself does not wait while another process does that."""
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_BUSY_STEP_S)
        else:
            return


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("fc_begin", "BEGIN"))


def _as_json(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _finish(connection: Connection, verdicts: Sequence[Verdict], now: datetime) -> list[bool]:
    """The verdicts whose lease still holds, with the rows that belong to them."""
    held = ledger.finish(connection, verdicts, now)
    pairs = [pair for verdict, holds in zip(verdicts, held, strict=True) if holds for pair in verdict.rows]
    for name, group in groupby(sorted(pairs, key=lambda pair: pair[0]), key=lambda pair: pair[0]):
        statements.upsert(connection, statements.table_named(name), [row for _, row in group])
    return held
