"""Repositories, issues and pull requests as frozen values."""

import re
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, field_validator

from datasmith.tasks.ids import task_id

_NAME = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class Repository(_Frozen):
    """A repository; `stars` is None where nobody counted."""

    owner: str
    repo: str
    stars: int | None = None
    description: str = ""
    language: str = ""
    topics: tuple[str, ...] = ()
    licence: str | None = None

    @property
    def full_name(self) -> str:
        """owner/repo."""
        return f"{self.owner}/{self.repo}"


class FileChange(_Frozen):
    """One changed file; counts are lines, None for binary files or where the forge does not say."""

    path: str
    additions: int | None = None
    deletions: int | None = None
    status: Literal["added", "modified", "removed", "renamed"] = "modified"


class Issue(_Frozen):
    """An issue, addressed by repository ("owner/repo") and number."""

    repository: str
    issue_number: int
    title: str = ""
    body: str = ""
    author: str = ""
    labels: tuple[str, ...] = ()
    created_at: datetime | None = None

    @field_validator("repository")
    @classmethod
    def _is_owner_slash_repo(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError(f'{value!r} is not of the form "owner/repo" (example: "astropy/astropy")')
        return value

    @property
    def owner(self) -> str:
        """The part before the slash."""
        return self.repository.split("/")[0]

    @property
    def repo(self) -> str:
        """The part after the slash."""
        return self.repository.split("/")[1]

    @property
    def cache_key(self) -> str:
        """owner/repo:number."""
        return f"{self.repository}:{self.issue_number}"


class Comment(_Frozen):
    """What somebody wrote below an issue or pull request."""

    author: str
    body: str
    created_at: datetime | None = None


class ExpandedIssue(Issue):
    """An issue with everything that was written below it, oldest first."""

    comments: tuple[Comment, ...] = ()


class PR(Issue):
    """A merged pull request: commits by sha ("" where unknown), `merged_at` aware UTC.

    `base_sha` is the commit that `patch` (a git diff) applies to; base plus patch is the merge's tree.
    """

    base_sha: str = ""
    merge_commit_sha: str = ""
    merged_at: datetime | None = None
    files: tuple[FileChange, ...] = ()
    patch: str | None = None

    @classmethod
    async def fetch(cls, repository: str, issue_number: int) -> "PR":
        """The whole pull request: from the store that the settings name, else from GitHub.

        Raises:
            NotFound: neither holds it (a LookupError, too).
            ForgeError: the store does not hold it, and GitHub gave no answer.
        """
        from datasmith.github.fetch import fetch_pull_request

        return await fetch_pull_request(repository, issue_number)

    def to_record(self) -> "PRRecord | None":
        """What a task needs to know of this pull request; None where the merge commit is unknown."""
        if not self.merge_commit_sha:
            return None
        return PRRecord(
            task_id=task_id(self.owner, self.repo, self.issue_number),
            owner=self.owner,
            repo=self.repo,
            pr_number=self.issue_number,
            gt_hash=self.merge_commit_sha,
            base_commit=self.base_sha,
            merged_at=self.merged_at,
            patch=self.patch,
        )


class PRRecord(_Frozen):
    """A pull request as a task: `gt_hash` is the commit that solves it, `base_commit` the one to start from."""

    task_id: str
    owner: str
    repo: str
    pr_number: int
    gt_hash: str
    base_commit: str
    merged_at: datetime | None
    patch: str | None
