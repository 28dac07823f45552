"""Values as rows of the store, and back."""

from datetime import datetime
from typing import cast

from datasmith.agents.classification import Classification
from datasmith.errors import NotFound
from datasmith.github.fetch import from_row
from datasmith.github.models import PR, Repository
from datasmith.resolution.base import Resolution
from datasmith.storage.base import Row, Store
from datasmith.tasks.suite import SuiteRecord

_SUITE = "suite"
"""What a suite that is not base's own is called beside the fields of a resolution."""
_NO_COLUMN = {"repository", "is_pull_request", "comments"}
"""Fields of a pull request that its table does not have."""


def pull_request_row(pr: PR, now: datetime) -> tuple[str, Row]:
    """A pull request as the forge told it."""
    times: Row = {"created_at": pr.created_at, "edited_at": pr.edited_at, "merged_at": pr.merged_at, "updated_at": now}
    row = cast("Row", pr.model_dump(mode="json", exclude=_NO_COLUMN | times.keys()))
    return "pull_requests", {"owner": pr.owner, "repo": pr.repo, **row, **times}


def repository_row(repository: Repository, asv_config: str, head: str, now: datetime) -> tuple[str, Row]:
    """A repository with the path of its asv configuration at `head`."""
    row = cast("Row", repository.model_dump(mode="json"))
    return "repositories", {**row, "asv_config": asv_config, "head_sha": head, "updated_at": now}


def classification_row(pr: PR, verdict: Classification) -> tuple[str, Row]:
    """What stage 3 says of a pull request."""
    return "pull_requests", {
        **_key(pr),
        "is_performance_commit": verdict.is_performance,
        "classification": verdict.category,
        "difficulty": verdict.difficulty,
        "reason": verdict.reason,
        "confidence": float(verdict.confidence),
        "classified_by": verdict.by,
    }


def resolution_row(
    pr: PR, resolution: Resolution, now: datetime, *, suite: SuiteRecord | None = None
) -> tuple[str, Row]:
    """The environment of a pull request's base commit, and the suite it was chosen for where that is not base's own."""
    chosen: Row = {_SUITE: suite.model_dump(mode="json")} if suite else {}
    return "packages", {
        "owner": pr.owner,
        "repo": pr.repo,
        "sha": pr.base_sha,
        "python_version": resolution.python_version,
        "strategy": resolution.strategy,
        "cutoff": resolution.cutoff,
        "pins": list(resolution.pins),
        "resolution": {**cast("Row", resolution.model_dump(mode="json")), **chosen},
        "log": resolution.log,
        "created_at": now,
    }


def _key(pr: PR) -> Row:
    return {"owner": pr.owner, "repo": pr.repo, "issue_number": pr.issue_number}


def split_key(name: str) -> tuple[str, str, int]:
    """owner, repo and number of "owner/repo:n"."""
    repository, _, number = name.rpartition(":")
    owner, _, repo = repository.partition("/")
    return owner, repo, int(number)


def _row(store: Store, name: str) -> Row:
    owner, repo, number = split_key(name)
    found = store.select("pull_requests", {"owner": owner, "repo": repo, "issue_number": number})
    if not found:
        raise NotFound(f"{name} is not in the store")
    return found[0]


def load_pull_request(store: Store, name: str) -> PR:
    """The pull request with this ledger name.

    Raises:
        NotFound: the store does not hold it.
    """
    return from_row(_row(store, name), name.rpartition(":")[0])


def load_classification(store: Store, name: str) -> Classification:
    """What stage 3 said of the pull request with this ledger name."""
    row = _row(store, name)
    return Classification.model_validate(
        {
            "is_performance": row["is_performance_commit"],
            "category": row["classification"],
            "difficulty": row["difficulty"],
            "reason": row["reason"] or "",
            "confidence": row["confidence"],
            "by": row["classified_by"] or "rules",
        }
    )


def load_resolution(store: Store, pr: PR) -> Resolution:
    """What stage 4 chose for a pull request's base commit.

    Raises:
        NotFound: stage 4 has not decided on it.
    """
    return Resolution.model_validate(_resolution(store, pr))


def load_stars(store: Store, pr: PR) -> int | None:
    """Those of its repository; None where nobody counted."""
    found = store.select("repositories", {"owner": pr.owner, "repo": pr.repo})
    return cast("int | None", found[0]["stars"]) if found else None


def load_suite(store: Store, pr: PR) -> SuiteRecord | None:
    """The suite that stage 4 chose the environment for; None where that is base's own.

    Raises:
        NotFound: stage 4 has not decided on it.
    """
    said = _resolution(store, pr).get(_SUITE)
    return SuiteRecord.model_validate(said) if said else None


def _resolution(store: Store, pr: PR) -> Row:
    found = store.select("packages", {"owner": pr.owner, "repo": pr.repo, "sha": pr.base_sha})
    if not found:
        raise NotFound(f"{pr.cache_key}: no environment in the store")
    return cast("Row", found[0]["resolution"])
