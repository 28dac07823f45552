"""Answers of GitHub that are rare, and where it is easy to lose something or to give up too early."""

import pytest

from datasmith.errors import ConfigError, ForgeError
from datasmith.github import GitHubClient, Issue
from tests.loopback.clock import VirtualClock
from tests.loopback.github_server import Response, github_server
from tests.loopback.github_world import ChangedFile, LoopbackIssue, LoopbackPull, LoopbackRepository
from tests.unit.github.test_client import repository, run


def test_a_full_last_page_is_asked_for_anew() -> None:
    """The hundred-and-first file is on a page of its own: the first page, and its ETag, are what they were."""
    pull = LoopbackPull(1, files=tuple(ChangedFile(f"f{number}.py") for number in range(100)))
    world = LoopbackRepository("o/r")
    world.add(pull)
    with github_server(world) as server:

        async def work(client: GitHubClient) -> list[int]:
            counts = [len(await client.get_files("o", "r", 1))]
            pull.files += (ChangedFile("late.py"),)
            counts.append(len(await client.get_files("o", "r", 1)))
            counts.append(len(await client.get_files("o", "r", 1)))
            return counts

        assert run(server, work) == [100, 101, 101]
    assert dict(server.statuses) == {200: 3, 304: 2}


@pytest.mark.parametrize("place", ["http://[", "http://127.0.0.1:99999/x", "/repos/o/\x01", "?" + "x" * 70_000])
def test_a_place_that_is_none_is_an_error_of_ours(place: str) -> None:
    """A redirect or a next page that no address can be made of ends the call, with one line."""
    with github_server(repository()) as server:
        server.answers["/repos/o/r/pulls/1"] = lambda seen: Response.of({}, 301, location=place)
        server.answers["/repos/o/r/issues/1"] = lambda seen: Response.of([], link=f'<{place}>; rel="next"')
        for work in (lambda client: client.get_pr("o", "r", 1), lambda client: client.get_timeline("o", "r", 1)):
            with pytest.raises(ForgeError, match=r"no address|GET /repos/"):
                run(server, work)


def test_a_next_page_may_be_told_without_the_host() -> None:
    """A Link header holds a reference, which may be relative."""
    with github_server(repository()) as server:
        server.answers["/repos/o/r/issues/1"] = lambda seen: (
            Response.of([{"id": 2}])
            if seen.query.get("page")
            else Response.of([{"id": 1}], link='<?page=2>; rel="next"')
        )
        assert run(server, lambda client: client.get_timeline("o", "r", 1)) == [{"id": 1}, {"id": 2}]


def test_the_usual_port_may_be_named_or_not() -> None:
    """https://host:443 is the same server as https://host, and another port is another one."""
    from datasmith.github.transport import _origin

    assert _origin("https://Host:443/a") == _origin("https://host/b") == ("https", "host")
    assert _origin("http://[::1]:80/") == _origin("http://[::1]/") != _origin("http://[::1]:81/")
    assert _origin("https://me@host/") != _origin("https://host/")


def test_a_moved_issue_has_its_comments_where_it_is() -> None:
    """They are asked for at the place and by the number that the issue has now."""
    other = LoopbackRepository("p/q", id=8)
    other.add(LoopbackIssue(55, "Moved here", comments=("a", "b")))
    with github_server(repository(), other) as server:
        place = f"{server.url}/repositories/8/issues/55"
        server.answers["/repos/o/r/issues/3/comments"] = lambda seen: Response.of({"message": "Not Found"}, 404)
        server.answers["/repos/o/r/issues/3"] = lambda seen: Response.of({}, 301, location=place)
        found = run(server, lambda client: client.get_issue_expanded("o", "r", 3))
    assert isinstance(found, Issue) and found.cache_key == "p/q:55"
    assert [comment.body for comment in found.comments] == ["a", "b"]


def test_a_suspended_account_s_token_is_put_aside() -> None:
    """GitHub answers 403 to whatever it asks: the other token does the work."""
    with github_server(repository()) as server:
        server.answers["/repos/o/r/pulls/1"] = lambda seen: (
            Response.of({"message": "Sorry. Your account was suspended."}, 403)
            if seen.token == "token-a"
            else server._route(seen)
        )
        assert run(server, lambda client: client.get_pr("o", "r", 1)) is not None
        with pytest.raises(ConfigError, match="refused every token"):
            run(server, lambda client: client.get_pr("o", "r", 1), tokens=("token-a",))


def test_a_401_of_somebody_else_refuses_no_token() -> None:
    """A proxy's page is not GitHub's word on a token: the call is made again."""
    page = Response(401, b"<html>Log in to the proxy", {"content-type": "text/html"})
    with github_server(repository()) as server:
        server.answers["/repos/o/r/pulls/1"] = lambda seen: page if seen.number < 4 else server._route(seen)
        assert run(server, lambda client: client.get_pr("o", "r", 1), tokens=("token-a",)) is not None
    assert len(server.seen) == 4


@pytest.mark.parametrize(("asked", "slept"), [("20", 20.0), ("99999", 300.0)])
def test_a_server_that_is_down_says_for_how_long(asked: str, slept: float) -> None:
    """Retry-After of a 503 is kept to, within five minutes."""
    clock = VirtualClock()
    with github_server(repository()) as server:
        down = Response.of({"message": "Maintenance"}, 503, retry_after=asked)
        server.answers["/repos/o/r/pulls/1"] = lambda seen: down if seen.number == 1 else server._route(seen)
        assert run(server, lambda client: client.get_pr("o", "r", 1), clock=clock) is not None
    assert clock.slept == [slept]
