"""A GitHub on the loopback interface: REST and GraphQL over real sockets, with limits, faults and a thousand pages."""

import asyncio
import hashlib
import json
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from tests.loopback.github_search import CAP, BadQuery, search
from tests.loopback.github_world import Json, LoopbackPull, LoopbackRepository, diff_of

Fault = Literal[
    "reset", "truncated", "short_json", "html", "html_200", "empty", "502", "500", "401",
    "403_secondary", "403_retry_after", "429_retry_after", "429", "403_spent", "403_forbidden", "silence",
]  # fmt: skip
FAULTS: tuple[Fault, ...] = Fault.__args__  # type: ignore[attr-defined]
_SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}
_PRIMARY = {"message": "API rate limit exceeded for user ID 1."}
_PAGE = b"<html><body><h1>Unicorn!</h1></body></html>"


@dataclass(frozen=True)
class Seen:
    """One request as it arrived; `number` counts from 1."""

    number: int
    method: str
    path: str
    query: dict[str, str]
    token: str
    headers: dict[str, str]
    body: bytes

    @property
    def resource(self) -> str:
        """Which window it counts in."""
        for start, name in (("/search/code", "code_search"), ("/search/", "search"), ("/graphql", "graphql")):
            if self.path.startswith(start):
                return name
        return "core"


@dataclass
class Response:
    """What is sent; `fault` acts on the socket while that happens."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    fault: str = ""

    @classmethod
    def of(cls, value: Any, status: int = 200, **headers: str) -> "Response":
        names = {name.replace("_", "-"): text for name, text in headers.items()}
        return cls(status, json.dumps(value).encode(), {"content-type": "application/json; charset=utf-8", **names})


@dataclass
class Quota:
    """`limit` calls in `window_s` seconds for each token."""

    limit: int = 5000
    window_s: float = 3600.0
    used: int = 0
    resets_at: float = 0.0


class GitHubServer:
    """The server's knobs and what it saw.

    `fault` decides what goes wrong with a request; `quotas` are the limits of each resource, `spent` tokens have used
    theirs up, and only `tokens` are known where that is set; `now` may be a clock of the test's. With `hold_until` no
    request is answered before that many were under way at once. `answers` go before everything, by the path's start.
    """

    def __init__(self, repositories: Iterable[LoopbackRepository]) -> None:
        self.url = ""
        self.repositories = list(repositories)
        self.seen: list[Seen] = []
        self.statuses: Counter[int] = Counter()
        self.spent_calls = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.tokens: set[str] | None = None
        self.quotas: dict[str, Quota] = {}
        self.no_limits = False
        self.spent: set[str] = set()
        self.hold_until = 0
        self.in_flight_of: Counter[str] = Counter()
        self.most_of_a_token = 0
        self.fault: Callable[[Seen], Fault | None] = lambda seen: None
        self.retry_after = "1"
        self.now: Callable[[], float] = time.time
        self.incomplete: Callable[[Seen], bool] = lambda seen: False
        self.answers: dict[str, Callable[[Seen], Response]] = {}
        self._windows: dict[tuple[str, str], Quota] = {}

    @property
    def tokens_seen(self) -> list[str]:
        """The token of each request, in order."""
        return [seen.token for seen in self.seen]

    def paths(self) -> list[str]:
        """The path of each request, in order."""
        return [seen.path for seen in self.seen]

    def fail_nth(self, nth: int, fault: Fault) -> None:
        """Let only the N-th request (from 1) run into a fault."""
        self.fault = lambda seen: fault if seen.number == nth else None

    def respond(self, seen: Seen) -> Response:
        """The answer to a request, with the headers that GitHub puts on every one."""
        self.seen.append(seen)
        window = self._window(seen)
        fault = self.fault(seen)
        if self.tokens is not None and seen.token not in self.tokens:
            fault = "401"
        if window is not None and window.used >= window.limit:
            self.spent_calls += 1
            fault = "403_spent"
        response = self._faulty(fault) if fault else self._answer(seen)
        if response.status != 304 and window is not None and fault not in {"401", "403_spent"}:
            window.used += 1
        if fault == "403_spent" and window is not None:
            window.used = window.limit
        if window is not None and response.fault not in {"reset", "silence"}:
            response.headers |= {
                "x-ratelimit-limit": str(window.limit), "x-ratelimit-remaining": str(max(0, window.limit - window.used)),
                "x-ratelimit-reset": str(int(window.resets_at)), "x-ratelimit-resource": seen.resource,
                "x-ratelimit-used": str(window.used),
            }  # fmt: skip
        response.headers["date"] = formatdate(self.now(), usegmt=True)
        self.statuses[response.status] += 1
        return response

    def _window(self, seen: Seen) -> Quota | None:
        if self.no_limits:
            return None
        rule = self.quotas.get(seen.resource, Quota())
        window = self._windows.get((seen.token, seen.resource))
        if window is None or self.now() >= window.resets_at:
            used = rule.limit if seen.token in self.spent and window is None else 0
            resets_at = float(int(self.now() + rule.window_s)) + (1.0 if rule.window_s < 1 else 0.0)
            window = Quota(rule.limit, rule.window_s, used, resets_at)
            self._windows[seen.token, seen.resource] = window
        return window

    def _faulty(self, fault: Fault) -> Response:
        status = int(fault[:3]) if fault[:3].isdigit() else 200
        match fault:
            case "reset" | "silence":
                return Response(fault=fault)
            case "truncated":
                return Response(
                    body=b'[{"a": 1}, {"b": 2}' * 50, headers={"content-type": "application/json"}, fault=fault
                )
            case "short_json":
                return Response(body=b'[{"number": 1, "tit', headers={"content-type": "application/json"})
            case "empty":
                return Response(headers={"content-type": "application/json"})
            case "html_200" | "html" | "502":
                return Response(200 if fault == "html_200" else 502, _PAGE, {"content-type": "text/html"})
            case "403_retry_after" | "429_retry_after":
                return Response.of(_SECONDARY, status, retry_after=self.retry_after)
            case "403_secondary" | "429":
                return Response.of(_SECONDARY, status)
            case "403_spent":
                return Response.of(_PRIMARY, 403)
            case "401":
                return Response.of({"message": "Bad credentials"}, 401)
            case "403_forbidden":
                return Response.of({"message": "Resource not accessible by personal access token"}, 403)
        return Response.of({"message": "Server Error"}, status)

    def _answer(self, seen: Seen) -> Response:
        for start, answer in self.answers.items():
            if seen.path.startswith(start):
                return answer(seen)
        response = self._route(seen)
        if response.status == 200 and seen.method == "GET":
            etag = 'W/"' + hashlib.sha256(response.body).hexdigest() + '"'
            response.headers["etag"] = etag
            if seen.headers.get("if-none-match") == etag:
                return Response(304, b"", {"etag": etag})
        return response

    def _route(self, seen: Seen) -> Response:
        write = Json(self.url)
        if seen.path == "/graphql":
            from tests.loopback.github_graphql import execute

            return Response.of(execute(self.repositories, json.loads(seen.body)))
        if seen.path.startswith("/search/"):
            return self._search(seen, write)
        if seen.path == "/rate_limit":
            return Response.of(self._rate_limit(seen))
        parts = re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)?|/repositories/(\d+)(/.*)?", seen.path)
        if parts:
            rest = parts[2] or parts[4] or ""
            for repository in self.repositories:
                if parts[1] and parts[1].lower() in {name.lower() for name in repository.old_names}:
                    query = f"?{urlencode(seen.query)}" if seen.query else ""
                    place = f"{self.url}/repositories/{repository.id}{rest}{query}"
                    return Response.of({"message": "Moved Permanently", "url": place}, 301, location=place)
                if repository.full_name.lower() == (parts[1] or "").lower() or str(repository.id) == parts[3]:
                    return self._of_repository(seen, repository, rest, write)
        return _not_found()

    def _of_repository(self, seen: Seen, repository: LoopbackRepository, rest: str, write: Json) -> Response:
        if not rest:
            return Response.of(write.repository(repository))
        if rest == "/pulls":
            return self._page(seen, [write.pull_simple(repository, pull) for pull in _listed(repository, seen.query)])
        parts = re.fullmatch(r"/(pulls|issues)/(\d+)(/files|/comments|/timeline)?", rest)
        issue = repository.issues.get(int(parts[2])) if parts else None
        if parts is None or issue is None:
            return _not_found()
        if issue.deleted:
            return Response.of({"message": "This issue was deleted"}, 410)
        match parts[1], parts[3]:
            case "pulls", None if isinstance(issue, LoopbackPull):
                if "diff" in seen.headers.get("accept", ""):
                    kind = "application/vnd.github.diff; charset=utf-8"
                    return Response(200, diff_of(issue).encode(), {"content-type": kind})
                return Response.of(write.pull(repository, issue))
            case "pulls", "/files" if isinstance(issue, LoopbackPull):
                return self._page(seen, [write.file(repository, issue, file) for file in issue.files])
            case "issues", None:
                return Response.of(write.issue(repository, issue))
            case "issues", "/comments":
                return self._page(seen, [write.comment(repository, issue, i) for i in range(len(issue.comments))])
            case "issues", "/timeline":
                events = issue.events if isinstance(issue, LoopbackPull) else 0
                return self._page(seen, [write.event(repository, issue, i) for i in range(events)])
        return _not_found()

    def _search(self, seen: Seen, write: Json) -> Response:
        size, page = min(int(seen.query.get("per_page", 30)), 100), int(seen.query.get("page", 1))
        if (page - 1) * size >= CAP:
            return Response.of({"message": "Only the first 1000 search results are available"}, 422)
        try:
            hits = search(seen.path.split("/")[2], seen.query.get("q", ""), self.repositories, write)
        except BadQuery as error:
            words = {"message": f"Validation Failed: {error}", "documentation_url": "https://docs.github.com/v3/search/"}
            return Response.of(words, 422)
        order = {"created": lambda hit: hit.created, "updated": lambda hit: hit.updated}.get(seen.query.get("sort", ""))
        if order:
            hits.sort(key=order, reverse=seen.query.get("order", "desc") != "asc")
        incomplete = self.incomplete(seen)
        total, hits = len(hits), hits[:CAP]
        if incomplete:
            hits = hits[: len(hits) // 2]
        shown = [hit.write() for hit in hits[(page - 1) * size : page * size]]
        kind = {"search_type": "lexical"} if seen.path == "/search/issues" else {}
        found = Response.of({"total_count": total, "incomplete_results": incomplete, "items": shown, **kind})
        found.headers |= self._links(seen, len(hits))
        return found

    def _page(self, seen: Seen, items: list[Any]) -> Response:
        size, page = min(int(seen.query.get("per_page", 30)), 100), int(seen.query.get("page", 1))
        response = Response.of(items[(page - 1) * size : page * size])
        response.headers |= self._links(seen, len(items))
        return response

    def _links(self, seen: Seen, count: int) -> dict[str, str]:
        size, page = min(int(seen.query.get("per_page", 30)), 100), int(seen.query.get("page", 1))
        last = -(-count // size)
        links = {"next": page + 1, "last": last} if page < last else {}
        links |= {"prev": page - 1, "first": 1} if page > 1 else {}
        base = f"{self.url}{quote(seen.path)}"
        words = [f'<{base}?{urlencode({**seen.query, "page": n})}>; rel="{name}"' for name, n in links.items()]
        return {"link": ", ".join(words)} if words else {}

    def _rate_limit(self, seen: Seen) -> Any:
        found = {}
        for name in ("core", "search", "graphql", "code_search"):
            rule = self.quotas.get(name, Quota())
            window = self._windows.get((seen.token, name), Quota(rule.limit, resets_at=self.now() + rule.window_s))
            found[name] = {
                "limit": window.limit, "remaining": max(0, window.limit - window.used), "reset": int(window.resets_at),
                "used": window.used,
            }  # fmt: skip
        return {"resources": found, "rate": found["core"]}


def _listed(repository: LoopbackRepository, query: dict[str, str]) -> list[LoopbackPull]:
    state, key = query.get("state", "open"), query.get("sort", "created")
    found = [
        pull for pull in repository.pulls() if state == "all" or (pull.closed_at is not None) == (state == "closed")
    ]
    found.sort(
        key=lambda pull: (pull.created_at if key == "created" else pull.updated_at or pull.created_at, pull.number)
    )
    return found[::-1] if query.get("direction", "desc") == "desc" else found


def _not_found() -> Response:
    return Response.of(
        {"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"}, 404
    )


@contextmanager
def github_server(*repositories: LoopbackRepository) -> Iterator[GitHubServer]:
    """Serve repositories from a thread of its own until the block ends."""
    server = GitHubServer(repositories)
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while await _one(server, reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    async def main() -> None:
        listening = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=1024, limit=2**20)
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        ready.set()
        async with listening:
            await stopped
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    stopped = loop.create_future()
    thread = threading.Thread(target=loop.run_until_complete, args=(main(),), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stopped.set_result, None)
        thread.join(10)
        loop.close()


async def _one(server: GitHubServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Answer one request; False where the connection is to be closed."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    token = headers.get("authorization", "").removeprefix("Bearer ")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    seen = Seen(len(server.seen) + 1, method, parts.path, query, token, headers, body)
    server.in_flight += 1
    server.in_flight_of[token] += 1
    server.most_in_flight = max(server.most_in_flight, server.in_flight)
    server.most_of_a_token = max(server.most_of_a_token, server.in_flight_of[token])
    try:
        response = server.respond(seen)
        while server.most_in_flight < server.hold_until:
            await asyncio.sleep(0.01)
        return await _send(writer, response)
    finally:
        server.in_flight -= 1
        server.in_flight_of[token] -= 1


async def _send(writer: asyncio.StreamWriter, response: Response) -> bool:
    if response.fault == "silence":
        await asyncio.sleep(3600)
    if response.fault == "reset":
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return False
    lines = [f"HTTP/1.1 {response.status} -"]
    lines += [f"{name}: {value}" for name, value in response.headers.items()]
    lines += [] if response.status == 304 else [f"content-length: {len(response.body)}"]
    sent = response.body[: len(response.body) // 2] if response.fault == "truncated" else response.body
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + sent)
    await writer.drain()
    return not response.fault
