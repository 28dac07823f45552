"""Write the parquet files of pull requests that the offline forge reads."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from datasmith.github.models import PR

HEAD = "| File | Lines Added | Lines Removed | Total Changes |\n|------|-------------|------|------|\n"
SHA, BASE = "c" * 40, "b" * 40
PATCH = "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


def summary(*rows: str) -> str:
    """A change summary with these rows ("path | 1 | 2 | 3")."""
    return HEAD + "".join(f"| {row} |\n" for row in rows)


def row(number: int, **changes: object) -> dict[str, object]:
    """One row with every column."""
    return {
        "repo_name": "o/r",
        "pr_number": number,
        "pr_title": f"Speed up {number}",
        "pr_body": "Because",
        "original_patch": PATCH,
        "file_change_summary": summary("src/a.py | 1 | 1 | 2"),
        "pr_state": "closed",
        "pr_created_at": "2026-01-20T00:00:00Z",
        "pr_merged_at": "2026-02-05T00:00:00Z",
        "pr_merge_commit_sha": f"{number:040x}",
        "pr_base": {"sha": BASE},
        "pr_head": {"sha": "d" * 40},
        "pr_labels": [{"name": "perf"}],
    } | changes


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """The rows as a parquet file."""
    pl.DataFrame(rows, infer_schema_length=None, strict=False).write_parquet(path)
    return path


def told(pr: PR) -> dict[str, object]:
    """A pull request as a row, as GitHub would have told it: its base is where the branch was, not what it was."""
    files = (f"{file.path} | {file.additions:,} | {file.deletions:,} | 0" for file in pr.files)
    return row(
        pr.issue_number,
        repo_name=pr.repository,
        pr_title=pr.title,
        pr_body=pr.body,
        original_patch=pr.patch,
        file_change_summary=summary(*files),
        pr_created_at=pr.created_at,
        pr_merged_at=pr.merged_at,
        pr_merge_commit_sha=pr.merge_commit_sha,
    )
