"""Pull requests as values."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from datasmith.github import PR, Issue, Repository


def test_a_pull_request_is_pure_and_frozen() -> None:
    """Made from two values, it has a key, an owner, a repository, empty commits, and cannot be changed."""
    pr = PR(repository="astropy/astropy", issue_number=16222)
    assert (pr.cache_key, pr.owner, pr.repo) == ("astropy/astropy:16222", "astropy", "astropy")
    assert (pr.base_sha, pr.merge_commit_sha) == ("", "")
    with pytest.raises(ValidationError):
        pr.title = "x"  # type: ignore[misc]


def test_a_repository_without_owner_is_refused() -> None:
    """The message names the form."""
    with pytest.raises(ValidationError, match="owner/repo"):
        Issue(repository="norepo", issue_number=1)


def test_records() -> None:
    """Without a merge commit there is no record; with one it says where to start and what solves it."""
    assert PR(repository="o/r", issue_number=1).to_record() is None
    merged = datetime(2026, 1, 1, tzinfo=UTC)
    pr = PR(repository="Shapely/shapely", issue_number=2283, base_sha="b", merge_commit_sha="m", merged_at=merged)
    record = pr.to_record()
    assert record is not None
    assert (record.gt_hash, record.base_commit, record.merged_at) == ("m", "b", merged)
    assert record.task_id == "shapely_shapely_2283"


def test_full_name() -> None:
    """A repository's full name is owner/repo."""
    assert Repository(owner="o", repo="r").full_name == "o/r"
