"""GitHub as a forge: pull requests by merge date from its search, what they changed from a clone."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import AliasPath, BaseModel, Field, ValidationError

from datasmith.errors import ForgeError, ForgeUnavailable, NotFound
from datasmith.executors.local import LocalExecutor
from datasmith.github.base import Window
from datasmith.github.bases import Size, Told, ground
from datasmith.github.clones import CloneSource
from datasmith.github.discovery import GONE, look_up
from datasmith.github.git import Git
from datasmith.github.git_diffs import BATCH
from datasmith.github.models import PR, Repository
from datasmith.github.repos_csv import Listed
from datasmith.github.search import Merges, Page, Search
from datasmith.misfits import misfit

if TYPE_CHECKING:
    from datasmith.github.client import GitHubClient
    from datasmith.github.replies import Json

PER_PAGE = (50, 10)
"""Pull requests of one answer: with 100 long texts GitHub often gives up. Where it does with 50, it gets 10."""
AT_ONCE = 8
"""Pull requests whose files and patch are asked for at once, where no clone has them."""

_QUERY = """
query($query: String!, $first: Int!, $after: String) {
  search(query: $query, type: ISSUE, first: $first, after: $after) {
    issueCount
    pageInfo { hasNextPage endCursor }
    nodes {
      ... on PullRequest {
        number title body createdAt lastEditedAt mergedAt baseRefOid additions deletions changedFiles
        author { login }
        labels(first: 50) { nodes { name } }
        mergeCommit { oid }
        commits { totalCount }
      }
    }
  }
}
"""
_log = logging.getLogger(__name__)


class _Label(BaseModel):
    name: str


class _Node(BaseModel):
    """A pull request as GraphQL tells it."""

    number: int
    title: str
    body: str | None = None
    created_at: datetime = Field(alias="createdAt")
    edited_at: datetime | None = Field(default=None, alias="lastEditedAt")
    merged_at: datetime = Field(alias="mergedAt")
    base_sha: str = Field(default="", alias="baseRefOid")
    additions: int
    deletions: int
    files: int = Field(alias="changedFiles")
    author: str | None = Field(default=None, validation_alias=AliasPath("author", "login"))
    labels: tuple[_Label, ...] = Field(default=(), validation_alias=AliasPath("labels", "nodes"))
    merge_sha: str = Field(default="", validation_alias=AliasPath("mergeCommit", "oid"))
    commits: int | None = Field(default=None, validation_alias=AliasPath("commits", "totalCount"))

    def told(self, repository: str) -> Told:
        pr = PR(
            repository=repository,
            issue_number=self.number,
            title=self.title,
            body=self.body or "",
            author=self.author or "",
            labels=tuple(label.name for label in self.labels),
            created_at=self.created_at,
            edited_at=self.edited_at,
            merged_at=self.merged_at,
            base_sha=self.base_sha,
            merge_commit_sha=self.merge_sha,
        )
        return Told(pr, Size(self.files, self.additions, self.deletions), self.commits)


class PullPages:
    """Merged pull requests of one repository, as pages of GitHub's search."""

    def __init__(self, client: "GitHubClient", repository: str) -> None:
        self._client = client
        self._repository = repository
        self._size, *self._smaller = PER_PAGE

    async def page(self, query: str, after: str | None) -> Page[Told]:
        """See search.Pages; `after` is a cursor."""
        size = self._size
        try:
            return await self._page(query, after, size)
        except ForgeUnavailable as error:
            if size == self._size and not self._smaller:
                raise
            if size == self._size:  # otherwise another call has found out meanwhile
                self._size, *self._smaller = self._smaller
            _log.info("%s: %s; pages of %d from now on", self._repository, error, self._size)
        return await self.page(query, after)

    async def _page(self, query: str, after: str | None, size: int) -> Page[Told]:
        variables: dict[str, Json] = {"query": query, "first": size, "after": after}
        data = await self._client.graphql(_QUERY, variables)
        match data.get("search"):
            case {
                "issueCount": int(total),
                "pageInfo": {"hasNextPage": bool(more), "endCursor": end},
                "nodes": [*nodes],
            }:
                told = tuple(self._told(node) for node in nodes if node)
                return Page(total, told, str(end) if more and end else None)
        raise ForgeUnavailable(f"GitHub's answer to the search {query!r} cannot be read")

    def _told(self, node: "Json") -> Told:
        try:
            return _Node.model_validate(node).told(self._repository)
        except ValidationError as error:
            raise ForgeUnavailable(f"a pull request of {self._repository} cannot be read: {misfit(error)}") from error


class GitHubForge:
    """Offers repositories of GitHub, under the names that they have today.

    What a pull request changed is read from the repository's clone; GitHub's list of files and its diff stand in
    where the clone does not hold the merge commit.
    """

    name = "github"

    def __init__(self, client: "GitHubClient", clones: CloneSource, repositories: Sequence[Repository]) -> None:
        self._client = client
        self._clones = clones
        self._wanted = tuple(repositories)
        self._offered: dict[str, Repository] | None = None
        self._reasons: dict[str, str] = {}
        self._asking = asyncio.Lock()
        self.renames: dict[str, str] = {}
        """Names that were asked for and are no longer those of the repository, with its name of today."""

    async def repositories(self) -> list[Repository]:
        """Every repository that was asked for; one that GitHub does not have or refuses stays as it was asked for."""
        return list((await self._known()).values())

    async def merged_pull_requests(self, repository: Repository, window: Window) -> AsyncIterator[PR]:
        """Every pull request merged in the window, ordered by merge time, then number.

        Raises:
            NotFound: the repository is not offered, or GitHub does not have it.
            ForgeError: GitHub refuses to tell of the repository; says why.
            ForgeUnavailable: GitHub gave fewer pull requests than it counted, again and again.
        """
        today = await self._today(repository)
        name = today.full_name
        if reason := self._reasons.get(name):
            raise (NotFound if reason == GONE else ForgeError)(f"{name}: {reason}")
        found = await Search(PullPages(self._client, name), key=_number).run(Merges.of(name, window))
        if found.missing:
            raise ForgeUnavailable(
                f"{name}: GitHub counts {found.counted} pull requests merged in {window.key}, and gave"
                f" {len(found.items)}"
            )
        told = [each for each in found.items if each.pr.merged_at is not None and each.pr.merged_at in window]
        told.sort(key=lambda each: (each.pr.merged_at, each.pr.issue_number))
        git = Git(await self._clones.get(today))
        for start in range(0, len(told), BATCH):
            batch = told[start : start + BATCH]
            for pr in await self._whole(batch, await asyncio.to_thread(ground, git, batch)):
                yield pr

    async def clone(self, repository: Repository) -> Path:
        """The repository's clone, made where there is none.

        Raises:
            NotFound: the repository is not offered, or cannot be cloned.
        """
        return await self._clones.get(await self._today(repository))

    async def clone_at_hand(self, repository: Repository) -> Path | None:
        """See Forge: later stages need the clone in any case, so that it is made now."""
        return await self.clone(repository)

    async def aclose(self) -> None:
        """Give the connections back."""
        await self._client.aclose()

    async def _known(self) -> dict[str, Repository]:
        """What was asked for, by lower-case name of today."""
        async with self._asking:
            if self._offered is None:
                asked = [Listed(repository=each) for each in self._wanted]
                found = await look_up(self._client, asked)
                self._offered = {}
                for each in found:
                    self._note(each)
                    self._offered.setdefault(each.repository.full_name.lower(), each.repository)
        return self._offered

    def _note(self, listed: Listed) -> None:
        name = listed.repository.full_name
        if listed.reason:
            self._reasons[name] = listed.reason
            _log.warning("%s: %s", name, listed.reason)
        if listed.renamed_from:
            self.renames[listed.renamed_from] = name
            _log.warning("%s is called %s now", listed.renamed_from, name)

    async def _today(self, repository: Repository) -> Repository:
        known = await self._known()
        name = self.renames.get(repository.full_name, repository.full_name)
        if name.lower() not in known:
            raise NotFound(f"{repository.full_name} is not offered here (example: --repo {repository.full_name})")
        return known[name.lower()]

    async def _whole(self, told: Sequence[Told], prs: Sequence[PR]) -> list[PR]:
        """The pull requests, with GitHub's own files and patch for those that the clone did not know."""
        pairs = list(zip(told, prs, strict=True))
        return await LocalExecutor().map(self._asked, pairs, n_concurrent=AT_ONCE)

    async def _asked(self, pair: tuple[Told, PR]) -> PR:
        told, pr = pair
        return pr if pr is not told.pr else await self._client.with_changes(pr)


def _number(told: Told) -> int:
    return told.pr.issue_number
