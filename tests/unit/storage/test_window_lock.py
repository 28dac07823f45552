"""A window has one run, or several that all said so; a lock dies with its process."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from datasmith.errors import StoreUnavailable, WindowTaken
from datasmith.storage.sql import SqlStore
from datasmith.storage.window_lock import Holder, file_lock, lock_key
from tests.conformance.stores import postgresql

WINDOW = "2026-02-01..2026-03-01"
OTHER = "2026-03-01..2026-04-01"
NOW = datetime(2026, 3, 1, 2, 3, 4, 500, tzinfo=UTC)
ME = Holder(socket.gethostname(), os.getpid(), NOW)

Lock = Callable[[str, bool], AbstractContextManager[None]]
"""(window, join) -> the lock, each time as another process would take it."""

HOLD = """
import os, sys, time
from datetime import UTC, datetime
from pathlib import Path
from datasmith.storage.sql import SqlStore
from datasmith.storage.window_lock import Holder, file_lock
place, window = sys.argv[1:]
me = Holder("elsewhere", os.getpid(), datetime.now(UTC))
if "://" in place:
    lock = SqlStore(place).hold(window, me, join=False)
else:
    lock = file_lock(Path(place), window, me, join=False)
with lock:
    print("held", flush=True)
    time.sleep(600)
"""


ORPHAN = """
import os, socket, sys, time
from datetime import UTC, datetime
from pathlib import Path
from datasmith.storage.window_lock import Holder, file_lock
place, window = sys.argv[1:]
with file_lock(Path(place), window, Holder(socket.gethostname(), os.getpid(), datetime.now(UTC)), join=False):
    if os.fork() == 0:
        time.sleep(1.0)
        os._exit(0)
    print("held", flush=True)
    time.sleep(600)
"""


def assert_alone(lock: Lock) -> None:
    """What holds for every kind of lock."""
    with lock(WINDOW, False):
        for join in (False, True):
            with pytest.raises(WindowTaken, match=WINDOW), lock(WINDOW, join):
                pass
        with lock(OTHER, False):
            pass
    with lock(WINDOW, True), lock(WINDOW, True), pytest.raises(WindowTaken, match="--join"), lock(WINDOW, False):
        pass
    with lock(WINDOW, False):
        pass
    with pytest.raises(ZeroDivisionError), lock(WINDOW, False):
        raise ZeroDivisionError
    with lock(WINDOW, False):
        pass


def assert_dies_with_its_process(place: str, lock: Lock) -> None:
    """Kill -9 leaves no lock behind."""
    child = subprocess.Popen([sys.executable, "-c", HOLD, place, WINDOW], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "held\n"
    with pytest.raises(WindowTaken, match=rf"elsewhere \(?pid {child.pid}\)? since 20\d\d-"), lock(WINDOW, False):
        pass
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    for _ in range(200):  # a server notices a moment later
        try:
            with lock(WINDOW, False):
                return
        except WindowTaken:
            signal.sigtimedwait([], 0.05)
    pytest.fail("the lock of a killed process holds on")


def test_one_run_holds_a_window_in_a_data_directory(tmp_path: Path) -> None:
    """Two runs, runs that join, an error inside, a killed process."""

    def lock(window: str, join: bool) -> AbstractContextManager[None]:
        return file_lock(tmp_path, window, ME, join=join)

    assert_alone(lock)
    assert_dies_with_its_process(str(tmp_path), lock)
    assert sorted(path.name for path in (tmp_path / "locks").iterdir()) == [f"{WINDOW}.lock", f"{OTHER}.lock"]


def test_one_run_holds_a_window_on_postgresql(tmp_path: Path) -> None:
    """The same between machines that share nothing but the server; an ended run leaves no lock in the pool."""
    with postgresql(tmp_path) as url, ExitStack() as stores:

        def lock(window: str, join: bool) -> AbstractContextManager[None]:
            return stores.enter_context(SqlStore(url)).hold(window, ME, join=join)

        assert_alone(lock)
        assert_dies_with_its_process(url, lock)
        with SqlStore(url) as store:
            with store.hold(WINDOW, ME, join=False):
                pass
            with pytest.raises(ZeroDivisionError), store.hold(WINDOW, ME, join=False):
                raise ZeroDivisionError
            with lock(WINDOW, False):
                pass


def ended(store: SqlStore) -> None:
    """End the sessions that hold a window, as a restart of the server does, or whatever stands between."""
    with store._engine.connect() as connection:
        connection.execute(text("SELECT pg_terminate_backend(pid, 9000) FROM pg_locks WHERE locktype = 'advisory'"))


def test_a_session_that_was_lost_is_no_error_of_the_run(tmp_path: Path) -> None:
    """With its session the lock is gone: the run ends well, and the next one takes it."""
    with postgresql(tmp_path) as url, SqlStore(url) as store, SqlStore(url) as other:
        for join in (False, True):
            with store.hold(WINDOW, ME, join=join):
                ended(other)
        with pytest.raises(ZeroDivisionError), store.hold(WINDOW, ME, join=False):
            ended(other)
            raise ZeroDivisionError
        with other.hold(WINDOW, ME, join=False):
            pass


def is_told(caplog: pytest.LogCaptureFixture, words: str) -> bool:
    """Whether the log says so within half a minute."""
    return any(words in caplog.text or signal.sigtimedwait([], 0.1) for _ in range(300))


def test_a_session_that_was_lost_gives_way_to_another(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Which holds the window as the first did, unless somebody else holds it by then; that is told."""
    with postgresql(tmp_path) as url, SqlStore(url) as store, SqlStore(url) as other:
        with store.hold(WINDOW, ME, join=False, ask_s=0.05):
            ended(other)
            assert is_told(caplog, "the session that held it was lost")
            signal.sigtimedwait([], 1.0)
            with pytest.raises(WindowTaken), other.hold(WINDOW, ME, join=False):
                pass
        with other.hold(WINDOW, ME, join=False):
            pass
        with store.hold(WINDOW, ME, join=False, ask_s=1.0):
            ended(other)
            with other.hold(WINDOW, ME, join=False):
                assert is_told(caplog, "another run has taken it")


def test_a_store_that_nobody_shares_holds_nothing() -> None:
    """There the lock of the data directory is the one."""
    with SqlStore() as store, store.hold(WINDOW, ME, join=False), store.hold(WINDOW, ME, join=False):
        assert store.location == "memory"


def test_the_holder_is_named_by_host_process_and_time(tmp_path: Path) -> None:
    """In one line; processes of this host that are gone are not named, lines that are none are passed over."""
    place = tmp_path / "locks"
    place.mkdir()
    with file_lock(tmp_path, WINDOW, ME, join=True), file_lock(tmp_path, WINDOW, Holder("b", 7, NOW), join=True):
        path = place / f"{WINDOW}.lock"
        assert path.read_text().splitlines() == [ME.line, "b 7 2026-03-01T02:03:04+00:00"]
        with path.open("a") as file:
            file.write(f"{Holder(ME.host, 2**22 + 1, NOW).line}\nnonsense\nc x 2026\n\n")
        with pytest.raises(WindowTaken) as told, file_lock(tmp_path, WINDOW, ME, join=False):
            pass
    assert str(told.value) == (
        f"{WINDOW} is being worked on by {ME.host} (pid {ME.pid}) since 2026-03-01 02:03:04 UTC, b (pid 7) since "
        "2026-03-01 02:03:04 UTC (wait until it ends, or start each of several workers with --join)"
    )
    with file_lock(tmp_path, WINDOW, ME, join=False):
        assert path.read_text() == f"{ME.line}\n"
    assert Holder.read(ME.line) == Holder(ME.host, ME.pid, NOW.replace(microsecond=0))


def test_a_place_that_cannot_be_locked_is_named(tmp_path: Path) -> None:
    """A file where the directory should be."""
    (tmp_path / "file").touch()
    with (
        pytest.raises(StoreUnavailable, match=r"file/locks.*--data-dir"),
        file_lock(tmp_path / "file", WINDOW, ME, join=False),
    ):
        pass


def test_windows_have_numbers_of_their_own() -> None:
    """64 bits with a sign, as PostgreSQL takes them, the same on every machine."""
    assert lock_key(WINDOW) != lock_key(OTHER) and -(2**63) <= lock_key(WINDOW) < 2**63
    assert lock_key("w") == lock_key("w")


def test_a_child_of_who_was_killed_is_waited_for(tmp_path: Path) -> None:
    """Between fork and exec a child holds what its parent held: who goes on at once is not told of another run."""
    child = subprocess.Popen([sys.executable, "-c", ORPHAN, tmp_path, WINDOW], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "held\n"
    child.kill()
    child.wait()
    child.stdout.close()
    with file_lock(tmp_path, WINDOW, ME, join=False):
        pass
