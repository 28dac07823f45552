"""The dataset rows that a store holds, without the task folders."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import cast

from pydantic import ValidationError

from datasmith.errors import StoreError
from datasmith.github.base import Window
from datasmith.misfits import misfit
from datasmith.publish.records import Record
from datasmith.settings import load_settings
from datasmith.storage import open_store
from datasmith.storage.base import Row, Store
from datasmith.storage.table import Client
from datasmith.tasks.certificate import ArmSummary, Certificate
from datasmith.tasks.ids import task_id

_COLUMNS = (
    "owner, repo, issue_number, task_id, container_name, image_name, image_digest, difficulty, classification, patch, "
    "final_md, merged_at, merge_commit_sha, base_sha, licence, certificate_status"
)
_PART = 500
"""Rows whose certificates are read at a time."""


def records_from_supabase(*, start_date: str, end_date: str, store: Store | None = None) -> list[Record]:
    """The performance pull requests merged in [start_date, end_date) that are verified and not published, by task id.

    Verified: an image was built, and its certificate is valid. They are read from `store`, or from the one that the
    settings name, on whichever database it is.

    Raises:
        ConfigError: a date is not YYYY-MM-DD, the window is empty, or DATABASE_URL cannot be used.
        StoreError: the database does not answer, or holds a certificate that is none; names the task.
    """
    window = Window.parse(start_date, end_date)
    with ExitStack() as stack:
        client = Client(store or stack.enter_context(open_store(load_settings())))
        rows = _waiting(client, window)
        parts = [rows[start : start + _PART] for start in range(0, len(rows), _PART)]
        found = [record for part in parts for record in _records(client, part)]
    return sorted(found, key=lambda record: record.task_id)


def _waiting(client: Client, window: Window) -> list[Row]:
    return (
        client.table("pull_requests")
        .select(_COLUMNS)
        .eq("is_performance_commit", True)
        .eq("certificate_status", "valid")
        .not_.is_("container_name", None)
        .not_.is_("image_digest", None)
        .is_("published_at", None)
        .gte("merged_at", window.start)
        .lt("merged_at", window.end)
        .execute()
        .data
    )


def _records(client: Client, rows: Sequence[Row]) -> Iterator[Record]:
    experts = _experts(client, [_identity(row) for row in rows])
    licences = _licences(client, {cast("str", row["owner"]) for row in rows})
    for row in rows:
        expert = experts.get((_identity(row), cast("str", row["image_digest"])))
        yield _record(row, expert, licences.get((cast("str", row["owner"]), cast("str", row["repo"]))))


def _record(row: Row, expert: ArmSummary | None, licence: str | None) -> Record:
    """One row; what no certificate says is None."""
    owner, repo = cast("str", row["owner"]), cast("str", row["repo"])
    return Record(
        task_id=_identity(row),
        repo_name=f"{owner}/{repo}",
        owner=owner,
        repo=repo,
        pr_number=cast("int", row["issue_number"]),
        container_name=_text(row, "container_name"),
        image_name=_text(row, "image_name"),
        image_digest=_text(row, "image_digest"),
        difficulty=_text(row, "difficulty"),
        classification=_text(row, "classification"),
        patch=_whole(_text(row, "patch")),
        final_md=_text(row, "final_md"),
        pr_merged_at=cast("datetime", row["merged_at"]).astimezone(UTC),
        pr_merge_commit_sha=_text(row, "merge_commit_sha"),
        pr_base_sha=_text(row, "base_sha"),
        licence=_text(row, "licence") or licence,
        certificate_status=_text(row, "certificate_status"),
        expert_speedup=expert.speedup if expert else None,
        expert_speedup_low=expert.low if expert else None,
        expert_speedup_high=expert.high if expert else None,
        n_workloads=len(expert.workloads) if expert else None,
    )


def _identity(row: Row) -> str:
    made = task_id(cast("str", row["owner"]), cast("str", row["repo"]), cast("int", row["issue_number"]))
    return _text(row, "task_id") or made


def _text(row: Row, column: str) -> str | None:
    return cast("str | None", row[column])


def _whole(patch: str | None) -> str | None:
    """None for a patch that the store could not keep as it was: it would not apply."""
    return None if patch is None or "\ufffd" in patch else patch


def _experts(client: Client, names: list[str]) -> dict[tuple[str, str], ArmSummary]:
    """What the newest valid certificate of each task and image says of the expert."""
    asked = client.table("certificates").select("task_id, image_digest, certificate")
    rows = asked.in_("task_id", names).eq("status", "valid").order("issued_at").execute().data
    return {
        (cast("str", row["task_id"]), cast("str", row["image_digest"])): _certificate(row).expert
        for row in rows
        if row["certificate"]
    }


def _certificate(row: Row) -> Certificate:
    try:
        return Certificate.model_validate(row["certificate"])
    except ValidationError as error:
        raise StoreError(f"the certificate of {_text(row, 'task_id')} cannot be read: {misfit(error)}") from error


def _licences(client: Client, owners: set[str]) -> dict[tuple[str, str], str]:
    """What the forge says of each repository's licence, for tasks that name none."""
    asked = client.table("repositories").select("owner, repo, licence")
    rows = asked.in_("owner", sorted(owners)).not_.is_("licence", None).execute().data
    return {(cast("str", row["owner"]), cast("str", row["repo"])): cast("str", row["licence"]) for row in rows}
