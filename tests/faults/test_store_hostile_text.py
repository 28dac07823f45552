"""Hostile text goes into every text field, comes out as it was (or cleaned), and does nothing else."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import JSON, Text

from datasmith.errors import StoreError
from datasmith.publish.records import record, write_parquet
from datasmith.storage.base import Entry, ItemKind, Row, Value, Verdict
from datasmith.storage.schema import clean_text, metadata
from datasmith.storage.sql import SqlStore
from datasmith.storage.table import Client
from tests.conformance.stores import open_sql_store
from tests.faults.hostile_text import FIVE_MEGABYTES, TEXTS, fuzzed
from tests.unit.tasks.samples import sample_task

NOW = datetime(2026, 2, 3, tzinfo=UTC)
PR: ItemKind = "pull_request"
STATES = {"stage_items.kind", "stage_items.state", "runner_progress.state", "certificates.status"}
STATES |= {"pull_requests.certificate_status"}
"""Columns that take words of a list only."""
KEY = 200
"""Characters of a text that go into a key."""


@pytest.fixture(scope="module", params=["file", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlStore]:
    with open_sql_store(request.param, tmp_path_factory.mktemp("store")) as opened:
        yield opened


def hostile_row(table: str, text: str) -> Row:
    """A row in which every column that can hold the text holds it; JSON holds it as value and as key."""
    row: dict[str, Value] = {}
    for column in metadata.tables[table].columns:
        name = f"{table}.{column.name}"
        if isinstance(column.type, Text) and name not in STATES:
            row[column.name] = text[:KEY] if column.primary_key else text
        elif isinstance(column.type, JSON):
            row[column.name] = {text[:100]: [text]}
        elif (
            column.primary_key
            and column.autoincrement is not True
            and table not in {"build_attempts", "runner_failures"}
        ):
            row[column.name] = NOW if column.name == "issued_at" else 3
    return row | (
        {"kind": PR, "state": "pending", "attempts": 0, "fence": 0, "updated_at": NOW} if table == "stage_items" else {}
    )


def cleaned(value: Value) -> Value:
    """What comes out: text, also in JSON, without what databases refuse."""
    if isinstance(value, str):
        return "".join("\ufffd" if char == "\0" or "\ud800" <= char <= "\udfff" else char for char in value)
    if isinstance(value, list):
        return [cleaned(part) for part in value]
    if isinstance(value, dict):
        return {str(cleaned(key)): cleaned(part) for key, part in value.items()}
    return value


def counts(store: SqlStore) -> dict[str, int]:
    return {
        name: Client(store).table(name).select("*", count="exact").limit(0).execute().count or 0
        for name in metadata.tables
    }


@pytest.mark.parametrize("table", sorted(metadata.tables))
def test_every_text_field_holds_any_text(store: SqlStore, table: str) -> None:
    """It is found by itself, comes back as it was, and no other row or table has changed."""
    before = counts(store)
    fields_filled = 0
    for text in TEXTS.values():
        row = hostile_row(table, text)
        fields_filled += sum(isinstance(value, str | dict) for value in row.values())
        store.upsert(table, [row])
        short = {name: value for name, value in row.items() if isinstance(value, str) and len(value) <= 200}
        found = store.select(table, short)
        expected = cleaned(row)
        assert found, "it is not found by its own text"
        assert {name: found[-1][name] for name in row} == expected
    after = counts(store)
    print(f"hostile text: {len(TEXTS)} texts in {fields_filled} fields of {table} on {store.location[:10]}: 0 lost")
    assert {name: after[name] - before[name] for name in after if name != table} == dict.fromkeys(
        set(after) - {table}, 0
    )
    distinct = {clean_text(text)[:KEY] for text in TEXTS.values()}
    assert after[table] - before[table] == len(distinct if "id" not in metadata.tables[table].columns else TEXTS)


def test_the_ledger_takes_any_names(store: SqlStore) -> None:
    """Windows, items, workers and reasons; every item goes all the way."""
    for text in (text for text in TEXTS.values() if len(text) < 200):
        window = clean_text(f"names {text}")
        assert store.enter(window, 3, [(text, PR)], NOW) == 1
        (item,) = store.claim(window, 3, text, 5, 60, NOW)
        assert store.renew([item], 60, NOW) == 1
        verdict = Verdict(item, "refused", text, (), (Entry(4, text, PR),))
        assert store.finish_many([verdict], NOW) == [True]
        (row,) = store.funnel(window)[:1]
        assert (row.state, row.reason) == ("refused", clean_text(text))


def test_fuzzed_text_is_only_text(store: SqlStore) -> None:
    """2,000 texts in titles: each comes back as it was, cleaned, by its number and by its text."""
    texts = fuzzed(2000)
    key: Row = {"owner": "fuzz", "repo": "b"}
    store.upsert("pull_requests", [{**key, "issue_number": n, "title": text} for n, text in enumerate(texts)])
    found = store.select("pull_requests", {"owner": "fuzz"})
    assert [row["title"] for row in found] == [clean_text(text) for text in texts]
    table = Client(store).table("pull_requests").select("issue_number").eq("owner", "fuzz")
    wrong = sum(
        n not in [row["issue_number"] for row in table.eq("title", texts[n]).execute().data] for n in range(0, 2000, 20)
    )
    print(f"hostile text: {len(texts)} fuzzed titles on {store.location[:10]}, {wrong} not found by their text")
    assert wrong == 0


def test_a_key_that_is_too_long_is_a_fault_of_the_row(store: SqlStore) -> None:
    """Not an outage of the database: the item fails, and the stage goes on."""
    row: Row = dict.fromkeys(("entity_key", "hook_name", "args_hash"), "\u20ac" * 283)
    store.upsert("hook_cache", [row])
    assert len(store.select("hook_cache", row)) == 1
    with pytest.raises(StoreError, match=r"entity_key is a key: 5000000") as caught:
        store.upsert("hook_cache", [{**row, "entity_key": FIVE_MEGABYTES + "x" * 2_000_000}])
    assert type(caught.value) is StoreError


def test_bodies_of_megabytes_come_back(store: SqlStore) -> None:
    """Text and JSON of millions of characters, with NUL between them."""
    key: Row = {"owner": "long", "repo": "b", "issue_number": 1}
    store.upsert("pull_requests", [{**key, "body": FIVE_MEGABYTES, "files": [FIVE_MEGABYTES]}])
    (row,) = store.select("pull_requests", key)
    assert row["body"] == cleaned(FIVE_MEGABYTES) and row["files"] == [row["body"]]


def test_parquet_takes_any_text(tmp_path: Path) -> None:
    """Records of hostile text, with what the store cleans, come back equal; so they do from JSON."""
    blank = record(sample_task())
    texts = [clean_text(text) for text in [*TEXTS.values(), *fuzzed(500)]]
    rows = [replace(blank, task_id=f"{n:04}", final_md=text, owner=text) for n, text in enumerate(texts)]
    write_parquet(rows, tmp_path / "x.parquet")
    found = pl.read_parquet(tmp_path / "x.parquet")
    assert found["final_md"].to_list() == found["owner"].to_list() == texts
    assert json.loads(json.dumps(found["final_md"].to_list())) == texts
