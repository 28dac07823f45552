"""The loopback GitHub writes what GitHub's own OpenAPI description says."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.loopback.github_server import GitHubServer, github_server
from tests.loopback.github_world import ChangedFile, LoopbackIssue, LoopbackPull, LoopbackRepository, many_pulls
from tests.loopback.openapi import Description, download

MERGED = datetime(2026, 2, 5, tzinfo=UTC)
ANSWERS = [
    ("/repos/o/r", 200),
    ("/repos/o/gone", 404),
    ("/repos/o/old", 301),
    ("/repos/o/r/pulls?state=all&per_page=100", 200),
    ("/repos/o/r/pulls/1", 200),
    ("/repos/o/r/pulls/2", 200),
    ("/repos/o/r/pulls/999", 404),
    ("/repos/o/r/pulls/1/files", 200),
    ("/repos/o/r/issues/1", 200),
    ("/repos/o/r/issues/3", 200),
    ("/repos/o/r/issues/4", 410),
    ("/repos/o/r/issues/3/comments", 200),
    ("/repos/o/r/issues/1/timeline", 200),
    ("/search/issues?q=repo:o/r+is:merged", 200),  # the description denies the null bodies that GitHub really sends
    ("/search/issues?q=nonsense:1", 422),
    ("/search/code?q=filename:asv.conf.json", 200),
    ("/search/repositories?q=stars:>1", 200),
    ("/rate_limit", 200),
]


@pytest.fixture(scope="session")
def description(tmp_path_factory: pytest.TempPathFactory) -> Description:
    return Description(download(tmp_path_factory.mktemp("openapi")))


@pytest.fixture(scope="module")
def server() -> Iterator[GitHubServer]:
    repository = LoopbackRepository("o/r", id=7, old_names=("o/old",), code={"asv.conf.json": 100})
    files = (ChangedFile("a.py"), ChangedFile("b.png", "added", None, 0, 0), ChangedFile("c.py", "renamed", None, 0, 0))
    repository.add(
        LoopbackPull(1, labels=("perf",), merged_at=MERGED, closed_at=MERGED, files=files, events=3),
        LoopbackPull(2, body=None, author="bob"),
        LoopbackIssue(3, body=None, author=None, comments=("first", "second")),
        LoopbackIssue(4, deleted=True),
        *many_pulls(120, first=10),
    )
    with github_server(repository, LoopbackRepository("p/q", id=8, licence=None, language=None)) as running:
        yield running


class _NotFollowed(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Redirects are looked at, not followed."""


def get(server: GitHubServer, path: str) -> tuple[int, Any]:
    """Status and JSON of an answer."""
    try:
        with urllib.request.build_opener(_NotFollowed).open(server.url + path, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.parametrize(("path", "status"), ANSWERS)
def test_an_answer_is_as_github_describes_it(
    server: GitHubServer, description: Description, path: str, status: int
) -> None:
    """Status, required fields, types and formats are those of GitHub's description."""
    found, body = get(server, path)
    assert found == status
    assert description.problems("GET", path.partition("?")[0], status, body) == []


def test_the_description_finds_what_is_wrong(server: GitHubServer, description: Description) -> None:
    """The check itself: a missing field, a wrong type and a wrong status are seen."""
    _, pull = get(server, "/repos/o/r/pulls/1")
    without = {name: value for name, value in pull.items() if name != "merge_commit_sha"}
    assert description.problems("GET", "/repos/o/r/pulls/1", 200, without)
    assert description.problems("GET", "/repos/o/r/pulls/1", 200, pull | {"number": "1"})
    with pytest.raises(LookupError):
        description.problems("GET", "/repos/o/r/pulls/1", 299, pull)
