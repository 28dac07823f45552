"""The GitHub client against a GitHub on the loopback interface."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

import pytest

from datasmith.errors import ForgeError, ForgeUnavailable, NotFound
from datasmith.github import PR, GitHubClient, Issue
from datasmith.github.client import SearchPage
from datasmith.github.models import FileChange
from datasmith.github.tokens import TokenPool
from datasmith.settings import Settings
from tests.loopback.clock import VirtualClock
from tests.loopback.github_server import GitHubServer, Quota, Response, github_server
from tests.loopback.github_world import (
    ChangedFile,
    LoopbackIssue,
    LoopbackPull,
    LoopbackRepository,
    diff_of,
    many_pulls,
)

T = TypeVar("T")
MERGED = datetime(2026, 2, 5, tzinfo=UTC)


def repository() -> LoopbackRepository:
    """o/r: a merged pull request 1 with 95 files and 250 events, an open one 2, issues 3 and 4 (deleted)."""
    found = LoopbackRepository("o/r", id=7, old_names=("o/old", "was/elsewhere"), code={"asv.conf.json": 100})
    files = tuple(ChangedFile(f"src/f{number}.py") for number in range(95))
    found.add(
        LoopbackPull(1, "Speed up", labels=("perf", "io"), merged_at=MERGED, closed_at=MERGED, files=files, events=250),
        LoopbackPull(2, body=None, author="bob"),
        LoopbackIssue(3, "Slow", body=None, author=None, comments=tuple(f"comment {n}" for n in range(130))),
        LoopbackIssue(4, deleted=True),
    )
    return found


def run(
    server: GitHubServer,
    work: Callable[[GitHubClient], Awaitable[T]],
    *,
    tokens: tuple[str, ...] = ("token-a", "token-b"),
    clock: VirtualClock | None = None,
    settings: Settings | None = None,
) -> T:
    """What `work` gets of a fresh client whose waits take no time."""
    clock = clock or VirtualClock()
    server.now = clock.epoch

    async def main() -> T:
        pool = TokenPool(tokens, clock=clock.monotonic, sleep=clock.sleep)
        given = settings or Settings()
        async with GitHubClient(pool, base_url=server.url, settings=given, timing=clock.timing()) as client:
            return await work(client)

    return asyncio.run(asyncio.wait_for(main(), 120))


def test_a_pull_request() -> None:
    """Title, people, labels, times and commits are GitHub's; files and patch are asked for apart."""
    with github_server(repository()) as server:
        pr = run(server, lambda client: client.get_pr("o", "r", 1))
    assert pr is not None
    assert (pr.repository, pr.issue_number, pr.title, pr.author) == ("o/r", 1, "Speed up", "ann")
    assert (pr.labels, pr.merged_at, pr.patch) == (("perf", "io"), MERGED, None)
    assert len(pr.base_sha) == len(pr.merge_commit_sha) == 40


def test_an_open_pull_request_has_no_merge_commit() -> None:
    """GitHub's trial merge of an open pull request is no commit that solves it; a null body is empty."""
    with github_server(repository()) as server:
        pr = run(server, lambda client: client.get_pr("o", "r", 2))
    assert pr is not None
    assert (pr.merge_commit_sha, pr.merged_at, pr.body, pr.to_record()) == ("", None, "", None)


@pytest.mark.parametrize("status", [404, 410, 451])
def test_what_is_gone_is_none(status: int) -> None:
    """404, 410 and 451 are answers: there is no such pull request or issue for us."""
    with github_server(repository()) as server:
        server.answers["/repos/o/r/pulls/9"] = lambda seen: Response.of({"message": "Gone"}, status)
        assert run(server, lambda client: client.get_pr("o", "r", 9)) is None
        assert run(server, lambda client: client.get_issue("o", "r", 4)) is None
        assert run(server, lambda client: client.get_issue_expanded("o", "r", 99)) is None
        assert run(server, lambda client: client.get_repository("o", "none")) is None
        for ask in (GitHubClient.get_diff, GitHubClient.get_files, GitHubClient.get_timeline):
            with pytest.raises(NotFound):
                run(server, lambda client, ask=ask: ask(client, "o", "r", 99))  # type: ignore[misc]


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "a?b", "x" * 101, "ä", "a\n"])
def test_what_cannot_be_a_name_is_not_asked_for(name: str) -> None:
    """A name out of hostile text reaches no other address of the API."""
    with github_server(repository()) as server:
        assert run(server, lambda client: client.get_pr(name, "r", 1)) is None
        assert run(server, lambda client: client.get_issue("o", name, 1)) is None
        with pytest.raises(NotFound):
            run(server, lambda client: client.get_files("o", name, 1))
    assert server.seen == []


def test_lists_are_complete() -> None:
    """95 files are 95 entries, 250 events are 250, and 130 comments are 130, in order."""
    with github_server(repository()) as server:
        files = run(server, lambda client: client.get_files("o", "r", 1))
        events = run(server, lambda client: client.get_timeline("o", "r", 1))
        issue = run(server, lambda client: client.get_issue_expanded("o", "r", 3))
    assert [file.path for file in files] == [f"src/f{number}.py" for number in range(95)]
    assert [event["id"] for event in events] == [1000 + number for number in range(250)]
    assert issue is not None
    assert [comment.body for comment in issue.comments] == [f"comment {number}" for number in range(130)]
    assert (issue.title, issue.body, issue.author) == ("Slow", "", "")


def test_files_of_every_kind() -> None:
    """GitHub's seven words for what happened become our four; a binary file has no counts."""
    words = ("added", "copied", "removed", "renamed", "modified", "changed", "unchanged")
    changed = LoopbackRepository("o/r")
    files = [ChangedFile(word, word) for word in words]
    changed.add(LoopbackPull(1, files=(*files, ChangedFile("b.png", "added", None, 0, 0))))
    with github_server(changed) as server:
        found = run(server, lambda client: client.get_files("o", "r", 1))
    statuses = [file.status for file in found]
    assert statuses == ["added", "added", "removed", "renamed", "modified", "modified", "modified", "added"]
    assert found[0] == FileChange(path="added", additions=1, deletions=1, status="added")
    assert found[-1] == FileChange(path="b.png", status="added")


def test_a_diff() -> None:
    """The diff is GitHub's text; one that GitHub finds too large is None."""
    world = repository()
    with github_server(world) as server:
        assert run(server, lambda client: client.get_diff("o", "r", 1)) == diff_of(world.pulls()[0])
        server.answers["/repos/o/r/pulls/1"] = lambda seen: Response.of({"message": "maximum number of files"}, 406)
        assert run(server, lambda client: client.get_diff("o", "r", 1)) is None


def test_an_issue_may_be_a_pull_request() -> None:
    """A number tells by its type what it is; a pull request says when it was merged."""
    with github_server(repository()) as server:
        issue = run(server, lambda client: client.get_issue("o", "r", 3))
        pull = run(server, lambda client: client.get_issue("o", "r", 1))
    assert isinstance(issue, Issue) and not isinstance(issue, PR)
    assert isinstance(pull, PR) and pull.merged_at == MERGED


def test_a_rename_is_followed_and_recorded() -> None:
    """By its old name a repository is found under the new one, and from then on asked for by that."""
    with github_server(repository()) as server:

        async def work(client: GitHubClient) -> tuple[PR | None, int, dict[str, str]]:
            pr = await client.get_pr("Was", "Elsewhere", 1)
            before = len(server.seen)
            assert len(await client.get_files("was", "elsewhere", 1)) == 95
            return pr, len(server.seen) - before, client.renames

        pr, calls, renames = run(server, work)
    assert pr is not None and pr.repository == "o/r"
    assert (calls, renames) == (1, {"was/elsewhere": "o/r"})


def test_a_chain_of_renames_ends_at_the_newest_name() -> None:
    """What was learned of an older name follows a later rename."""
    world = repository()
    with github_server(world) as server:

        async def work(client: GitHubClient) -> dict[str, str]:
            await client.get_pr("o", "old", 1)
            world.full_name, world.old_names = "o/newest", ("o/old", "o/r")
            await client.get_pr("o", "old", 1)
            await client.get_pr("o", "r", 1)
            return client.renames

        assert run(server, work) == {"o/old": "o/newest", "o/r": "o/newest"}


def test_a_moved_issue_is_no_rename() -> None:
    """An issue that went to another repository is followed there; the repository keeps its name."""
    other = LoopbackRepository("p/q", id=8)
    other.add(LoopbackIssue(55, "Moved here"))
    with github_server(repository(), other) as server:
        place = f"{server.url}/repositories/8/issues/55"
        server.answers["/repos/o/r/issues/3"] = lambda seen: Response.of({"url": place}, 301, location=place)

        async def work(client: GitHubClient) -> tuple[Issue | None, dict[str, str]]:
            return await client.get_issue("o", "r", 3), client.renames

        issue, renames = run(server, work)
    assert issue is not None and (issue.repository, issue.issue_number) == ("p/q", 55)
    assert renames == {}


def test_no_other_server_gets_a_token() -> None:
    """A redirect or a next page on another server ends the call before anything is sent there."""
    with github_server(repository()) as server, github_server() as other:
        place = f"{other.url}/repos/o/r/pulls/1"
        server.answers["/repos/o/r/pulls/1"] = lambda seen: Response.of({}, 301, location=place)
        server.answers["/repos/o/r/issues/1"] = lambda seen: Response.of([], link=f'<{place}>; rel="next"')
        for work in (lambda client: client.get_pr("o", "r", 1), lambda client: client.get_timeline("o", "r", 1)):
            with pytest.raises(ForgeError, match="another server"):
                run(server, work)
    assert other.seen == []


def test_circles_end() -> None:
    """Redirects and pages that lead back to where they came from are an error, not a loop."""
    with github_server(repository()) as server:
        place = f"{server.url}/repos/o/r/pulls/1"
        server.answers["/repos/o/r/pulls/1"] = lambda seen: Response.of({}, 301, location=place)
        with pytest.raises(ForgeUnavailable, match="redirected without end"):
            run(server, lambda client: client.get_pr("o", "r", 1))
        again = f"{server.url}/repos/o/r/issues/1/timeline?per_page=100"
        server.answers["/repos/o/r/issues/1"] = lambda seen: Response.of([{"a": 1}], link=f'<{again}>; rel="next"')
        with pytest.raises(ForgeError, match="circle"):
            run(server, lambda client: client.get_timeline("o", "r", 1))


def test_a_known_answer_is_asked_for_again_for_free() -> None:
    """The second time GitHub says 304, which costs no call, and the answer is the same; a change is seen."""
    world = repository()
    with github_server(world) as server:

        async def work(client: GitHubClient) -> list[PR | None]:
            first = [await client.get_pr("o", "r", 1) for _ in range(3)]
            world.issues[1].title = "Speed up more"
            return [*first, await client.get_pr("o", "r", 1)]

        found = run(server, work, tokens=("token-a",))
    assert found[0] == found[1] == found[2] != found[3]
    assert dict(server.statuses) == {200: 2, 304: 2}
    assert server._windows["token-a", "core"].used == 2


def test_searches_come_in_pages() -> None:
    """A page says how many hits there are, and whether there are more of them; an incomplete one says so."""
    world = LoopbackRepository("o/r", code={"asv.conf.json": 10})
    world.add(*many_pulls(250))
    with github_server(world) as server:

        async def pages(client: GitHubClient) -> list[SearchPage]:
            query = "repo:o/r is:merged"
            return [await client.search_issues(query, page=n, sort="created", order="asc") for n in (1, 2, 3)]

        found = run(server, pages)
        assert [(page.total_count, len(page.items), page.more) for page in found] == [
            (250, 100, True), (250, 100, True), (250, 50, False),
        ]  # fmt: skip
        assert [item["number"] for page in found for item in page.items] == list(range(1, 251))
        server.incomplete = lambda seen: True
        assert run(server, lambda client: client.search_issues("repo:o/r")).incomplete_results
        server.incomplete = lambda seen: False
        code = run(server, lambda client: client.search_code("filename:asv.conf.json"))
        assert [item["path"] for item in code.items] == ["asv.conf.json"]
        assert run(server, lambda client: client.search_repositories("stars:>5")).total_count == 1
        with pytest.raises(ForgeError, match="1000 search results"):
            run(server, lambda client: client.search_issues("repo:o/r", page=11))
    assert {seen.resource for seen in server.seen} == {"search", "code_search"}


def test_graphql_answers_and_errors() -> None:
    """Data comes back; what does not exist is NotFound or null, a wrong query says why."""
    query = 'query($o: String!) { a: repository(owner: $o, name: "r") { stargazerCount } %s }'
    missing = 'b: repository(owner: "x", name: "y") { stargazerCount }'
    with github_server(repository()) as server:
        assert run(server, lambda client: client.graphql(query % "", {"o": "o"})) == {"a": {"stargazerCount": 100}}
        with pytest.raises(NotFound, match="x/y"):
            run(server, lambda client: client.graphql(query % missing, {"o": "o"}))
        found = run(server, lambda client: client.graphql(query % missing, {"o": "o"}, missing_ok=True))
        assert found == {"a": {"stargazerCount": 100}, "b": None}
        with pytest.raises(ForgeError, match="nonsense"):
            run(server, lambda client: client.graphql("{ nonsense }"))


def test_graphql_limits_wait() -> None:
    """RATE_LIMITED in a body with status 200 waits for the reset, and the query is asked again."""
    clock = VirtualClock()
    with github_server(repository()) as server:
        spent = {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}

        def answer(seen: object) -> Response:
            del server.answers["/graphql"]
            window = server._windows["token-a", "graphql"]
            window.used = window.limit
            return Response.of(spent)

        server.quotas["graphql"] = Quota(limit=10, window_s=120)
        server.answers["/graphql"] = answer
        work = '{ repository(owner: "o", name: "r") { stargazerCount } }'
        assert run(server, lambda client: client.graphql(work), tokens=("token-a",), clock=clock)
    assert clock.slept == [121.0]
    assert server.spent_calls == 0


def test_an_answer_of_another_shape_is_an_error_that_says_where() -> None:
    """A list that is none, and a pull request without a base, name what is wrong."""
    with github_server(repository()) as server:
        server.answers["/repos/o/r/pulls/1/files"] = lambda seen: Response.of({"a": 1})
        server.answers["/repos/o/r/pulls/1"] = lambda seen: Response.of({"number": 1, "title": "x"})
        server.answers["/search/"] = lambda seen: Response.of({"items": []})
        with pytest.raises(ForgeError, match="no list of objects"):
            run(server, lambda client: client.get_files("o", "r", 1))
        with pytest.raises(ForgeError, match="base is missing"):
            run(server, lambda client: client.get_pr("o", "r", 1))
        with pytest.raises(ForgeError, match="no page of a search"):
            run(server, lambda client: client.search_issues("x"))


def test_hundreds_of_calls_are_under_way_at_once() -> None:
    """Three tokens carry 240 calls at one time, none is lost, and no token has more than 90."""
    world = LoopbackRepository("o/r")
    world.add(*many_pulls(300))
    with github_server(world) as server:

        async def work(client: GitHubClient) -> list[PR | None]:
            await asyncio.gather(*[client.get_pr("o", "r", number) for number in range(1, 4)])
            server.hold_until = 240
            return await asyncio.gather(*[client.get_pr("o", "r", number) for number in range(1, 301)])

        found = run(server, work, tokens=("token-a", "token-b", "token-c"))
    assert [pr.issue_number for pr in found if pr] == list(range(1, 301))
    assert server.most_in_flight >= 240
    assert server.most_of_a_token <= 90


def test_a_client_outlives_an_event_loop() -> None:
    """One client used by one loop after another opens connections of its own in each."""
    with github_server(repository()) as server:
        client = GitHubClient(TokenPool(["token-a"]), base_url=server.url, settings=Settings())
        found = [asyncio.run(client.get_pr("o", "r", number)) for number in (1, 2)]
    assert [pr.issue_number for pr in found if pr] == [1, 2]
