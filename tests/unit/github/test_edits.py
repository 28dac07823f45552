"""Texts that were changed later: the REST API does not tell, GraphQL does."""

from datetime import UTC, datetime, timedelta

import pytest

from datasmith.errors import ForgeError, ForgeUnavailable
from datasmith.github import PR, GitHubClient, Issue, render_problem_statement, scrape_links
from datasmith.github.github_forge import PullPages
from datasmith.github.payloads import moment_of
from datasmith.github.search import Merges, Search
from tests.loopback.github_graphql_search import loopback_repository
from tests.loopback.github_server import GitHubServer, Response, github_server
from tests.loopback.github_world import START, LoopbackIssue, LoopbackPull, LoopbackRepository, many_pulls
from tests.unit.github.test_client import run
from tests.unit.github.test_github_search import WINDOW, found, numbers, world

OPENED = START + timedelta(days=10)
LATER = START + timedelta(days=20)
SEED = PR(repository="o/r", issue_number=9, body="Fixes #1, #2, #3 and #4.", created_at=OPENED, merged_at=LATER)


def repository() -> LoopbackRepository:
    """Issues 1 (never touched), 2 (closed later), 3 (edited after the fix was there) and 4 (edited before)."""
    made = LoopbackRepository("o/r")
    made.add(
        LoopbackIssue(1, "Slow", "never touched"),
        LoopbackIssue(2, "Slower", "only closed", updated_at=LATER, closed_at=LATER),
        LoopbackIssue(3, "Slowest", "It was the cache.", updated_at=LATER, edited_at=LATER),
        LoopbackIssue(4, "Slow as well", "edited in time", updated_at=LATER, edited_at=START + timedelta(days=1)),
    )
    return made


def test_what_was_written_after_the_fix_is_not_in_an_issue() -> None:
    """An issue whose text was changed after the pull request was opened comes without it; the others keep theirs."""
    with github_server(repository()) as server:
        issues = run(server, lambda client: scrape_links(SEED, client.get_issue, only_issues=True))
    assert [(issue.issue_number, issue.body) for issue in issues] == [
        (1, "never touched"), (2, "only closed"), (3, ""), (4, "edited in time"),
    ]  # fmt: skip


def test_graphql_is_asked_only_where_something_changed() -> None:
    """An issue that was never touched costs one call; a pull request is an issue, too."""
    made = repository()
    made.add(LoopbackPull(5, updated_at=LATER, edited_at=LATER))
    with github_server(made) as server:
        assert edited(server, 1) is None and len(server.seen) == 1
        assert edited(server, 2) is None and edited(server, 3) == LATER and edited(server, 5) == LATER
    assert [seen.path for seen in server.seen].count("/graphql") == 3


def test_an_issue_that_graphql_does_not_know_counts_as_changed() -> None:
    """Then its last change of any kind is the latest that its text can be of."""
    missing = {"data": {"repository": None}, "errors": [{"type": "NOT_FOUND", "message": "no"}]}
    with github_server(repository()) as server:
        server.answers["/graphql"] = lambda seen: Response.of(missing)
        assert edited(server, 2) == LATER
        server.answers["/graphql"] = lambda seen: Response.of(
            {"data": {"repository": {"issueOrPullRequest": {"lastEditedAt": "yesterday"}}}}
        )
        with pytest.raises(ForgeError, match="no time: 'yesterday'"):
            edited(server, 2)


def test_a_pull_request_tells_when_its_text_was_changed() -> None:
    """As an issue does: what was never touched costs one call, and what GraphQL does not know counts as changed."""
    made = LoopbackRepository("o/r")
    made.add(LoopbackPull(5, updated_at=LATER, edited_at=LATER), LoopbackPull(6, updated_at=LATER), LoopbackPull(7))

    async def work(client: GitHubClient) -> list[datetime | None]:
        found = [await client.get_pr("o", "r", number) for number in (5, 6, 7)]
        return [pr.edited_at for pr in found if pr]

    with github_server(made) as server:
        assert run(server, work) == [LATER, None, None]
        assert [seen.path for seen in server.seen].count("/graphql") == 2
        server.answers["/graphql"] = lambda seen: Response.of({"data": {"repository": None}})
        assert run(server, work) == [LATER, LATER, None]


def edited(server: GitHubServer, number: int) -> datetime | None:
    """When the client says that an issue's text was last changed."""

    async def work(client: GitHubClient) -> datetime | None:
        issue = await client.get_issue("o", "r", number)
        assert isinstance(issue, Issue)
        return issue.edited_at

    return run(server, work)


def test_a_time_without_a_zone_is_none() -> None:
    """GitHub's times name theirs."""
    assert moment_of("2026-01-02T03:04:05Z") == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    with pytest.raises(ForgeError, match="no time"):
        moment_of("2026-01-02T03:04:05")


def test_a_search_tells_when_a_text_was_changed() -> None:
    """Pull requests of a window come with the time of their last edit; None where there was none."""
    pulls = list(many_pulls(2, start=WINDOW.start))
    pulls[0].edited_at = LATER
    with world(loopback_repository("o/r", *pulls)) as here:
        told = found(here, "o/r").items
    assert [each.pr.edited_at for each in told] == [LATER, None]


def test_a_body_that_was_changed_after_the_merge_is_not_shown() -> None:
    """It may tell what came out; before the merge an edit is part of the work."""
    body = "## Problem\n\nThe lookup is quadratic."
    pr = SEED.model_copy(update={"body": body})
    assert "quadratic" in render_problem_statement(pr.model_copy(update={"edited_at": LATER}))
    assert "quadratic" not in render_problem_statement(pr.model_copy(update={"edited_at": LATER + timedelta(hours=1)}))


def test_where_github_gives_up_fewer_are_asked_for() -> None:
    """Pages of fifty that GitHub cannot write become pages of ten; none is lost, and an outage stays one."""
    pulls = list(many_pulls(120, start=WINDOW.start))
    limits = {"data": {"search": None}, "errors": [{"type": "RESOURCE_LIMITS_EXCEEDED", "message": "Too much"}]}
    slow = {"data": None, "errors": [{"message": "Something went wrong while executing your query."}]}

    async def search(client: GitHubClient) -> list[int]:
        pages = Search(PullPages(client, "o/r"), key=lambda told: told.pr.issue_number)
        return numbers((await pages.run(Merges.of("o/r", WINDOW))).items)

    with world(loopback_repository("o/r", *pulls)) as here:
        for trouble, calls in ((limits, 1 + 12), (slow, 6 + 12)):
            answer, before = Response.of(trouble), len(here.server.seen)
            here.server.answers["/graphql"] = lambda seen, answer=answer: (  # type: ignore[misc]
                answer if b'"first": 50' in seen.body else here.graphql(seen)
            )
            assert run(here.server, search) == [pull.number for pull in pulls]
            assert len(here.server.seen) - before == calls
        here.server.answers["/graphql"] = lambda seen: Response.of(limits)
        with pytest.raises(ForgeUnavailable, match="Too much"):
            run(here.server, search)
