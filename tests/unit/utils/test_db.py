"""The public address of the fluent reader, and which database it reads."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasmith.errors import ConfigError
from datasmith.settings import Settings
from datasmith.storage import open_store
from datasmith.storage.base import Row
from datasmith.storage.sql import SqlStore
from tests.conformance.stores import postgresql

SEED = """
from datasmith.utils.db import get_client
from datasmith.publish import records_from_supabase
# Query all verified, unpublished perf PRs from the last month.
records = records_from_supabase(start_date="2026-02-01", end_date="2026-03-01")
# Or query Supabase directly for more control.
sb = get_client()
rows = sb.table("pull_requests") \\
    .select("*") \\
    .eq("is_performance_commit", True) \\
    .not_.is_("container_name", "null") \\
    .execute()
"""
"""The project's first description of itself ("Query Supabase directly"), without the publisher."""


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/fc.sqlite"
        return
    with postgresql() as found:
        yield found


def test_the_snippet_of_the_description_runs(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the database that DATABASE_URL names, migrated by it or before."""
    row: Row = {
        "owner": "a", "repo": "b", "issue_number": 1, "is_performance_commit": True, "container_name": "c",
        "image_digest": "d", "certificate_status": "valid", "merged_at": "2026-02-03",
    }  # fmt: skip
    with SqlStore(url) as store:
        store.migrate()
        store.upsert("pull_requests", [row, {**row, "issue_number": 2, "container_name": None}])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", url)
    names: dict[str, object] = {}
    exec(SEED, names)
    rows, records = names["rows"].data, names["records"]  # type: ignore[attr-defined]
    assert [found["issue_number"] for found in rows] == [1]
    assert [found.task_id for found in records] == ["a_b_1"]  # type: ignore[attr-defined]
    names["sb"].close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("address", "example"),
    [
        ("http://127.0.0.1:54321", "postgresql://postgres:postgres@127.0.0.1:54322/postgres"),
        ("https://abc.supabase.co", "shown by Supabase under Connect"),
    ],
)
def test_supabases_rest_address_alone_is_not_enough(address: str, example: str, tmp_path: Path) -> None:
    """No file is made in its stead; the message names DATABASE_URL and says what to write."""
    with pytest.raises(ConfigError, match=r"SUPABASE_URL.*no transactions.*DATABASE_URL") as caught:
        open_store(Settings(supabase_url=address, database_url="", data_dir=tmp_path))
    assert example in str(caught.value) and "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    with open_store(Settings(supabase_url=address, database_url="sqlite://", data_dir=tmp_path)) as store:
        assert store.select("repositories") == []


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core has no PostgreSQL driver: the message says how to get it, and keeps the password."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match=r"pip install '\.\[postgres\]'") as caught:
        SqlStore("postgresql://user:secret@127.0.0.1:1/db")
    assert "secret" not in str(caught.value) and "DATABASE_URL" in str(caught.value)


def test_settings_do_not_show_the_password() -> None:
    """Also where somebody prints them."""
    assert "secret" not in repr(Settings(database_url="postgresql://user:secret@h/db"))
