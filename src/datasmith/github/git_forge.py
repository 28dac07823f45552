"""A git clone as a forge: merged pull requests out of the history of the default branch, without any API."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from datasmith.errors import ConfigError, NotFound
from datasmith.github.base import Window
from datasmith.github.git import Commit, Git
from datasmith.github.git_diffs import BATCH, Change
from datasmith.github.merges import MergedTitle, read_merge
from datasmith.github.models import PR, Repository, is_full_name

_log = logging.getLogger(__name__)
_REMOTE = re.compile(r"(?:[a-z+]+://[^/]+/|[^/:]+:)(?P<owner>[A-Za-z0-9._-]+)/(?P<repo>[A-Za-z0-9._-]+?)(?:\.git)?/?")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class _Merge:
    commit: Commit
    says: MergedTitle


class GitForge:
    """Offers the one repository of a local clone.

    A pull request is a commit on HEAD's first-parent history that names one: see `merges.read_merge`. Several
    commits of one pull request that was merged by rebasing cannot be told apart from direct commits, unless each
    carries the number; then the first of them stands for it.
    """

    name = "git"

    def __init__(self, clone: Path, name: str | None = None) -> None:
        """Open the clone; `name` ("owner/repo") is needed where its remote `origin` does not say it.

        Raises:
            ConfigError: `clone` is no git clone or a shallow one, or `name` is not of the form owner/repo.
        """
        self._clone = clone
        self._git = Git(clone)
        if self._git.is_shallow():
            raise ConfigError(
                f"--repo {clone} is a shallow clone: most of its history is missing"
                f" (example: git -C {clone} fetch --unshallow)"
            )
        owner, repo = _identity(name, self._git.origin(), clone)
        self.repository = Repository(owner=owner, repo=repo)

    def check(self) -> None:
        """Raises ConfigError where the clone has no commit yet."""
        self._git.head()

    async def repositories(self) -> list[Repository]:
        """The one repository of this clone."""
        return [self.repository]

    async def merged_pull_requests(self, repository: Repository, window: Window) -> AsyncIterator[PR]:
        """Every pull request merged in the window, ordered by merge time, then number.

        Raises:
            NotFound: this clone is another repository's.
        """
        self._check(repository)
        merges = await asyncio.to_thread(self._merges, window)
        for start in range(0, len(merges), BATCH):
            batch = merges[start : start + BATCH]
            changes = await asyncio.to_thread(self._changes, batch)
            for merge, change in zip(batch, changes, strict=True):
                yield _pull_request(repository, merge, change)

    def count_merged(self, window: Window) -> int:
        """How many pull requests `merged_pull_requests` offers; the log is read, and no diff."""
        return len(self._merges(window))

    async def clone(self, repository: Repository) -> Path:
        """Where the clone lies."""
        self._check(repository)
        return self._clone

    async def clone_at_hand(self, repository: Repository) -> Path | None:
        """See Forge: always there."""
        return await self.clone(repository)

    async def aclose(self) -> None:
        """See Forge: there are no connections."""

    def _check(self, repository: Repository) -> None:
        if repository.full_name.lower() != self.repository.full_name.lower():
            raise NotFound(f"{self._clone} is a clone of {self.repository.full_name}, not of {repository.full_name}")

    def _merges(self, window: Window) -> list[_Merge]:
        first: dict[int, _Merge] = {}
        for commit in self._git.log(self._git.head()):
            says = read_merge(commit.message, len(commit.parents))
            if says is None or not commit.parents:
                continue
            later = first.get(says.number)
            if later is not None:
                _log.info("#%d: %s names it again and is left out", says.number, later.commit.sha)
            first[says.number] = _Merge(commit, says)
        chosen = [merge for merge in first.values() if merge.commit.committed_at in window]
        return sorted(chosen, key=lambda merge: (merge.commit.committed_at, merge.says.number))

    def _changes(self, merges: Sequence[_Merge]) -> list[Change]:
        return self._git.changes([(merge.commit.parents[0], merge.commit.sha) for merge in merges])


def _pull_request(repository: Repository, merge: _Merge, change: Change) -> PR:
    commit, says = merge.commit, merge.says
    return PR(
        repository=repository.full_name,
        issue_number=says.number,
        title=says.title,
        body=says.body,
        author=says.owner or commit.author,
        created_at=commit.authored_at,
        base_sha=commit.parents[0],
        merge_commit_sha=commit.sha,
        merged_at=commit.committed_at,
        files=change.files,
        patch=change.patch,
    )


def _identity(name: str | None, origin: str | None, clone: Path) -> tuple[str, str]:
    """(owner, repo): what the user says, else what the remote's URL says, else local/<directory>."""
    if name is not None:
        if not is_full_name(name):
            raise ConfigError(f"--repo-name {name!r} is not of the form owner/repo (example: pypa/packaging)")
        owner, repo = name.split("/")
        return owner, repo
    remote = _REMOTE.fullmatch(origin or "")
    if remote and is_full_name(f"{remote['owner']}/{remote['repo']}"):
        return remote["owner"], remote["repo"]
    directory = clone.resolve().name.removesuffix(".git")
    return "local", _NOT_IN_NAMES.sub("-", directory).strip("-.")[:100] or "repository"
