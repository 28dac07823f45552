"""GitHub's GraphQL search for merged pull requests on a loopback world: 1,000 hits, cursors, and a leaky index."""

import json
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from graphql import DocumentNode, GraphQLSchema, build_schema, execute_sync, parse, validate

from tests.loopback.github_graphql import SCHEMA, _error, _find
from tests.loopback.github_search import CAP, search
from tests.loopback.github_server import GitHubServer, Response, Seen
from tests.loopback.github_world import Json, LoopbackPull, LoopbackRepository, sha, when

SEARCH = """
extend type Query {
  search(query: String!, type: SearchType!, first: Int, after: String): SearchResultItemConnection!
}

enum SearchType { ISSUE  REPOSITORY  USER  DISCUSSION }

type SearchResultItemConnection { issueCount: Int!  pageInfo: PageInfo!  nodes: [SearchResultItem] }

union SearchResultItem = PullRequest | Issue

interface Actor { login: String! }

type User implements Actor { login: String! }

type Label { name: String! }

type LabelConnection { nodes: [Label]  totalCount: Int! }

type Commit { oid: String! }

type PullRequestCommitConnection { totalCount: Int! }

extend type PullRequest {
  additions: Int!
  deletions: Int!
  changedFiles: Int!
  author: Actor
  labels(first: Int): LabelConnection
  mergeCommit: Commit
  commits: PullRequestCommitConnection!
}
"""


@cache
def _schema() -> GraphQLSchema:
    return build_schema(SCHEMA + SEARCH)


@lru_cache(maxsize=64)
def _checked(query: str) -> DocumentNode:
    """A query that fits the schema."""
    document = parse(query)
    assert not validate(_schema(), document)
    return document


class SearchingGraphQL:
    """Answers /graphql for a server; `lose` says which numbers a query's answer leaves out, though it counts them."""

    def __init__(self, server: GitHubServer) -> None:
        self._server = server
        self._hits: dict[str, list[LoopbackPull]] = {}
        self.queries: list[str] = []
        self.lose: Callable[[str, int], bool] = lambda query, number: False
        self.commits: dict[int, int] = {}
        """Number of commits of a pull request; 1 where unsaid."""
        server.answers["/graphql"] = self

    def __call__(self, seen: Seen) -> Response:
        request = json.loads(seen.body)
        root = {
            "repository": lambda _info, owner, name, followRenames=True: _find(  # noqa: N803
                self._server.repositories, f"{owner}/{name}"
            ),
            "search": self._search,
        }
        result = execute_sync(_schema(), _checked(request["query"]), root, variable_values=request.get("variables"))
        answer: dict[str, Any] = {"data": result.data}
        if result.errors:
            answer["errors"] = [_error(error) for error in result.errors]
        return Response.of(answer)

    def _search(self, _info: Any, query: str, type: str, first: int = 100, after: str | None = None) -> Any:  # noqa: A002
        assert type == "ISSUE" and 1 <= first <= 100
        if not after:
            self.queries.append(query)
        found, start = self._found(query), int(after or 0)
        shown = found[:CAP][start : start + first]
        end = start + len(shown)
        kept = [pull for pull in shown if not self.lose(query, pull.number)]
        return {
            "issueCount": len(found), "nodes": [self._pull(pull) for pull in kept],
            "pageInfo": {
                "endCursor": str(end) if shown else None, "hasNextPage": end < min(CAP, len(found)),
                "hasPreviousPage": start > 0, "startCursor": str(start),
            },
        }  # fmt: skip

    def _found(self, query: str) -> list[LoopbackPull]:
        if query not in self._hits:
            hits = search("issues", query, self._server.repositories, Json(self._server.url))
            self._hits[query] = [_pull_of(hit.write.args) for hit in hits]  # type: ignore[attr-defined]
        return self._hits[query]

    def _pull(self, pull: LoopbackPull) -> Any:
        repository = self._server.repositories[0].full_name
        merge = pull.merge_commit_sha or sha(repository, pull.number, "merge")
        return {
            "__typename": "PullRequest", "number": pull.number, "title": pull.title, "body": pull.body or "",
            "createdAt": when(pull.created_at), "mergedAt": when(pull.merged_at), "merged": True,
            "lastEditedAt": when(pull.edited_at), "baseRefOid": pull.base_sha or "0" * 40,
            "additions": sum(file.additions for file in pull.files),
            "deletions": sum(file.deletions for file in pull.files), "changedFiles": len(pull.files),
            "author": {"__typename": "User", "login": pull.author} if pull.author else None,
            "labels": {"nodes": [{"name": name} for name in pull.labels], "totalCount": len(pull.labels)},
            "mergeCommit": {"oid": merge}, "commits": {"totalCount": self.commits.get(pull.number, 1)},
        }  # fmt: skip


def _pull_of(words: tuple[Any, ...]) -> LoopbackPull:
    """The pull request of a hit: what its JSON would be written of."""
    return next(word for word in words if isinstance(word, LoopbackPull))


def loopback_repository(name: str, *pulls: LoopbackPull) -> LoopbackRepository:
    """A repository with these pull requests."""
    made = LoopbackRepository(name)
    made.add(*pulls)
    return made
