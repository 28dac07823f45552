"""GitHub's JSON as our values: lenient about what GitHub adds or leaves out, strict about what we need."""

from datetime import datetime
from typing import Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, TypeAdapter, ValidationError

from datasmith.errors import ForgeError
from datasmith.github.models import PR, Comment, FileChange, Issue, Repository
from datasmith.github.replies import Json
from datasmith.misfits import misfit

_STATUSES: dict[str, Literal["added", "modified", "removed", "renamed"]] = {
    "added": "added",
    "copied": "added",
    "removed": "removed",
    "renamed": "renamed",
}
"""GitHub's other words (changed, unchanged) mean that the file is there before and after."""


class _Payload(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _User(_Payload):
    login: str = ""


class _Label(_Payload):
    name: str | None = None


class _Licence(_Payload):
    spdx_id: str | None = None


class _Repository(_Payload):
    full_name: str
    stargazers_count: int | None = None
    description: str | None = None
    language: str | None = None
    topics: tuple[str, ...] | None = None
    license: _Licence | None = None


class _Side(_Payload):
    sha: str
    repo: _Repository | None = None


class _PullRequestLink(_Payload):
    merged_at: datetime | None = None


class _Issue(_Payload):
    number: int
    title: str
    body: str | None = None
    user: _User | None = None
    labels: tuple[_Label | str, ...] = ()
    created_at: datetime | None = None
    updated_at: datetime | None = None
    repository_url: str = ""
    pull_request: _PullRequestLink | None = None


class _Pull(_Issue):
    base: _Side
    merged_at: datetime | None = None
    merge_commit_sha: str | None = None


class _File(_Payload):
    filename: str
    additions: int
    deletions: int
    changes: int
    status: str
    patch: str | None = None


class _Comment(_Payload):
    user: _User | None = None
    body: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


_P = TypeVar("_P", bound=_Payload)


def repository_of(value: Json) -> Repository:
    """A repository.

    Raises:
        ForgeError: this is none.
    """
    found = _read(_Repository, value)
    owner, _, repo = found.full_name.partition("/")
    return Repository(
        owner=owner,
        repo=repo,
        stars=found.stargazers_count,
        description=found.description or "",
        language=found.language or "",
        topics=found.topics or (),
        licence=licence_of(found.license.spdx_id if found.license else None),
    )


def licence_of(spdx_id: str | None) -> str | None:
    """A licence as GitHub names it; None also where it has found one that it does not know."""
    return None if spdx_id == "NOASSERTION" else spdx_id


def full_name_of(value: Json) -> str:
    """The name of a repository as GitHub writes it; raises ForgeError where this is none."""
    return _read(_Repository, value).full_name


def pull_request_of(value: Json, repository: str) -> PR:
    """A pull request; `repository` where GitHub does not say whose.

    The merge commit of one that is not merged is GitHub's trial, and left out. `base_sha` is the base branch as the
    pull request last saw it; files and patch are not in this payload.

    Raises:
        ForgeError: this is none.
    """
    found = _read(_Pull, value)
    merged = found.merged_at is not None
    return PR(
        repository=found.base.repo.full_name if found.base.repo else repository,
        issue_number=found.number,
        title=found.title,
        body=found.body or "",
        author=found.user.login if found.user else "",
        labels=_names(found.labels),
        created_at=found.created_at,
        base_sha=found.base.sha,
        merge_commit_sha=(found.merge_commit_sha or "") if merged else "",
        merged_at=found.merged_at,
    )


def issue_of(value: Json, repository: str) -> Issue:
    """An issue; a PR (with its commits unknown) where GitHub lists a pull request as one.

    Raises:
        ForgeError: this is neither.
    """
    found = _read(_Issue, value)
    issue = Issue(
        repository="/".join(found.repository_url.split("/")[-2:]) if found.repository_url else repository,
        issue_number=found.number,
        title=found.title,
        body=found.body or "",
        author=found.user.login if found.user else "",
        labels=_names(found.labels),
        created_at=found.created_at,
    )
    if found.pull_request is None:
        return issue
    return PR(**{**dict(issue), "is_pull_request": True}, merged_at=found.pull_request.merged_at)


def updated_at_of(value: Json) -> datetime | None:
    """When anything of an issue (its text, labels, comments ...) last changed. Raises ForgeError where this is none."""
    return _read(_Issue, value).updated_at


def moment_of(value: str) -> datetime:
    """A time as GitHub writes it; raises ForgeError where this is none."""
    try:
        return TypeAdapter(AwareDatetime).validate_python(value)
    except ValidationError as error:
        raise ForgeError(f"GitHub's answer is no time: {value[:50]!r}") from error


def file_of(value: Json) -> FileChange:
    """One changed file; a binary one (no patch, no changes) has no counts. Raises ForgeError where this is none."""
    found = _read(_File, value)
    status = _STATUSES.get(found.status, "modified")
    if found.patch is None and not found.changes and status != "renamed":
        return FileChange(path=found.filename, status=status)
    return FileChange(path=found.filename, additions=found.additions, deletions=found.deletions, status=status)


def comment_of(value: Json) -> Comment:
    """A comment; raises ForgeError where this is none."""
    found = _read(_Comment, value)
    return Comment(
        author=found.user.login if found.user else "",
        body=found.body or "",
        created_at=found.created_at,
        edited_at=None if found.updated_at == found.created_at else found.updated_at,
    )


def _names(labels: tuple[_Label | str, ...]) -> tuple[str, ...]:
    names = [label if isinstance(label, str) else label.name for label in labels]
    return tuple(name for name in names if name)


def _read(kind: type[_P], value: Json) -> _P:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise ForgeError(f"GitHub's answer is no {kind.__name__[1:].lower()}: {misfit(error)}") from error
