"""A full disk stops the work with one clear line, damages nothing, and afterwards the work goes on."""

import os
import random
import resource
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import anyio
import psycopg
import pytest

from datasmith.errors import StoreUnavailable
from datasmith.runners.base import Outcome
from datasmith.storage.base import Row
from datasmith.storage.sql import SqlStore
from tests.conformance.stores import postgresql
from tests.unit.runners.numbers import WINDOW, Numbers, entered

ITEMS = 60


@contextmanager
def file_size_limit(_: Path) -> Iterator[None]:
    """No file may grow over 600 KB while the body runs."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def small_tmpfs(place: Path) -> Iterator[None]:
    """A file system of 1 MB; when the body ends it has room again."""
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,size=64m", place], check=True)


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Path]:
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)]
    if os.getuid() != 0 or subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a tmpfs needs root; the file size limit is tested instead")
    yield tmp_path
    subprocess.run(["umount", "--lazy", tmp_path], check=True)


async def bulky(number: int) -> Outcome[int]:
    row: Row = {"owner": "a", "repo": "b", "issue_number": number, "stdout": "x" * 40_000}
    return Outcome("passed", rows=(("build_attempts", row),))


def check_full(place: Path, full: Callable[[Path], AbstractContextManager[None]]) -> None:
    """Fill the disk in the middle of a run, look at the file, make room, and finish."""
    path = place / "fc.sqlite"
    with SqlStore.at(path) as store:
        store.migrate()
        entered(store, ITEMS)
        with full(place), pytest.raises(StoreUnavailable, match=r"fc\.sqlite: .*(disk|full|I/O)") as caught:
            anyio.run(Numbers(store, bulky).run_stage)
    with sqlite3.connect(path) as connection:
        damage = connection.execute("PRAGMA integrity_check").fetchall()
    connection.close()
    with SqlStore.at(path) as store:
        stored, ended = len(store.select("build_attempts")), store.count(WINDOW, 3)["passed"]
        store.reopen(WINDOW, 3, ["leased"], Numbers(store, bulky).options.now())
        anyio.run(Numbers(store, bulky).run_stage)
        numbers = sorted(str(row["issue_number"]) for row in store.select("build_attempts"))
    print(f"disk full: {ended} of {ITEMS} ended, {stored} stored, damage {damage}; {caught.value}")
    assert damage == [("ok",)]
    assert 0 < stored == ended < ITEMS
    assert numbers == sorted(str(number) for number in range(ITEMS))


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """With a limit on the size of files: as much was stored as was acknowledged."""
    check_full(tmp_path, file_size_limit)


def test_a_file_system_without_room(tmpfs: Path) -> None:
    """On a tmpfs of 1 MB: the same."""
    check_full(tmpfs, small_tmpfs)


async def incompressible(number: int) -> Outcome[int]:
    """A row of 40,000 characters that do not compress."""
    noise = random.Random(number).randbytes(20_000).hex()
    row: Row = {"owner": "a", "repo": "b", "issue_number": number, "stdout": noise}
    return Outcome("passed", rows=(("build_attempts", row),))


def test_a_server_without_room() -> None:
    """PostgreSQL's tables on a tmpfs of 2 MB: one clear line, nothing acknowledged is lost, and it goes on."""
    place = Path(tempfile.mkdtemp(prefix="fc-small-"))
    words = ["mount", "-t", "tmpfs", "-o", "size=2m,mode=777", "tmpfs", str(place)]
    if os.getuid() != 0 or subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a tmpfs needs root")
    try:
        with postgresql() as url, SqlStore(url) as store:
            (place / "tables").mkdir()
            shutil.chown(place / "tables", "postgres")
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(f"CREATE TABLESPACE small LOCATION '{place}/tables'".encode())
                connection.execute(b"ALTER DATABASE postgres SET default_tablespace = small")
            store.migrate()
            entered(store, ITEMS)
            with (
                small_tmpfs(place),
                pytest.raises(StoreUnavailable, match=r"could not extend file .*No space") as caught,
            ):
                anyio.run(Numbers(store, incompressible).run_stage)
            stored, ended = len(store.select("build_attempts")), store.count(WINDOW, 3)["passed"]
            store.reopen(WINDOW, 3, ["leased"], Numbers(store, incompressible).options.now())
            anyio.run(Numbers(store, incompressible).run_stage)
            numbers = sorted(str(row["issue_number"]) for row in store.select("build_attempts"))
        print(f"disk full: {ended} of {ITEMS} ended, {stored} stored; {caught.value}")
        assert 0 < stored == ended < ITEMS
        assert numbers == sorted(str(number) for number in range(ITEMS))
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)
        place.rmdir()
