"""Dataset rows: one schema for every month, whatever the month holds."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from datasmith.tasks.task import Task

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One row of the dataset, its columns in their order: docs/reference/dataset.md says what each holds."""

    task_id: str
    repo_name: str
    owner: str
    repo: str
    pr_number: int
    container_name: str | None
    image_name: str | None
    image_digest: str | None
    difficulty: str | None
    classification: str | None
    patch: str | None
    final_md: str | None
    pr_merged_at: datetime | None
    pr_merge_commit_sha: str | None
    pr_base_sha: str | None
    licence: str | None
    certificate_status: str | None
    expert_speedup: float | None
    expert_speedup_low: float | None
    expert_speedup_high: float | None
    n_workloads: int | None


_KINDS: dict[object, str] = {str: "String", int: "Int64", float: "Float64", datetime: "Time"}

SCHEMA = {field.name: _KINDS[(get_args(field.type) or (field.type,))[0]] for field in fields(Record)}
"""Columns in their order, with the kind of each."""


def record(task: Task, container_name: str | None = None) -> Record:
    """The dataset row of a task; what is unknown is None. `container_name` is what to pull, where that is published."""
    expert = task.certificate.expert if task.certificate else None
    return Record(
        task_id=task.task_id,
        repo_name=task.repository,
        owner=task.owner,
        repo=task.repo,
        pr_number=task.pr_number,
        container_name=container_name or task.image_name,
        image_name=task.image_name,
        image_digest=task.image_digest,
        difficulty=task.difficulty,
        classification=task.category,
        patch=_as_text(task.expert_patch),
        final_md=task.instruction,
        pr_merged_at=task.merged_at,
        pr_merge_commit_sha=task.merge_commit,
        pr_base_sha=task.base_commit,
        licence=task.licence,
        certificate_status=task.certificate.status if task.certificate else None,
        expert_speedup=expert.speedup if expert else None,
        expert_speedup_low=expert.low if expert else None,
        expert_speedup_high=expert.high if expert else None,
        n_workloads=len(task.workloads),
    )


def _as_text(patch: str) -> str | None:
    """None for a patch that is not UTF-8: the task's folder holds its bytes, a column of text cannot."""
    return None if any("\udc80" <= char <= "\udcff" for char in patch) else patch


def table(records: Iterable[Record]) -> "pl.DataFrame":
    """The rows, ordered by task id; times are microseconds, UTC."""
    import polars as pl  # slow to import, and it changes the environment

    kinds = {
        "String": pl.String(),
        "Int64": pl.Int64(),
        "Float64": pl.Float64(),
        "Time": pl.Datetime("us", "UTC"),
    }
    rows = [asdict(row) for row in sorted(records, key=lambda row: row.task_id)]
    return pl.DataFrame(rows, schema={name: kinds[kind] for name, kind in SCHEMA.items()})


def write_parquet(records: Sequence[Record], target: Path) -> None:
    """Write the table; the same records always give the same bytes. The file appears by one rename."""
    draft = target.with_name(f".{target.name}")
    try:
        table(records).write_parquet(draft, compression="zstd", statistics=True)
        draft.rename(target)
    finally:
        draft.unlink(missing_ok=True)
