"""What every Store promises: rows."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest

from datasmith.errors import SchemaMismatch, StoreError
from datasmith.storage.base import Store, Value
from datasmith.storage.schema import REVISION
from datasmith.storage.sql import SqlStore
from tests.conformance.stores import open_store

NOW = datetime(2026, 2, 3, 4, 5, 6, 789012, tzinfo=UTC)
KEY: dict[str, Value] = {"owner": "a", "repo": "b", "issue_number": 1}


def nested(depth: int) -> Value:
    """A list in a list, and so on."""
    value: Value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.fixture(scope="module", params=["file", "memory", "postgresql"])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(request.param, tmp_path_factory.mktemp("store")) as store:
        yield store


@pytest.fixture
def store(opened: Store) -> Store:
    """The store without what an earlier test left in the tables used here."""
    assert isinstance(opened, SqlStore)
    with opened._transaction(write=True) as connection:
        for table in ("pull_requests", "runner_failures", "packages"):
            connection.exec_driver_sql(f"DELETE FROM {table}")
    return opened


def test_migrating_again_changes_nothing(store: Store) -> None:
    """A second migrate keeps rows and schema."""
    store.upsert("pull_requests", [KEY])
    store.migrate()
    store.check()
    assert len(store.select("pull_requests")) == 1


def test_a_store_that_was_never_migrated_is_refused() -> None:
    """Check says what it found and what it needs."""
    with pytest.raises(SchemaMismatch) as caught:
        SqlStore().check()
    assert (caught.value.found, caught.value.expected) == ("empty", REVISION)


def test_reading_without_a_schema_is_a_mismatch() -> None:
    """A missing table is told as a schema problem, not as a database error."""
    with pytest.raises(SchemaMismatch):
        SqlStore().select("pull_requests")


def test_an_upsert_replaces_only_the_columns_it_names(store: Store) -> None:
    """Stages write their columns of one row, one after another."""
    store.upsert("pull_requests", [{**KEY, "title": "first", "body": "kept"}])
    store.upsert("pull_requests", [{**KEY, "title": "second", "is_performance_commit": True}])
    (row,) = store.select("pull_requests")
    assert (row["title"], row["body"], row["is_performance_commit"]) == ("second", "kept", True)


def test_the_last_of_two_rows_with_one_key_wins(store: Store) -> None:
    """Rows with the same key are written in the order in which they are given."""
    store.upsert("pull_requests", [{**KEY, "title": "first"}, {**KEY, "title": "second"}])
    assert [row["title"] for row in store.select("pull_requests")] == ["second"]


def test_a_row_of_nothing_but_its_key_changes_nothing(store: Store) -> None:
    """Such a row makes sure that there is one."""
    store.upsert("pull_requests", [{**KEY, "title": "kept"}])
    store.upsert("pull_requests", [KEY, {**KEY, "issue_number": 2}])
    assert [row["title"] for row in store.select("pull_requests")] == ["kept", None]


def test_an_upsert_is_all_or_nothing(store: Store) -> None:
    """The second row breaks a rule: the first is not there either."""
    with pytest.raises(StoreError):
        store.upsert("pull_requests", [KEY, {**KEY, "issue_number": 2, "merged_at": datetime(2026, 1, 1)}])  # noqa: DTZ001
    assert store.select("pull_requests") == []


def test_rows_with_counted_ids_are_added(store: Store) -> None:
    """A table that counts its own ids takes the same row twice."""
    store.upsert("runner_failures", [{"item": "a/b:1"}, {"item": "a/b:1"}])
    rows = store.select("runner_failures")
    assert len({row["id"] for row in rows}) == 2


@pytest.mark.parametrize(
    ("table", "row", "word"),
    [
        ("no_such", {"a": 1}, "no_such"),
        ("pull_requests", {**KEY, "no_such": 1}, "no_such"),
        ("pull_requests", {"owner": "a", "repo": "b"}, "issue_number"),
        ("packages", {"owner": "a", "repo": "b", "sha": "c", "cutoff": datetime(2026, 1, 1)}, "time zone"),  # noqa: DTZ001
        ("packages", {"owner": "a", "repo": "b", "sha": "c", "pins": [float("nan")]}, "finite"),
        ("packages", {"owner": "a", "repo": "b", "sha": "c", "cutoff": "yesterday"}, "yesterday"),
        ("packages", {"owner": "a", "repo": "b", "sha": b"c"}, "takes a text"),
        ("pull_requests", {**KEY, "issue_number": "1"}, "takes a whole number"),
        ("pull_requests", {**KEY, "issue_number": True}, "takes a whole number"),
        ("pull_requests", {**KEY, "issue_number": 2**31}, "takes a whole number"),
        ("pull_requests", {**KEY, "confidence": "high"}, "takes a number"),
        ("pull_requests", {**KEY, "is_performance_commit": 1}, "takes true or false"),
        ("pull_requests", {**KEY, "labels": nested(100_000)}, "too deeply"),
    ],
)
def test_a_row_that_does_not_fit_is_named(store: Store, table: str, row: dict[str, Value], word: str) -> None:
    """The message says which table, column or value is wrong."""
    with pytest.raises(StoreError, match=word):
        store.upsert(table, [row])


def test_values_come_back_as_they_were(store: Store) -> None:
    """JSON as Python values, truth as bool, missing as None, text with any character, moments to the microsecond."""
    values: dict[str, Value] = {
        "labels": ["perf", "ü", "😀"],
        "files": [{"path": "src/a.py", "additions": None, "deletions": 2, "status": "modified"}],
        "resolution": None,
        "is_performance_commit": False,
        "confidence": 0.25,
        "title": "tab\t, quote ', 100 %, \\, \u202e, 😀",
        "body": "",
        "patch": "x" * 1_000_000,
        "merged_at": NOW,
    }
    store.upsert("pull_requests", [{**KEY, **values}])
    (row,) = store.select("pull_requests")
    assert {name: row[name] for name in values} == values
    assert row["is_performance_commit"] is False


def test_moments_come_back_in_utc(store: Store) -> None:
    """The zone a moment was written in does not matter."""
    store.upsert("pull_requests", [{**KEY, "merged_at": NOW.astimezone(timezone(timedelta(hours=-7)))}])
    merged_at = store.select("pull_requests")[0]["merged_at"]
    assert isinstance(merged_at, datetime)
    assert (merged_at, merged_at.utcoffset()) == (NOW, timedelta(0))


def test_what_databases_refuse_is_replaced(store: Store) -> None:
    """NUL and lone surrogates become U+FFFD: in text, in keys, deep in JSON, and in what is looked for."""
    store.upsert("pull_requests", [{**KEY, "title": "a\0b\ud800", "labels": [{"k\0": "v\udfff"}]}])
    (row,) = store.select("pull_requests", {"title": "a\0b\ud800"})
    assert (row["title"], row["labels"]) == ("a\ufffdb\ufffd", [{"k\ufffd": "v\ufffd"}])


def test_text_is_never_sql(store: Store) -> None:
    """Statements in any text field are text."""
    hostile = "'); DELETE FROM pull_requests; --"
    texts = dict.fromkeys(("title", "body", "author", "patch", "reason", "task_id"), hostile)
    store.upsert("pull_requests", [{**KEY, "owner": hostile, **texts}])
    assert len(store.select("pull_requests", {"owner": hostile, "title": hostile})) == 1
    store.enter(hostile, 3, [(hostile, "pull_request")], NOW)
    assert [item.item for item in store.claim(hostile, 3, hostile, 1, 60, NOW)] == [hostile]


def test_a_condition_of_none_means_missing(store: Store) -> None:
    """Not classified yet is a question one can ask."""
    store.upsert("pull_requests", [KEY, {**KEY, "issue_number": 2, "is_performance_commit": True}])
    rows = store.select("pull_requests", {"is_performance_commit": None})
    assert [row["issue_number"] for row in rows] == [1]


def test_rows_come_in_a_stated_order(store: Store) -> None:
    """By the columns asked for, else by primary key, text by code point."""
    owners = ["b", "B", "a", "ä", "-"]
    store.upsert("pull_requests", [{**KEY, "owner": owner, "title": f"{10 - n}"} for n, owner in enumerate(owners)])
    assert [row["owner"] for row in store.select("pull_requests")] == sorted(owners)
    titles = [row["title"] for row in store.select("pull_requests", order=["title"])]
    assert titles == sorted(titles, key=str)


def test_a_column_of_json_is_not_compared(store: Store) -> None:
    """PostgreSQL cannot, SQLite would compare its spelling: both are asked only whether it is there."""
    store.upsert("pull_requests", [{**KEY, "labels": ["perf"]}, {**KEY, "issue_number": 2}])
    assert [row["issue_number"] for row in store.select("pull_requests", {"labels": None})] == [2]
    with pytest.raises(StoreError, match="labels holds JSON"):
        store.select("pull_requests", {"labels": ["perf"]})
    with pytest.raises(StoreError, match="labels holds JSON"):
        store.select("pull_requests", order=["labels"])


def test_conditions_name_known_columns(store: Store) -> None:
    """A misspelt column is an error, not an empty answer."""
    with pytest.raises(StoreError, match="tittle"):
        store.select("pull_requests", {"tittle": "x"})
    with pytest.raises(StoreError, match="tittle"):
        store.select("pull_requests", order=["tittle"])
