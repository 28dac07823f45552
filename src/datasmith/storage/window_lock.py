"""One run at a time works on a window, unless all of them say that they join: kept by locks that die with their owner.

In the data directory it is a locked file; on PostgreSQL, which machines share, an advisory lock besides. The leases
of the ledger would keep two runs from doing an item twice; they would not keep one from taking back what the other
has just decided.
"""

import fcntl
import hashlib
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, exc, text

from datasmith.errors import StoreUnavailable, WindowTaken

ASK_S = 60.0
"""A session that only holds a lock is asked so often: what stands between drops one that says nothing for long."""
ORPHANED_S = 5.0
"""A lock of nobody who is there any more is waited for so long: of who was killed, a child may be about to become
another program, and holds it until then."""
_LOST = (exc.OperationalError, exc.InterfaceError)
_APPLICATION_CHARS = 63
"""PostgreSQL cuts the name of an application here."""
_HOLDERS = text(
    "SELECT a.application_name, a.backend_start FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
    " WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND l.classid::bigint = :high AND l.objid::bigint = :low AND l.pid <> pg_backend_pid() ORDER BY a.backend_start"
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a window: a process of a host, since a moment (aware, UTC)."""

    host: str
    pid: int
    since: datetime

    @property
    def line(self) -> str:
        """As it stands in the lock's file."""
        return f"{self.host} {self.pid} {self.since.astimezone(UTC).isoformat(timespec='seconds')}"

    @classmethod
    def read(cls, line: str) -> "Holder | None":
        """The holder of a line; None where it is none."""
        try:
            host, pid, since = line.split(" ")
            return cls(host, int(pid), datetime.fromisoformat(since))
        except ValueError:
            return None


def taken(window: str, holders: list[str]) -> WindowTaken:
    """The error that says who is at work and what can be done."""
    who = ", ".join(holders[:3]) or "another process"
    return WindowTaken(
        f"{window} is being worked on by {who} (wait until it ends, or start each of several workers with --join)"
    )


@contextmanager
def file_lock(place: Path, window: str, me: Holder, *, join: bool) -> Iterator[None]:
    """Hold `<place>/locks/<window>.lock`, alone or, with `join`, beside others that joined; the file stays.

    Raises:
        WindowTaken: somebody else holds it.
        StoreUnavailable: the file cannot be made or locked there.
    """
    path = place / "locks" / f"{window}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreUnavailable(f"{path}: {error.strerror} (example: --data-dir ./work)") from error
    try:
        _lock(descriptor, path, window, me, join)
        yield
    finally:
        os.close(descriptor)  # and with it the lock


def _lock(descriptor: int, path: Path, window: str, me: Holder, join: bool) -> None:
    how = (fcntl.LOCK_SH if join else fcntl.LOCK_EX) | fcntl.LOCK_NB
    until = time.monotonic() + ORPHANED_S
    try:
        while not _is_locked(descriptor, how):
            holders = _readers(path, me.host)
            if holders or time.monotonic() > until:
                raise taken(window, holders)
            time.sleep(0.02)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be locked: {error.strerror} (example: --data-dir ./work)") from error
    if not join:
        os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{me.line}\n".encode())


def _is_locked(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        return False
    return True


def _readers(path: Path, here: str) -> list[str]:
    """Those who wrote their names into the file, without processes of this host that are gone."""
    found = [Holder.read(line) for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    alive = [one for one in found if one and (one.host != here or Path(f"/proc/{one.pid}").exists())]
    return [f"{one.host} (pid {one.pid}) since {one.since:%Y-%m-%d %H:%M:%S} UTC" for one in alive]


@contextmanager
def advisory_lock(
    connection: Connection, window: str, me: Holder, *, join: bool, ask_s: float = ASK_S
) -> Iterator[None]:
    """Hold PostgreSQL's advisory lock of a window on this connection, which must commit by itself.

    Every `ask_s` the session is asked for it again: one that was lost gives way to a new one.

    Raises:
        WindowTaken: another connection to this database holds it.
    """
    if not _take(connection, window, me, join):
        raise taken(window, _connected(connection, lock_key(window)))
    over = threading.Event()
    keep = threading.Thread(target=_keep, args=(connection, window, me, join, over, ask_s), daemon=True)
    keep.start()
    try:
        yield
    finally:
        over.set()
        keep.join()
        try:
            connection.execute(text("SELECT pg_advisory_unlock_all()"))
        except _LOST as error:  # a session that is gone holds no lock
            _log.info("%s: the session that held it was lost: %s", window, error.orig)
        connection.invalidate()  # its name in the server's list is the lock's


def _take(connection: Connection, window: str, me: Holder, join: bool) -> bool:
    """Take the lock, or take it once more; False where another session holds it."""
    name = f"fc-data {me.host} pid {me.pid}"[:_APPLICATION_CHARS]
    connection.execute(text("SELECT set_config('application_name', :name, false)"), {"name": name})
    lock = text(f"SELECT pg_try_advisory_lock{'_shared' if join else ''}(:key)")
    return bool(connection.execute(lock, {"key": lock_key(window)}).scalar())


def _keep(connection: Connection, window: str, me: Holder, join: bool, over: threading.Event, ask_s: float) -> None:
    mine = True
    while not over.wait(ask_s):
        try:
            if not mine:
                connection.execution_options(isolation_level="AUTOCOMMIT")  # a new session does not know it
            mine = _take(connection, window, me, join)
        except _LOST as error:
            mine = False
            connection.invalidate()
            _log.warning("%s: the session that held it was lost: %s", window, error.orig)
        else:
            if not mine:
                _log.warning("%s: another run has taken it since the session that held it was lost", window)
        connection.rollback()


def lock_key(window: str) -> int:
    """The window's number among PostgreSQL's advisory locks: 64 bits, signed."""
    digest = hashlib.sha256(f"fc-data window {window}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _connected(connection: Connection, key: int) -> list[str]:
    unsigned = key % 2**64
    rows = connection.execute(_HOLDERS, {"high": unsigned >> 32, "low": unsigned % 2**32})
    return [
        f"{name.removeprefix('fc-data ')} since {since.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" for name, since in rows
    ]
