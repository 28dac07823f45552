"""What every database refuses by itself, whoever writes to it: each CHECK, key and NOT NULL of the schema."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import sqlalchemy
from sqlalchemy import CheckConstraint, exc

from datasmith.storage.base import Value
from datasmith.storage.schema import metadata
from datasmith.storage.sql import SqlStore
from tests.conformance.stores import open_sql_store

NOW = datetime(2026, 2, 3, tzinfo=UTC)
ITEM: dict[str, Value] = {
    "window": "w", "stage": 3, "item": "a/b:1", "kind": "pull_request", "state": "pending", "reason": "",
    "attempts": 0, "fence": 0, "updated_at": NOW,
}  # fmt: skip
PULL: dict[str, Value] = {"owner": "a", "repo": "b", "issue_number": 1}
RUN: dict[str, Value] = {"runner_id": "x"}
CERTIFICATE: dict[str, Value] = {"task_id": "t", "image_digest": "d", "machine": "m", "issued_at": NOW}

BREACHES: list[tuple[str, str, dict[str, Value]]] = [
    ("certificates", "certificates_status", {**CERTIFICATE, "status": "perfect"}),
    ("pull_requests", "pull_requests_certificate_status", {**PULL, "certificate_status": ""}),
    ("pull_requests", "pull_requests_confidence", {**PULL, "confidence": 100.5}),
    ("pull_requests", "pull_requests_confidence", {**PULL, "confidence": -1.0}),
    ("runner_failures", "runner_failures_stage", {"stage": 0}),
    ("runner_failures", "runner_failures_stage", {"stage": 7}),
    ("runner_progress", "runner_progress_stage", {**RUN, "stage": 7}),
    ("runner_progress", "runner_progress_state", {**RUN, "state": "flying"}),
    ("stage_items", "stage_items_counters", {**ITEM, "attempts": -1}),
    ("stage_items", "stage_items_counters", {**ITEM, "fence": -1}),
    ("stage_items", "stage_items_has_reason", {**ITEM, "state": "refused"}),
    ("stage_items", "stage_items_has_reason", {**ITEM, "state": "failed"}),
    ("stage_items", "stage_items_kind", {**ITEM, "kind": "issue"}),
    ("stage_items", "stage_items_lease", {**ITEM, "state": "leased"}),
    ("stage_items", "stage_items_lease", {**ITEM, "lease_until": NOW}),
    ("stage_items", "stage_items_stage", {**ITEM, "stage": 0}),
    ("stage_items", "stage_items_stage", {**ITEM, "stage": 7}),
    ("stage_items", "stage_items_state", {**ITEM, "state": "done"}),
]
"""Table, the rule that is broken, and a row that breaks it and no other."""


@pytest.fixture(scope="module", params=["file", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlStore]:
    with open_sql_store(request.param, tmp_path_factory.mktemp("store")) as opened:
        yield opened


def insert(store: SqlStore, table: str, row: dict[str, Value]) -> None:
    """Past every check of ours: what the database itself says."""
    with store._engine.begin() as connection:
        connection.execute(sqlalchemy.insert(metadata.tables[table]), row)


@pytest.mark.parametrize(("table", "rule", "row"), BREACHES, ids=lambda part: part if isinstance(part, str) else "")
def test_each_rule_is_kept_by_the_database(store: SqlStore, table: str, rule: str, row: dict[str, Value]) -> None:
    """A statement from anywhere that breaks a CHECK is refused, and the CHECK is named."""
    with pytest.raises(exc.IntegrityError, match=rule):
        insert(store, table, row)


def test_every_rule_of_the_schema_is_tried() -> None:
    """A new CHECK needs a row here that breaks it."""
    rules = {
        (table.name, str(rule.name))
        for table in metadata.tables.values()
        for rule in table.constraints
        if isinstance(rule, CheckConstraint)
    }
    assert rules == {(table, rule) for table, rule, _ in BREACHES}


@pytest.mark.parametrize("row", [PULL, RUN, CERTIFICATE, ITEM], ids=["pull request", "run", "certificate", "item"])
def test_the_rows_that_are_broken_are_good_in_themselves(store: SqlStore, row: dict[str, Value]) -> None:
    """Otherwise a breach could be another than the one that is named."""
    names = {"issue_number": "pull_requests", "runner_id": "runner_progress", "task_id": "certificates"}
    table = next((names[name] for name in names if name in row), "stage_items")
    insert(store, table, row)
    assert len(store.select(table)) == 1
    with pytest.raises(exc.IntegrityError):
        insert(store, table, row)


def test_what_a_row_must_have(store: SqlStore) -> None:
    """Each column of a key, and each column that is said to be needed."""
    tried = 0
    for column in (column for table in metadata.tables.values() for column in table.columns):
        table = column.table
        assert isinstance(table, sqlalchemy.Table)
        if not column.nullable and table.autoincrement_column is not column:
            row = dict(ITEM if table.name == "stage_items" else {key.name: _some(key) for key in table.primary_key})
            with pytest.raises(exc.IntegrityError):
                insert(store, table.name, {**row, column.name: None})
            tried += 1
    print(f"NOT NULL: {tried} columns of {len(metadata.tables)} tables refuse a missing value")
    assert tried >= 30


def _some(column: sqlalchemy.Column[Value]) -> Value:
    if isinstance(column.type, sqlalchemy.Integer):
        return 1
    return "x" if isinstance(column.type, sqlalchemy.Text) else NOW
