"""The stores that the conformance suite runs on, each empty and migrated."""

import atexit
import getpass
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path

import pytest

from datasmith.storage.base import Store
from datasmith.storage.sql import SqlStore

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1:]
"""Debian's directory of the newest PostgreSQL."""


def open_store(kind: str, place: Path) -> AbstractContextManager[Store]:
    """One of "file", "memory" and "postgresql"."""
    return open_sql_store(kind, place)


@contextmanager
def open_sql_store(kind: str, place: Path) -> Iterator[SqlStore]:
    """The same, for tests that look at the database behind it."""
    if kind == "postgresql":
        with postgresql(place) as url, SqlStore(url) as store:
            store.migrate()
            yield store
        return
    with SqlStore.at(place / "fc.sqlite") if kind == "file" else SqlStore() as store:
        store.migrate()
        yield store


@contextmanager
def postgresql(_place: Path | None = None) -> Iterator[str]:
    """A PostgreSQL server on loopback that lives as long as the body; gives its URL.

    Its files lie in a directory of their own: each start of pytest makes those of all others private, and the server
    has another user than the tests.
    """
    pytest.importorskip("psycopg", reason="psycopg is not installed (PostgreSQL's driver)")
    if not PROGRAMS:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    data = Path(tempfile.mkdtemp(prefix="fc-postgresql-"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    user, become = _unprivileged(data)
    run = [*become, str(PROGRAMS[0] / "pg_ctl"), "-D", str(data / "db"), "-w", "-l", str(data / "log")]
    subprocess.run(["cp", "-a", _fresh_cluster(), data / "db"], check=True, capture_output=True)
    options = f"-p {port} -h 127.0.0.1 -k {data} -c fsync=off"
    subprocess.run([*run, "-o", options, "start"], check=True, capture_output=True, cwd="/")
    try:
        yield f"postgresql://{user}@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*run, "-m", "immediate", "stop"], check=True, capture_output=True, cwd="/")
        shutil.rmtree(data)


@cache
def _fresh_cluster() -> Path:
    """What `initdb` makes, once in a process: each server starts on a copy."""
    place = Path(tempfile.mkdtemp(prefix="fc-postgresql-new-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    _, become = _unprivileged(place)
    made = [*become, str(PROGRAMS[0] / "pg_ctl"), "-D", str(place / "db"), "-o", "-A trust --no-sync", "initdb"]
    subprocess.run(made, check=True, capture_output=True)
    return place / "db"


def _unprivileged(data: Path) -> tuple[str, list[str]]:
    """The server's user and the words that change to it: PostgreSQL does not run as root."""
    if os.getuid() != 0:
        return getpass.getuser(), []
    data.chmod(0o755)
    shutil.chown(data, "postgres")
    return "postgres", ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
