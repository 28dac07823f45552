"""One question to a web service: short, with a limit on time and size, and never carried on to another address."""

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio

from datasmith.github.connection import goes_in_the_clear, route_to
from datasmith.github.transport import Route, open_http
from datasmith.settings import Settings

if TYPE_CHECKING:
    import httpx2

TIMEOUT_S = 5.0
"""Seconds that an answer may take, all of it."""
MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Reply:
    """A status with its JSON body (None where it is none); status 0: nobody answered, and `problem` says why."""

    status: int
    body: object = None
    problem: str = ""

    @property
    def ok(self) -> bool:
        """True for 2xx."""
        return 200 <= self.status < 300

    def at(self, *path: str) -> object:
        """What lies at a path of keys of the body; None where there is nothing."""
        found = self.body
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found


def ask(
    url: str,
    settings: Settings,
    *,
    token: str = "",
    send: object = None,
    timeout: float = TIMEOUT_S,
    clear: bool = False,
) -> Reply:
    """GET `url`, or POST `send` as JSON, by the proxy and certificates of the settings; what goes wrong is a value.

    Plain http to another machine gets no token, unless `clear`.

    Raises:
        ConfigError: see route_to.
    """
    headers = {"Accept": "application/json", "User-Agent": "fc-data-preflight"}
    data = None if send is None else json.dumps(send).encode()
    if data is not None:
        headers["Content-Type"] = "application/json"
    if not (token.isascii() and token.isprintable()):
        return Reply(0, problem="the token holds a character that no token has")
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if not url.startswith(("http://", "https://")):
        return Reply(0, problem="the address must begin with https:// or http://")
    try:
        _ = urlsplit(url).port
    except ValueError as error:
        return Reply(0, problem=f"that is no address: {error}")
    if (token or data) and not clear and goes_in_the_clear(url):
        return Reply(0, problem="http would send the token in the clear; the address must begin with https://")
    route = route_to(url, settings, timeout)
    return anyio.run(partial(_exchange, route, url, headers, data))


async def _exchange(route: Route, url: str, headers: dict[str, str], data: bytes | None) -> Reply:
    import httpx2

    method = "GET" if data is None else "POST"
    try:
        with anyio.fail_after(route.timeout_s):
            async with open_http(route) as client, client.stream(method, url, headers=headers, content=data) as answer:
                return Reply(answer.status_code, _read(await _body(answer)))
    except (TimeoutError, httpx2.TimeoutException):
        return Reply(0, problem=f"no whole answer within {route.timeout_s:g} s")
    except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, ValueError) as error:
        return Reply(0, problem=str(error) or type(error).__name__)


async def _body(answer: "httpx2.Response") -> bytes:
    """The body, or as much of it as is read."""
    found = b""
    async for part in answer.aiter_bytes():
        found += part
        if len(found) > MOST_BYTES:
            break
    return found[:MOST_BYTES]


def _read(data: bytes) -> object:
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found
