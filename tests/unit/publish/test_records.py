"""Dataset rows: one schema, the same bytes every time."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from datasmith.publish.records import SCHEMA, record, table, write_parquet
from datasmith.tasks.task import Task
from tests.unit.tasks.samples import PATCH, sample_task


def write_rows(tasks: Sequence[Task], target: Path) -> None:
    write_parquet([record(task) for task in tasks], target)


def test_a_row_has_the_columns_in_their_order() -> None:
    """The names are those that the dataset has always had."""
    assert list(asdict(record(sample_task()))) == list(SCHEMA)
    assert list(SCHEMA)[:5] == ["task_id", "repo_name", "owner", "repo", "pr_number"]


def test_rows_come_back_equal(tmp_path: Path) -> None:
    """Texts, times and numbers, ordered by task id."""
    tasks = [sample_task(), sample_task(task_id="acme_calc_1", pr_number=1, title="\x00'\"\n")]
    write_rows(tasks, tmp_path / "tasks.parquet")
    rows = pl.read_parquet(tmp_path / "tasks.parquet").to_dicts()
    assert [row["task_id"] for row in rows] == ["acme_calc_1", "acme_calc_12"]
    assert rows == [asdict(record(task)) for task in reversed(tasks)]
    assert (rows[1]["patch"], rows[1]["pr_merged_at"]) == (PATCH, datetime(2026, 3, 1, 12, 30, tzinfo=UTC))


def test_the_same_tasks_give_the_same_bytes(tmp_path: Path) -> None:
    """Whatever their order, and on top of an older file; nothing is left beside it."""
    tasks = [sample_task(), sample_task(task_id="a"), sample_task(task_id="b", licence=None)]
    write_rows(tasks, tmp_path / "a.parquet")
    write_rows(tasks[:1], tmp_path / "b.parquet")
    write_rows(tasks[::-1], tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"a.parquet", "b.parquet"}


@pytest.mark.parametrize("tasks", [[], [sample_task(certificate=None, licence=None)]], ids=["none", "unknown"])
def test_columns_have_their_type_where_nothing_is_known(tmp_path: Path, tasks: list[Task]) -> None:
    """An empty table, and one of nulls, have the schema of any other month."""
    write_rows(tasks, tmp_path / "x.parquet")
    found = pl.read_parquet(tmp_path / "x.parquet")
    kinds = {name: "Time" if kind == pl.Datetime("us", "UTC") else str(kind) for name, kind in found.schema.items()}
    assert kinds == SCHEMA
    assert found.height == len(tasks)


def test_what_is_unknown_is_null() -> None:
    """No certificate is no speedup, not one of 0 or 1."""
    row = asdict(record(sample_task(certificate=None, licence=None)))
    assert [row[name] for name in ("licence", "certificate_status", "expert_speedup", "expert_speedup_low")] == [
        None
    ] * 4


def test_a_patch_that_is_no_text_is_null() -> None:
    """A column of text cannot hold its bytes; a changed patch would not apply."""
    assert table([record(sample_task(expert_patch=PATCH + "\udce9"))])["patch"].to_list() == [None]


def test_a_failed_write_leaves_no_draft(tmp_path: Path) -> None:
    """The older table stays."""
    (tmp_path / "x.parquet").mkdir()
    (tmp_path / "x.parquet/keep").touch()
    with pytest.raises(OSError, match=r"x\.parquet"):
        write_rows([sample_task()], tmp_path / "x.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["x.parquet"]
