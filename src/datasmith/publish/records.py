"""Dataset rows: one schema for every month, whatever the month holds."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from datasmith.tasks.task import Task

if TYPE_CHECKING:
    import polars as pl

SCHEMA = {
    "task_id": "String",
    "repo_name": "String",
    "owner": "String",
    "repo": "String",
    "pr_number": "Int64",
    "container_name": "String",
    "image_name": "String",
    "image_digest": "String",
    "difficulty": "String",
    "classification": "String",
    "patch": "String",
    "final_md": "String",
    "pr_merged_at": "Time",
    "pr_merge_commit_sha": "String",
    "pr_base_sha": "String",
    "licence": "String",
    "certificate_status": "String",
    "expert_speedup": "Float64",
    "expert_speedup_low": "Float64",
    "expert_speedup_high": "Float64",
    "n_workloads": "Int64",
}
"""Columns in their order, with the kind of each: docs/reference/dataset.md says what each holds."""


def record(task: Task) -> dict[str, object]:
    """The dataset row of a task; what is unknown is None."""
    expert = task.certificate.expert if task.certificate else None
    return {
        "task_id": task.task_id,
        "repo_name": task.repository,
        "owner": task.owner,
        "repo": task.repo,
        "pr_number": task.pr_number,
        "container_name": task.image_name,
        "image_name": task.image_name,
        "image_digest": task.image_digest,
        "difficulty": task.difficulty,
        "classification": task.category,
        "patch": _as_text(task.expert_patch),
        "final_md": task.instruction,
        "pr_merged_at": task.merged_at,
        "pr_merge_commit_sha": task.merge_commit,
        "pr_base_sha": task.base_commit,
        "licence": task.licence,
        "certificate_status": task.certificate.status if task.certificate else None,
        "expert_speedup": expert.speedup if expert else None,
        "expert_speedup_low": expert.low if expert else None,
        "expert_speedup_high": expert.high if expert else None,
        "n_workloads": len(task.workloads),
    }


def _as_text(patch: str) -> str | None:
    """None for a patch that is not UTF-8: the task's folder holds its bytes, a column of text cannot."""
    return None if any("\udc80" <= char <= "\udcff" for char in patch) else patch


def table(tasks: Sequence[Task]) -> "pl.DataFrame":
    """The rows of `tasks`, ordered by task id; times are microseconds, UTC."""
    import polars as pl  # slow to import, and it changes the environment

    kinds = {
        "String": pl.String(),
        "Int64": pl.Int64(),
        "Float64": pl.Float64(),
        "Time": pl.Datetime("us", "UTC"),
    }
    rows = [record(task) for task in sorted(tasks, key=lambda task: task.task_id)]
    return pl.DataFrame(rows, schema={name: kinds[kind] for name, kind in SCHEMA.items()})


def write_parquet(tasks: Sequence[Task], target: Path) -> None:
    """Write the table; the same tasks always give the same bytes. The file appears by one rename."""
    draft = target.with_name(f".{target.name}")
    try:
        table(tasks).write_parquet(draft, compression="zstd", statistics=True)
        draft.rename(target)
    finally:
        draft.unlink(missing_ok=True)
