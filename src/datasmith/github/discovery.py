"""Which repositories have an asv suite and are worth mining: found by code search or given, then looked up in bulk."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pydantic import AliasPath, BaseModel, Field, ValidationError

from datasmith.errors import ForgeUnavailable
from datasmith.executors.local import LocalExecutor
from datasmith.github.models import Repository
from datasmith.github.payloads import licence_of
from datasmith.github.repos_csv import Listed
from datasmith.github.search import Files, Page, Search
from datasmith.misfits import misfit

if TYPE_CHECKING:
    from datasmith.github.client import GitHubClient
    from datasmith.github.replies import Json, JsonObject

GONE = "GitHub does not have it"
REFUSED = "GitHub refuses it"
"""How the reason begins of a repository of which GitHub does not tell."""
CONFIG = "asv.conf.json"
AT_ONCE = 100
"""Repositories that one GraphQL request asks about."""
REQUESTS = 8
"""Requests under way at once."""

_CONFIG_NAME = re.compile(r"(?:.*/)?\.?asv[^/]*\.jsonc?")
_FIELDS = (
    "{nameWithOwner stargazerCount isFork isArchived description primaryLanguage{name}"
    " repositoryTopics(first:20){nodes{topic{name}}} licenseInfo{spdxId}}"
)


@dataclass(frozen=True, slots=True)
class Hit:
    """A file that code search found."""

    repository: str
    path: str
    fork: bool


@dataclass(frozen=True, slots=True)
class Hits:
    """What code search found: repositories, and how many files GitHub counted beyond those that it gave.

    `incomplete`: GitHub gave up each time before it had looked everywhere, so that its count is short as well.
    """

    listed: tuple[Listed, ...]
    missing: int
    incomplete: bool


@dataclass(frozen=True, slots=True)
class Discovered:
    """Every repository that was found, judged; `missing` and `incomplete` as in Hits."""

    listed: tuple[Listed, ...]
    missing: int = 0
    incomplete: bool = False

    @property
    def valid(self) -> list[Listed]:
        """Those to mine."""
        return [each for each in self.listed if not each.reason]

    @property
    def refused(self) -> list[Listed]:
        """Those of which GitHub does not tell."""
        return [each for each in self.listed if each.reason.startswith(REFUSED)]

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """Why the others are not, the commonest reason first."""
        return Counter(each.reason for each in self.listed if each.reason).most_common()


async def discover(client: "GitHubClient", min_stars: int) -> Discovered:
    """Search, look up, judge.

    Raises:
        ForgeError: GitHub could not be asked.
    """
    hits = await search_suites(client)
    return Discovered((await from_list(client, hits.listed, min_stars)).listed, hits.missing, hits.incomplete)


async def from_list(client: "GitHubClient | None", listed: Sequence[Listed], min_stars: int) -> Discovered:
    """Judge given repositories by what GitHub says of them; without a client by what the list says."""
    asked = [each.model_copy(update={"reason": ""}) for each in listed]
    return Discovered(tuple(judged(asked if client is None else await look_up(client, asked), min_stars)))


class CodePages:
    """GitHub's code search as pages of hits."""

    def __init__(self, client: "GitHubClient") -> None:
        self._client = client

    async def page(self, query: str, after: str | None) -> Page[Hit]:
        """See search.Pages; `after` is the number of a page."""
        number = int(after or 1)
        found = await self._client.search_code(query, page=number)
        hits = tuple(hit for item in found.items if (hit := _hit(item)))
        return Page(found.total_count, hits, str(number + 1) if found.more else None, found.incomplete_results)


def _hit(item: "JsonObject") -> Hit | None:
    match item:
        case {"path": str(path), "repository": {"full_name": str(name), **rest}}:
            return Hit(name, path, rest.get("fork") is True)
    return None


async def search_suites(client: "GitHubClient") -> Hits:
    """Every repository with a file named like an asv configuration, ordered by name."""
    found = await Search(CodePages(client), key=lambda hit: (hit.repository.lower(), hit.path)).run(Files(CONFIG))
    paths: dict[str, list[Hit]] = {}
    for hit in found.items:
        if _CONFIG_NAME.fullmatch(hit.path):
            paths.setdefault(hit.repository.lower(), []).append(hit)
    return Hits(tuple(_of(paths[name]) for name in sorted(paths)), found.missing, found.incomplete)


def _of(hits: Sequence[Hit]) -> Listed:
    owner, repo = hits[0].repository.split("/")
    paths = tuple(sorted(hit.path for hit in hits))
    return Listed(
        repository=Repository(owner=owner, repo=repo), asv_paths=paths, fork=hits[0].fork, source="code search"
    )


async def look_up(client: "GitHubClient", listed: Sequence[Listed]) -> list[Listed]:
    """The same repositories with what GitHub says of them today, in order.

    One that is gone, or that GitHub refuses to tell of, has that as its reason. One that has another name now gets
    it, and keeps the name that it was found by in `renamed_from`.
    """
    chunks = [listed[start : start + AT_ONCE] for start in range(0, len(listed), AT_ONCE)]
    answers = await LocalExecutor().map(partial(_asked, client), chunks, n_concurrent=REQUESTS)
    return [each for answer in answers for each in answer]


async def _asked(client: "GitHubClient", chunk: Sequence[Listed]) -> list[Listed]:
    variables: dict[str, Json] = {}
    for number, each in enumerate(chunk):
        variables |= {f"o{number}": each.repository.owner, f"n{number}": each.repository.repo}
    names = ",".join(f"${name}:String!" for name in variables)
    parts = [f"r{number}:repository(owner:$o{number},name:$n{number}){_FIELDS}" for number in range(len(chunk))]
    found = await client.graphql_parts(f"query({names}){{{' '.join(parts)}}}", variables)
    answers = [(found.data.get(f"r{number}"), found.refused.get(f"r{number}")) for number in range(len(chunk))]
    return [_told(each, answer, refusal) for each, (answer, refusal) in zip(chunk, answers, strict=True)]


class _Topic(BaseModel):
    name: str = Field(validation_alias=AliasPath("topic", "name"))


class _Answer(BaseModel):
    """A repository as GraphQL tells it."""

    full_name: str = Field(alias="nameWithOwner", pattern=r"^[^/]+/[^/]+$")
    stars: int = Field(alias="stargazerCount")
    fork: bool = Field(alias="isFork")
    archived: bool = Field(alias="isArchived")
    description: str | None = None
    language: str | None = Field(default=None, validation_alias=AliasPath("primaryLanguage", "name"))
    licence: str | None = Field(default=None, validation_alias=AliasPath("licenseInfo", "spdxId"))
    topics: tuple[_Topic, ...] = Field(default=(), validation_alias=AliasPath("repositoryTopics", "nodes"))

    def repository(self) -> Repository:
        owner, repo = self.full_name.split("/")
        return Repository(
            owner=owner,
            repo=repo,
            stars=self.stars,
            description=self.description or "",
            language=self.language or "",
            topics=tuple(topic.name for topic in self.topics),
            licence=licence_of(self.licence),
        )


def _told(listed: Listed, answer: "Json", refusal: str | None) -> Listed:
    """A repository with GitHub's answer about it, or why there is none."""
    if refusal is not None:
        return listed.model_copy(update={"reason": f"{REFUSED}: {refusal}"})
    if answer is None:
        return listed.model_copy(update={"reason": GONE})
    was = listed.repository.full_name
    try:
        said = _Answer.model_validate(answer)
    except ValidationError as error:
        raise ForgeUnavailable(f"GitHub's answer about {was} cannot be read: {misfit(error)}") from error
    renamed = was if said.full_name.lower() != was.lower() else listed.renamed_from
    change = {"repository": said.repository(), "fork": said.fork, "archived": said.archived, "renamed_from": renamed}
    return listed.model_copy(update={**change, "reason": ""})


def judged(listed: Iterable[Listed], min_stars: int) -> list[Listed]:
    """Each repository once, under its name of today, with the reason that speaks against mining it ("" for none)."""
    found: dict[str, Listed] = {}
    for each in listed:
        known = found.get(each.repository.full_name.lower())
        paths = tuple(dict.fromkeys((*known.asv_paths, *each.asv_paths))) if known else each.asv_paths
        reason = each.reason or _against(each, min_stars)
        found[each.repository.full_name.lower()] = (known or each).model_copy(
            update={"asv_paths": paths, "reason": reason}
        )
    return list(found.values())


def _against(listed: Listed, min_stars: int) -> str:
    stars = listed.repository.stars
    if listed.fork:
        return "a fork"
    if listed.archived:
        return "archived"
    if stars is None:
        return "nobody has counted its stars"
    return "" if stars >= min_stars else f"fewer than {min_stars} stars"
