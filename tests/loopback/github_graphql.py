"""The part of GitHub's GraphQL that a loopback world answers, run by a real GraphQL engine."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from graphql import GraphQLError, GraphQLSchema, build_schema, graphql_sync

from tests.loopback.github_world import LoopbackPull, LoopbackRepository, when

SCHEMA = """
scalar DateTime
scalar URI

type Query {
  repository(owner: String!, name: String!, followRenames: Boolean = true): Repository
  rateLimit(dryRun: Boolean = false): RateLimit
}

type RateLimit { limit: Int!  cost: Int!  remaining: Int!  resetAt: DateTime! }

type Language { name: String! }

type License { spdxId: String }

type Topic { name: String! }

type RepositoryTopic { topic: Topic! }

type RepositoryTopicConnection { nodes: [RepositoryTopic]  totalCount: Int! }

type PageInfo { endCursor: String  hasNextPage: Boolean!  hasPreviousPage: Boolean!  startCursor: String }

enum PullRequestState { OPEN  CLOSED  MERGED }

enum IssueOrderField { CREATED_AT  UPDATED_AT }

enum OrderDirection { ASC  DESC }

input IssueOrder { field: IssueOrderField!  direction: OrderDirection! }

type PullRequest {
  number: Int!
  title: String!
  body: String!
  createdAt: DateTime!
  updatedAt: DateTime!
  mergedAt: DateTime
  lastEditedAt: DateTime
  merged: Boolean!
  baseRefOid: String!
}

type Issue {
  number: Int!
  lastEditedAt: DateTime
}

union IssueOrPullRequest = Issue | PullRequest

type PullRequestConnection { nodes: [PullRequest]  pageInfo: PageInfo!  totalCount: Int! }

type Repository {
  nameWithOwner: String!
  stargazerCount: Int!
  isFork: Boolean!
  isArchived: Boolean!
  isPrivate: Boolean!
  description: String
  primaryLanguage: Language
  licenseInfo: License
  pushedAt: DateTime
  repositoryTopics(first: Int, after: String): RepositoryTopicConnection!
  pullRequests(
    states: [PullRequestState!], first: Int, after: String, orderBy: IssueOrder
  ): PullRequestConnection!
  issueOrPullRequest(number: Int!): IssueOrPullRequest
}
"""


@cache
def _schema() -> GraphQLSchema:
    return build_schema(SCHEMA)


def execute(repositories: Sequence[LoopbackRepository], request: Any) -> Any:
    """GitHub's answer: data and errors, each error with GitHub's own `type`."""
    root = {
        "repository": lambda _info, owner, name, followRenames=True: _find(repositories, f"{owner}/{name}"),  # noqa: N803
        "rateLimit": {"limit": 5000, "cost": 1, "remaining": 4999, "resetAt": "2026-01-01T01:00:00Z"},
    }
    result = graphql_sync(_schema(), request["query"], root, variable_values=request.get("variables"))
    answer: dict[str, Any] = {}
    if result.data is not None:
        answer["data"] = result.data
    if result.errors:
        answer["errors"] = [_error(error) for error in result.errors]
    return answer


def _error(error: GraphQLError) -> Any:
    found = dict(error.formatted)
    match error.original_error:
        case LookupError(args=(message, kind)):
            return {**found, "message": message, "type": kind}
    return found


def _find(repositories: Sequence[LoopbackRepository], full_name: str) -> Any:
    for repository in repositories:
        if full_name.lower() in {name.lower() for name in (repository.full_name, *repository.old_names)}:
            if repository.forbidden:
                raise LookupError(repository.forbidden, "FORBIDDEN")
            return _repository(repository)
    raise LookupError(f"Could not resolve to a Repository with the name '{full_name}'.", "NOT_FOUND")


def _repository(repository: LoopbackRepository) -> Any:
    topics = [{"topic": {"name": name}} for name in repository.topics]
    return {
        "nameWithOwner": repository.full_name, "stargazerCount": repository.stars, "isFork": repository.fork,
        "isArchived": repository.archived, "isPrivate": repository.private, "description": repository.description,
        "primaryLanguage": {"name": repository.language} if repository.language else None,
        "licenseInfo": {"spdxId": repository.licence} if repository.licence else None,
        "pushedAt": when(repository.pushed_at),
        "repositoryTopics": lambda _info, first=None, after=None: {"nodes": topics[:first], "totalCount": len(topics)},
        "pullRequests": lambda _info, **words: _pulls(repository, **words),
        "issueOrPullRequest": lambda _info, number: _numbered(repository, number),
    }  # fmt: skip


def _numbered(repository: LoopbackRepository, number: int) -> Any:
    issue = repository.issues.get(number)
    if issue is None or issue.deleted:
        what = f"Could not resolve to an issue or pull request with the number of {number}."
        raise LookupError(what, "NOT_FOUND")
    kind = "PullRequest" if isinstance(issue, LoopbackPull) else "Issue"
    return {"__typename": kind, "number": number, "lastEditedAt": when(issue.edited_at)}


def _pulls(
    repository: LoopbackRepository,
    states: Any = None,
    first: int = 100,
    after: str = "",
    orderBy: Any = None,  # noqa: N803
) -> Any:
    if not 1 <= first <= 100:
        raise LookupError(f"`first` value of {first} exceeds the `first` limit of 100 records", "EXCESSIVE_PAGINATION")
    found = [pull for pull in repository.pulls() if not states or _state(pull) in states]
    order = orderBy or {"field": "CREATED_AT", "direction": "ASC"}
    updated = order["field"] == "UPDATED_AT"
    found.sort(key=lambda pull: ((pull.updated_at or pull.created_at) if updated else pull.created_at, pull.number))
    if order["direction"] == "DESC":
        found.reverse()
    start = int(after or 0)
    end = start + first
    return {
        "totalCount": len(found), "nodes": [_pull(repository, pull) for pull in found[start:end]],
        "pageInfo": {
            "endCursor": str(end), "hasNextPage": end < len(found), "hasPreviousPage": start > 0,
            "startCursor": str(start),
        },
    }  # fmt: skip


def _state(pull: LoopbackPull) -> str:
    return "MERGED" if pull.merged_at else "CLOSED" if pull.closed_at else "OPEN"


def _pull(repository: LoopbackRepository, pull: LoopbackPull) -> Any:
    return {
        "number": pull.number, "title": pull.title, "body": pull.body or "", "createdAt": when(pull.created_at),
        "updatedAt": when(pull.updated_at or pull.created_at), "mergedAt": when(pull.merged_at),
        "merged": pull.merged_at is not None, "lastEditedAt": when(pull.edited_at),
        "baseRefOid": pull.base_sha or "0" * 40,
    }  # fmt: skip
