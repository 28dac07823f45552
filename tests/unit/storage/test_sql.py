"""Opening a database: where it is, what is wrong with it, and what a dry run leaves behind."""

import sqlite3
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith.errors import ConfigError, SchemaMismatch, StoreError, StoreUnavailable
from datasmith.settings import Settings
from datasmith.storage import open_store
from datasmith.storage.schema import REVISION
from datasmith.storage.sql import SqlStore


def files(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in place.iterdir()}


def filled(path: Path, rows: int = 1) -> Path:
    """A closed store with pull requests in it."""
    with SqlStore.at(path) as store:
        store.migrate()
        row = {"owner": "a", "repo": "b", "body": "x" * 2000}
        store.upsert("pull_requests", [{**row, "issue_number": number} for number in range(rows)])
    return path


def test_the_default_store_is_a_file_in_the_data_directory(tmp_path: Path) -> None:
    """Directories are made; the store can be used at once, and again."""
    settings = Settings(data_dir=tmp_path / "deep" / "work")
    for expected in (0, 1):
        with open_store(settings) as store:
            assert len(store.select("repositories")) == expected
            store.upsert("repositories", [{"owner": "a", "repo": "b"}])
    assert (tmp_path / "deep" / "work" / "fc.sqlite").is_file()


def test_a_name_that_means_something_in_a_url_is_only_a_name(tmp_path: Path) -> None:
    """Spaces, percent signs, question marks and hashes in a path."""
    filled(tmp_path / "a b%20?x=1#y" / "fc.sqlite")
    assert [path.name for path in tmp_path.iterdir()] == ["a b%20?x=1#y"]
    assert (tmp_path / "a b%20?x=1#y" / "fc.sqlite").stat().st_size > 0


@pytest.mark.parametrize("by_url", [False, True])
def test_a_dry_run_without_a_database_creates_none(tmp_path: Path, by_url: bool) -> None:
    """It reads as empty, takes nothing, and nothing is there afterwards."""
    url = f"sqlite:///{tmp_path}/none/fc.sqlite" if by_url else ""
    with open_store(Settings(data_dir=tmp_path / "none", database_url=url), create=False) as store:
        assert store.stage_items("w") == []
        with pytest.raises(StoreUnavailable, match="reading only"):
            store.upsert("repositories", [{"owner": "a", "repo": "b"}])
    assert files(tmp_path) == {}


def test_a_dry_run_changes_nothing_in_a_database(tmp_path: Path) -> None:
    """Reading leaves every byte and no file beside it; writing is refused."""
    filled(tmp_path / "fc.sqlite")
    before = files(tmp_path)
    with open_store(Settings(data_dir=tmp_path), create=False) as store:
        assert len(store.select("pull_requests")) == 1
        with pytest.raises(StoreUnavailable, match="reading only"):
            store.reopen("w", 3, ["failed"], datetime(2026, 1, 1, tzinfo=UTC))
        assert files(tmp_path) == before
    assert files(tmp_path) == before


def test_a_dry_run_sees_what_a_running_one_has_written(tmp_path: Path) -> None:
    """Rows that are still in the write-ahead log are there."""
    with SqlStore.at(tmp_path / "fc.sqlite") as running:
        running.migrate()
        running.upsert("repositories", [{"owner": "a", "repo": "b"}])
        names = set(files(tmp_path))
        with open_store(Settings(data_dir=tmp_path), create=False) as store:
            assert len(store.select("repositories")) == 1
        assert set(files(tmp_path)) == names


def test_a_dry_run_does_not_migrate(tmp_path: Path) -> None:
    """An empty file is told, not filled."""
    (tmp_path / "fc.sqlite").touch()
    with pytest.raises(SchemaMismatch, match="empty"):
        open_store(Settings(data_dir=tmp_path), create=False)
    assert files(tmp_path) == {"fc.sqlite": b""}


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    """Migrate and check name both revisions, and change nothing."""
    path = filled(tmp_path / "fc.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0999'")
    connection.close()
    with SqlStore.at(path) as store:
        for call in (store.migrate, store.check):
            with pytest.raises(SchemaMismatch) as caught:
                call()
            assert (caught.value.found, caught.value.expected) == ("0999", REVISION)
        assert len(store.select("pull_requests")) == 1


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    """The message has the file's path; the file is as it was."""
    (tmp_path / "fc.sqlite").write_text("not a database " * 100)
    before = files(tmp_path)
    with pytest.raises(StoreUnavailable, match=r"fc\.sqlite: file is not a database"):
        open_store(Settings(data_dir=tmp_path))
    assert files(tmp_path) == before


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """Pages overwritten in the middle: reading them says so, with the path."""
    path = filled(tmp_path / "fc.sqlite", rows=200)
    content = bytearray(path.read_bytes())
    content[20 * 4096 : 60 * 4096] = b"\xaa" * (40 * 4096)
    path.write_bytes(content)
    with SqlStore.at(path) as store, pytest.raises(StoreUnavailable, match=r"fc\.sqlite: .*malformed"):
        store.select("pull_requests")


@pytest.mark.parametrize("blocked", ["directory", "parent"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, blocked: str) -> None:
    """A directory where the file should be; and a file where its directory should be, which no later try makes one."""
    path = tmp_path / "x" / "fc.sqlite"
    if blocked == "directory":
        path.mkdir(parents=True)
    else:
        path.parent.touch()
    kind = ConfigError if blocked == "parent" else StoreUnavailable
    with SqlStore.at(path) as store, pytest.raises(kind, match=r"x/fc\.sqlite"):
        store.migrate()


@pytest.mark.parametrize(
    "url", ["", "nonsense", "nonsense://x", "mysql://u:secret@h/d", "postgresql+nodriver://u:secret@h/d"]
)
def test_a_url_that_cannot_be_used_is_a_wrong_setting(url: str) -> None:
    """The message names the variable, gives an example, and keeps the password."""
    with pytest.raises(ConfigError, match="DATABASE_URL") as caught:
        SqlStore(url)
    assert "secret" not in str(caught.value)
    assert ("sqlite and postgresql are supported" in str(caught.value)) is ("://x" in url or "mysql" in url)


def test_a_location_has_no_password() -> None:
    """What messages show of a URL."""
    pytest.importorskip("psycopg", reason="psycopg is not installed (PostgreSQL's driver)")
    with SqlStore("postgres://user:secret@127.0.0.1:1/db?connect_timeout=1") as store:
        assert store.location == "postgresql+psycopg://user:***@127.0.0.1:1/db?connect_timeout=1"
        with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1") as caught:
            store.check()
    assert "secret" not in str(caught.value)


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    """While another process writes, readers see the state before it."""
    path = filled(tmp_path / "fc.sqlite")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM pull_requests")
    with SqlStore.at(path) as store:
        assert len(store.select("pull_requests")) == 1
        writer.execute("COMMIT")
        assert store.select("pull_requests") == []
    writer.close()


def test_a_new_file_that_another_process_is_writing_is_waited_for(tmp_path: Path) -> None:
    """SQLite does not wait by itself where the file is to be switched to write-ahead logging."""
    path = tmp_path / "fc.sqlite"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE theirs (x)")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        sqlite3.connect(path).execute("PRAGMA journal_mode = WAL")
    ends = threading.Timer(0.3, other.close)
    ends.start()
    with SqlStore.at(path) as store:
        store.migrate()
        assert len(store.select("repositories")) == 0
    ends.join()


def test_an_error_inside_a_transaction_is_ours(tmp_path: Path) -> None:
    """Whatever SQLAlchemy raises comes out as a StoreError that names the database."""
    with SqlStore.at(filled(tmp_path / "fc.sqlite")) as store, pytest.raises(StoreError, match=r"fc\.sqlite"):
        store.upsert("pull_requests", [{"owner": "a", "repo": "b", "issue_number": 1, "confidence": 101.0}])
