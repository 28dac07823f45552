"""What GitHub's replies mean."""

import json
from typing import Any

import pytest

from datasmith.errors import ForgeError, ForgeUnavailable, NotFound
from datasmith.github.graphql import Parts, read_answer, read_parts
from datasmith.github.replies import (
    TOO_LARGE,
    Broken,
    Data,
    Decision,
    Json,
    Missing,
    Moved,
    NotModified,
    Paused,
    Refused,
    Reply,
    Spent,
    TokenRefused,
    judge,
    limits_of,
    next_page,
)

NOW = 1_770_000_000.0
SPENT = {
    "x-ratelimit-limit": "60",
    "x-ratelimit-remaining": "0",
    "x-ratelimit-reset": str(int(NOW) + 90),
    "x-ratelimit-resource": "core",
}
HTML = b"<html>Unicorn!</html>"


def reply(status: int, body: object = b"", **headers: str) -> Reply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(status, {name.replace("_", "-"): text for name, text in headers.items()}, data)


def says(message: str) -> dict[str, str]:
    return {"message": message, "documentation_url": "https://docs.github.com"}


CASES: list[tuple[Reply, Decision]] = [
    (reply(200, {"a": 1}, etag='W/"1"'), Data({"a": 1}, "", 'W/"1"')),
    (reply(200, [], link='<https://h/x?page=2>; rel="next"'), Data([], "https://h/x?page=2", "")),
    (reply(304), NotModified()),
    (reply(301, says("Moved"), location="https://h/repositories/1"), Moved("https://h/repositories/1")),
    (reply(307, location="/there"), Moved("/there")),
    (reply(302), Broken("HTTP 302 without a location")),
    (reply(401, says("Bad credentials")), TokenRefused()),
    (reply(401, HTML), Broken("HTTP 401, and not from GitHub")),
    (reply(403, says("Sorry. Your account was suspended.")), TokenRefused()),
    (reply(503, says("Maintenance"), retry_after="7"), Broken("HTTP 503", 7.0)),
    (Reply(403, SPENT, json.dumps(says("API rate limit exceeded for user")).encode()), Spent(90.0)),
    (Reply(429, SPENT, b""), Spent(90.0)),
    (Reply(403, SPENT, HTML), Spent(90.0)),
    (Reply(429, {"x-ratelimit-remaining": "0"}, b""), Paused(None)),
    (Reply(403, SPENT, json.dumps(says("Resource not accessible")).encode()), Refused(403, "Resource not accessible")),
    (reply(403, says("You have exceeded a secondary rate limit"), retry_after="17"), Paused(17.0)),
    (reply(403, says("You have exceeded a secondary rate limit")), Paused(None)),
    (reply(403, says("You have triggered an abuse detection mechanism")), Paused(None)),
    (reply(429, b""), Paused(None)),
    (reply(429, b"", retry_after="3"), Paused(3.0)),
    (reply(429, b"", retry_after="soon"), Paused(None)),
    (reply(429, b"", retry_after="-4"), Paused(0.0)),
    (reply(403, says("Must have admin rights")), Refused(403, "Must have admin rights")),
    (reply(403, says("Repository access blocked")), Missing(403)),
    (reply(404, says("Not Found")), Missing(404)),
    (reply(410, says("This issue was deleted")), Missing(410)),
    (reply(451, says("Unavailable")), Missing(451)),
    (reply(406, says("the diff exceeded the limit")), Refused(406, "the diff exceeded the limit")),
    (reply(500, says("taking too long to generate.")), Refused(TOO_LARGE, "taking too long to generate.")),
    (reply(422, says("Validation Failed")), Refused(422, "Validation Failed")),
    (reply(422, HTML), Refused(422, "no reason given")),
    (reply(502, HTML), Broken("HTTP 502")),
    (reply(500), Broken("HTTP 500")),
    (reply(503, says("Service unavailable")), Broken("HTTP 503")),
    (reply(408), Broken("HTTP 408")),
    (reply(202), Broken("HTTP 202")),
    (reply(200, HTML), Broken("the body is not JSON, or only a part of it")),
    (reply(200, b'{"a": [1, 2'), Broken("the body is not JSON, or only a part of it")),
    (reply(200, b""), Broken("the body is not JSON, or only a part of it")),
    (reply(200, b"[" * 100_000), Broken("the body is not JSON, or only a part of it")),
]  # fmt: skip


@pytest.mark.parametrize(("given", "meant"), CASES)
def test_a_reply_means(given: Reply, meant: Decision) -> None:
    """Status, headers and words together decide what happens next."""
    assert judge(given, "json", NOW) == meant


def test_a_diff_is_text() -> None:
    """Bytes that are not UTF-8 are replaced; a web page, and lines without an end, are no diff; no change is one."""
    kind = "application/vnd.github.diff; charset=utf-8"
    assert judge(reply(200, b"diff \xff\n", content_type=kind), "text", NOW) == Data("diff \ufffd\n", "", "")
    assert judge(reply(200, b"", content_type=kind), "text", NOW) == Data("", "", "")
    for page in (
        reply(200, HTML + b"\n", content_type="text/html"),
        reply(200, b"diff", content_type=kind),
        reply(200),
    ):
        assert judge(page, "text", NOW) == Broken("the body is not a diff, or only a part of it")


def test_waits_go_by_githubs_clock() -> None:
    """Where GitHub tells the time, a machine's clock that is a day off makes no wait a day long."""
    date = "Mon, 02 Feb 2026 02:40:00 GMT"  # NOW
    headers = {**SPENT, "date": date}
    for mine in (NOW - 86400, NOW, NOW + 86400):
        found = limits_of(headers, "core", mine)
        assert found is not None and found.resets_in_s == 90.0
        assert judge(
            Reply(429, {"retry-after": "Mon, 02 Feb 2026 02:41:00 GMT", "date": date}, b""), "json", mine
        ) == Paused(60.0)
    without = limits_of(SPENT, "core", NOW - 10)
    assert without is not None and without.resets_in_s == 100.0


def test_limits_of_a_reply() -> None:
    """The window is the one that GitHub names, else the one that was asked for; half a report is none."""
    found = limits_of(SPENT, "search", NOW)
    assert found is not None and (found.resource, found.limit, found.remaining) == ("core", 60, 0)
    unnamed = limits_of({name: text for name, text in SPENT.items() if "resource" not in name}, "search", NOW)
    assert unnamed is not None and unnamed.resource == "search"
    assert limits_of({}, "core", NOW) is None
    assert limits_of({**SPENT, "x-ratelimit-reset": "soon"}, "core", NOW) is None


@pytest.mark.parametrize(
    ("link", "found"),
    [
        ('<https://h/a?page=1>; rel="prev", <https://h/a?page=3>; rel="next", <https://h/a?page=9>; rel="last"', "https://h/a?page=3"),
        ('<https://h/a?q=x,y&page=2>; rel="next"', "https://h/a?q=x,y&page=2"),
        ("<https://h/a?page=2>; rel=next", "https://h/a?page=2"),
        ('<https://h/a?page=1>; rel="first"', ""),
        ("", ""),
    ],
)  # fmt: skip
def test_the_next_page(link: str, found: str) -> None:
    """The Link header's next address, among others and with commas in it."""
    assert next_page({"link": link}) == found


def graphql(body: Any, status: int = 200, **headers: str) -> Decision:
    return judge(reply(status, body, **headers), "graphql", NOW)


def error(kind: str, message: str = "words") -> Any:
    return {"errors": [{"type": kind, "message": message}], "data": None}


def test_graphql_troubles_with_status_200() -> None:
    """Limits wait, faults of GitHub's are tried again, and everything else is an answer."""
    spent = Reply(200, SPENT | {"x-ratelimit-resource": "graphql"}, json.dumps(error("RATE_LIMITED")).encode())
    assert judge(spent, "graphql", NOW) == Spent(90.0)
    assert graphql(error("RATE_LIMITED")) == Paused(None)
    secondary = {"errors": [{"message": "You have exceeded a secondary rate limit"}]}
    assert graphql(secondary) == Paused(None)
    assert graphql(secondary, retry_after="9") == Paused(9.0)
    assert graphql(says("You have exceeded a secondary rate limit"), retry_after="9") == Paused(9.0)
    assert isinstance(graphql(error("SERVICE_UNAVAILABLE")), Broken)
    assert isinstance(graphql(error("", "Something went wrong while executing your query.")), Broken)
    assert isinstance(graphql(HTML), Broken)
    assert isinstance(graphql([1]), Broken)
    assert isinstance(graphql(HTML, 502), Broken)
    assert isinstance(graphql(error("NOT_FOUND")), Data)


def test_graphql_errors_are_told_apart() -> None:
    """Not found is NotFound, or null where that is asked for; another error says what it is; data passes."""
    both: Json = {"data": {"a": {"n": 1}, "b": None}, "errors": [{"type": "NOT_FOUND", "message": "no b"}]}
    with pytest.raises(NotFound, match="no b"):
        read_answer(both, missing_ok=False)
    assert read_answer(both, missing_ok=True) == {"a": {"n": 1}, "b": None}
    with pytest.raises(ForgeError, match="FORBIDDEN: words"):
        read_answer(error("FORBIDDEN"), missing_ok=True)
    with pytest.raises(ForgeError, match="no data"):
        read_answer({"data": None}, missing_ok=True)
    with pytest.raises(ForgeError, match="no object"):
        read_answer([], missing_ok=True)
    assert read_answer({"data": {"a": 1}}, missing_ok=False) == {"a": 1}


def test_an_error_about_one_part_is_none_of_the_others() -> None:
    """By its alias it says why that part is null; one that names no part of the data is about all of it."""
    one: Json = {"type": "FORBIDDEN", "message": "not with this token", "path": ["b", "licenseInfo"]}
    gone: Json = {"type": "NOT_FOUND", "message": "no c", "path": ["c"]}
    data: Json = {"a": {"n": 1}, "b": None, "c": None}
    parts = read_parts({"data": data, "errors": [one, gone]})
    assert parts == Parts({"a": {"n": 1}, "b": None, "c": None}, {"b": "FORBIDDEN: not with this token"})
    with pytest.raises(ForgeError, match="not with this token"):
        read_answer({"data": data, "errors": [one]}, missing_ok=True)
    nowhere: tuple[Json, ...] = (None, [], [0, "b"], ["query", "b"])
    for path in nowhere:
        with pytest.raises(ForgeError, match="FORBIDDEN: words"):
            read_parts({"data": data, "errors": [one, {"type": "FORBIDDEN", "message": "words", "path": path}]})
    with pytest.raises(ForgeUnavailable, match="RESOURCE_LIMITS_EXCEEDED: b"):
        read_parts({"data": data, "errors": [{"type": "RESOURCE_LIMITS_EXCEEDED", "message": "b", "path": ["b"]}]})
    with pytest.raises(ForgeError, match="no data"):
        read_parts({"data": None})
