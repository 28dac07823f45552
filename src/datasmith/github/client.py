"""GitHub's API as an async client: whole answers, whatever the way to them does."""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import urlencode

from datasmith.errors import ForgeError, NotFound
from datasmith.github.connection import connect, graphql_url
from datasmith.github.etags import ReplyStore
from datasmith.github.graphql import Parts, read_answer, read_parts
from datasmith.github.models import PR, FileChange, Issue, Repository
from datasmith.github.payloads import (
    comment_of,
    file_of,
    full_name_of,
    issue_of,
    moment_of,
    pull_request_of,
    repository_of,
    updated_at_of,
)
from datasmith.github.replies import TOO_LARGE, Data, Json, JsonObject, Missing, Refused
from datasmith.github.tokens import TokenPool
from datasmith.github.transport import Answer, Call, Timing, Transport
from datasmith.settings import Settings, load_settings

_log = logging.getLogger(__name__)
PER_PAGE = 100
"""The most that GitHub gives on a page."""
FULL_NAME = re.compile(r"(?!\.{1,2}/)[A-Za-z0-9._-]{1,100}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
DIFF = "application/vnd.github.diff"
_EDITED = """
query($owner: String!, $repo: String!, $number: Int!) {
  repository(owner: $owner, name: $repo) {
    issueOrPullRequest(number: $number) { ... on Issue { lastEditedAt } ... on PullRequest { lastEditedAt } }
  }
}
"""
Params = Mapping[str, str | int]
_I = TypeVar("_I", bound=Issue)


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of a search: how many hits there are in all, whether GitHub gave up early, and this page's hits.

    GitHub shows the first 1,000 hits of a search only; `more` says that there is another page of them.
    """

    total_count: int
    incomplete_results: bool
    items: tuple[JsonObject, ...]
    more: bool


class GitHubClient:
    """Asks GitHub, with as many calls under way as the tokens permit; for one event loop at a time.

    `renames` holds what was asked for by an old name: "owner/repo" in lower case -> GitHub's name today.
    """

    def __init__(
        self,
        pool: TokenPool | None = None,
        *,
        base_url: str = "",
        settings: Settings | None = None,
        timing: Timing | None = None,
        replies: ReplyStore | None = None,
    ) -> None:
        """What is not given comes from the settings, read at the first call."""
        self._pool = TokenPool() if pool is None else pool
        self._base_url = base_url
        self._settings = settings
        self._timing = timing or Timing()
        self._replies = replies
        self._connected: tuple[str, Transport] | None = None
        self._naming = asyncio.Lock()
        self.renames: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Give the connections back."""
        if self._connected:
            await self._connected[1].close()

    async def get_repository(self, owner: str, repo: str) -> Repository | None:
        """A repository, under the name that it has today; None where there is none."""
        found = await self._find(owner, repo, "")
        return None if found is None else repository_of(found)

    async def get_pr(self, owner: str, repo: str, number: int) -> PR | None:
        """A pull request without files and patch; None where there is none (any more).

        `base_sha` is the base branch as the pull request last saw it: GitHub's diff need not apply to it. When its
        text was last changed is asked as in `get_issue`.
        """
        found = await self._find(owner, repo, f"/pulls/{number:d}")
        return None if found is None else await self._dated(pull_request_of(found, self.name_today(owner, repo)), found)

    async def get_issue(self, owner: str, repo: str, number: int) -> Issue | None:
        """An issue, or, where the number is a pull request's, a PR without commits; None where there is neither.

        When its text was last changed is asked of GraphQL where anything of it was: the REST API does not say.
        """
        found = await self._find(owner, repo, f"/issues/{number:d}")
        return None if found is None else await self._dated(issue_of(found, self.name_today(owner, repo)), found)

    async def _dated(self, issue: _I, found: Json) -> _I:
        """An issue that was read from the answer `found`, with the time of its last edit."""
        touched_at = updated_at_of(found)
        if touched_at is None or touched_at == issue.created_at:
            return issue
        return issue.model_copy(update={"edited_at": await self._edited_at(issue, touched_at)})

    async def _edited_at(self, issue: Issue, touched_at: datetime) -> datetime | None:
        """When the text was last changed; None: never. Where GraphQL knows no such issue: the latest it can be."""
        where: dict[str, Json] = {"owner": issue.owner, "repo": issue.repo, "number": issue.issue_number}
        match await self.graphql(_EDITED, where, missing_ok=True):
            case {"repository": {"issueOrPullRequest": {"lastEditedAt": None}}}:
                return None
            case {"repository": {"issueOrPullRequest": {"lastEditedAt": str(moment)}}}:
                return moment_of(moment)
        return touched_at

    async def get_issue_expanded(self, owner: str, repo: str, number: int) -> Issue | None:
        """An issue (or pull request) with all its comments, oldest first; None where there is none."""
        issue = await self.get_issue(owner, repo, number)
        if issue is None:
            return None
        where = f"/issues/{issue.issue_number:d}/comments"  # an issue that was moved has another place and number
        comments = [comment_of(value) async for value in self._list(issue.owner, issue.repo, where)]
        return issue.model_copy(update={"comments": tuple(comments)})

    async def get_diff(self, owner: str, repo: str, number: int) -> str | None:
        """The pull request as a git diff; None where GitHub does not show one of its size (20,000 lines, 300 files).

        Raises:
            NotFound: there is no such pull request.
        """
        call = self._call(self._in(owner, repo, f"/pulls/{number:d}"))
        answer = await self._ask(replace(call, wanted="text", accept=DIFF), (owner, repo))
        if isinstance(answer.result, Refused) and answer.result.status == TOO_LARGE:
            return None
        return str(_data(call, answer).value)

    async def get_files(self, owner: str, repo: str, number: int) -> tuple[FileChange, ...]:
        """Every file that a pull request changes (GitHub lists 3,000 at most); raises NotFound where there is none."""
        return tuple([file_of(value) async for value in self._list(owner, repo, f"/pulls/{number:d}/files")])

    async def with_changes(self, pr: PR) -> PR:
        """The same pull request with its files and patch, as GitHub shows them; raises NotFound."""
        files = await self.get_files(pr.owner, pr.repo, pr.issue_number)
        patch = await self.get_diff(pr.owner, pr.repo, pr.issue_number)
        return pr.model_copy(update={"files": files, "patch": patch})

    async def get_timeline(self, owner: str, repo: str, number: int) -> list[JsonObject]:
        """Every event of an issue or pull request, oldest first, as GitHub gives them; raises NotFound."""
        return [event async for event in self._list(owner, repo, f"/issues/{number:d}/timeline")]

    async def search_issues(self, query: str, *, page: int = 1, sort: str = "", order: str = "") -> SearchPage:
        """One page of the issues and pull requests that a query finds."""
        return await self._search("issues", "search", query, page, {"sort": sort, "order": order})

    async def search_repositories(self, query: str, *, page: int = 1, sort: str = "", order: str = "") -> SearchPage:
        """One page of the repositories that a query finds."""
        return await self._search("repositories", "search", query, page, {"sort": sort, "order": order})

    async def search_code(self, query: str, *, page: int = 1) -> SearchPage:
        """One page of the files that a query finds."""
        return await self._search("code", "code_search", query, page, {})

    async def paginate(self, path: str, params: Params | None = None) -> AsyncIterator[JsonObject]:
        """Every item of a list ("/repos/o/r/pulls"), page after page.

        Raises:
            NotFound: there is no such list.
            ForgeError: GitHub's answer is no list of objects, or its pages run in a circle.
        """
        async for item in self._pages(self._call(path, {"per_page": PER_PAGE, **(params or {})}), None):
            yield item

    async def graphql(
        self, query: str, variables: Mapping[str, Json] | None = None, *, missing_ok: bool = False
    ) -> JsonObject:
        """The data that a GraphQL query asks for; with `missing_ok` what does not exist is null in it.

        Raises:
            NotFound: something that the query names does not exist.
            ForgeError: GitHub will not answer it; says why.
        """
        return read_answer(await self._graphql(query, variables), missing_ok=missing_ok)

    async def graphql_parts(self, query: str, variables: Mapping[str, Json] | None = None) -> Parts:
        """The data of a GraphQL query about things that have nothing to do with each other.

        Raises:
            ForgeError: GitHub will not answer any of it; says why.
        """
        return read_parts(await self._graphql(query, variables))

    async def _graphql(self, query: str, variables: Mapping[str, Json] | None) -> Json:
        base, transport = self._connect()
        body = json.dumps({"query": query, "variables": dict(variables or {})}).encode()
        call = Call(graphql_url(base), "graphql", wanted="graphql", method="POST", body=body)
        return _data(call, await transport.send(call)).value

    async def get(self, path: str, params: Params | None = None) -> Json:
        """The JSON at a path of the REST API; raises NotFound and ForgeError."""
        call = self._call(path, params)
        return _data(call, await self._ask(call, None)).value

    def name_today(self, owner: str, repo: str) -> str:
        """The full name that a repository has now, as far as anybody asked for it."""
        return self.renames.get(f"{owner}/{repo}".lower(), f"{owner}/{repo}")

    def _connect(self) -> tuple[str, Transport]:
        if self._connected is None:
            settings = self._settings or load_settings()
            self._connected = connect(settings, self._base_url, self._pool, self._timing, self._replies)
        return self._connected

    def _in(self, owner: str, repo: str, rest: str) -> str:
        """The path of something in a repository.

        Raises:
            NotFound: no repository can have that name.
        """
        name = self.name_today(owner, repo)
        if not FULL_NAME.fullmatch(name):
            raise NotFound(f"GitHub has no repository {name!r:.200}")
        return f"/repos/{name}{rest}"

    def _call(self, path: str, params: Params | None = None) -> Call:
        words = {name: value for name, value in (params or {}).items() if value != ""}
        return Call(self._connect()[0] + path + (f"?{urlencode(words)}" if words else ""))

    async def _ask(self, call: Call, repository: tuple[str, str] | None) -> Answer:
        """Send; where GitHub redirects a question about a repository, find out whether it has a new name."""
        answer = await self._connect()[1].send(call)
        if answer.redirected and repository is not None:
            await self._learn_name(*repository)
        return answer

    async def _find(self, owner: str, repo: str, rest: str) -> Json:
        try:
            call = self._call(self._in(owner, repo, rest))
        except NotFound:
            return None
        answer = await self._ask(call, (owner, repo))
        return None if isinstance(answer.result, Missing) else _data(call, answer).value

    async def _learn_name(self, owner: str, repo: str) -> None:
        """A moved issue redirects as well: only what the repository says of itself is a new name."""
        asked = f"{owner}/{repo}".lower()
        async with self._naming:
            if asked in self.renames:
                return
            call = self._call(f"/repos/{owner}/{repo}")
            result = (await self._connect()[1].send(call)).result
            found = full_name_of(result.value) if isinstance(result, Data) else asked
            if found.lower() == asked:
                return
            self.renames |= {old: found for old, new in self.renames.items() if new.lower() == asked}
            self.renames[asked] = found
            _log.info("%s/%s is called %s now", owner, repo, found)

    async def _list(self, owner: str, repo: str, rest: str) -> AsyncIterator[JsonObject]:
        call = self._call(self._in(owner, repo, rest), {"per_page": PER_PAGE})
        async for item in self._pages(call, (owner, repo)):
            yield item

    async def _pages(self, call: Call, repository: tuple[str, str] | None) -> AsyncIterator[JsonObject]:
        seen: set[str] = set()
        while call.url not in seen:
            seen.add(call.url)
            data = _data(call, await self._ask(call, repository))
            for item in _objects(call, data.value):
                yield item
            if not data.next_url:
                return
            call, repository = replace(call, url=self._connect()[1].pointed_at(call.url, data.next_url)), None
        raise ForgeError(f"{call}: GitHub's pages run in a circle")

    async def _search(self, what: str, resource: str, query: str, page: int, words: Params) -> SearchPage:
        params = {"q": query, "page": page, "per_page": PER_PAGE, **words}
        call = replace(self._call(f"/search/{what}", params), resource=resource)
        data = _data(call, await self._ask(call, None))
        match data.value:
            case {"total_count": int(total), "incomplete_results": bool(incomplete), "items": items}:
                return SearchPage(total, incomplete, tuple(_objects(call, items)), bool(data.next_url))
        raise ForgeError(f"{call}: GitHub's answer is no page of a search")


def _data(call: Call, answer: Answer) -> Data:
    match answer.result:
        case Missing(status):
            raise NotFound(f"{call}: GitHub has no such thing (HTTP {status})")
        case Refused(status, message):
            raise ForgeError(f"{call}: GitHub refuses: {message} (HTTP {status})")
        case Data() as data:
            return data


def _objects(call: Call, value: Json) -> list[JsonObject]:
    if isinstance(value, list):
        objects = [item for item in value if isinstance(item, dict)]
        if len(objects) == len(value):
            return objects
    raise ForgeError(f"{call}: GitHub's answer is no list of objects")
