"""Calls to GitHub that arrive: tokens, retries, redirects and the cache around one connection pool."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urljoin, urlsplit

import anyio

from datasmith.errors import ForgeError, ForgeUnavailable
from datasmith.github.etags import ReplyStore, worth_keeping
from datasmith.github.replies import (
    Broken,
    Data,
    Decision,
    Missing,
    Moved,
    NotModified,
    Paused,
    Refused,
    Reply,
    Spent,
    TokenRefused,
    Wanted,
    judge,
    limits_of,
)
from datasmith.github.tokens import Lease, TokenPool
from datasmith.settings import trusting

if TYPE_CHECKING:
    import ssl

    import httpx2

_log = logging.getLogger(__name__)
ATTEMPTS = 6
"""Tries of one call that GitHub or the way to it fails."""
PATIENCE_S = 300.0
"""A server that is down and says for how long is asked again after this at the latest."""
LIMITED_IN_A_ROW = 20
"""How often one call may run into limits before it is given up."""
REDIRECTS = 5
MAX_BODY = 128 * 2**20
"""Bytes of the largest body that is read."""
CONNECTIONS = 256


@dataclass(frozen=True, slots=True)
class Call:
    """One request: an absolute address, what its answer should be, and which of the token's windows it counts in."""

    url: str
    resource: str = "core"
    wanted: Wanted = "json"
    accept: str = "application/vnd.github+json"
    method: str = "GET"
    body: bytes = b""

    @property
    def key(self) -> str:
        """What the cache knows it by; "" where its answer is not kept."""
        return f"{self.accept} {self.url}" if self.method == "GET" and self.resource == "core" else ""

    def __str__(self) -> str:
        return f"{self.method} {urlsplit(self.url).path[:200]}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call: the result, from which address, and whether GitHub redirected to that."""

    result: Data | Missing | Refused
    url: str
    redirected: bool


@dataclass(frozen=True, slots=True)
class Timing:
    """Where waiting and chance come from."""

    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    now: Callable[[], float] = time.time
    rng: random.Random = field(default_factory=random.Random)

    def backoff(self, attempt: int) -> float:
        """Seconds before another try: 0.5, 1, 2 ... at most 30, each with up to half as much on top."""
        pause = min(30.0, 0.5 * 2.0**attempt)
        return pause + self.rng.uniform(0.0, pause / 2)


@dataclass(frozen=True, slots=True)
class Route:
    """How a service is reached: seconds of silence that are borne, a PEM file to trust, a proxy's address, and TLS."""

    timeout_s: float = 30.0
    ca_bundle: str = ""
    proxy: str = field(default="", repr=False)
    encrypted: bool = True


class Transport:
    """Makes calls until they are answered; hundreds may be under way at once, in one event loop."""

    def __init__(self, pool: TokenPool, base_url: str, route: Route, timing: Timing, replies: ReplyStore) -> None:
        self._pool = pool
        self._origin = _origin(base_url)
        self._route = route
        self._timing = timing
        self._replies = replies
        self._http: tuple[asyncio.AbstractEventLoop, httpx2.AsyncClient] | None = None

    async def send(self, call: Call) -> Answer:
        """What GitHub says to a call, after as many tries and pauses as that takes.

        Raises:
            RateLimited: the pool's longest wait would not do.
            ForgeUnavailable: no usable answer came.
            ForgeError: GitHub points to another server.
        """
        failed = limited = redirected = 0
        while True:
            decision = await self._once(call)
            match decision:
                case Data() | Missing() | Refused():
                    return Answer(decision, call.url, redirected=redirected > 0)
                case Broken(why, asked_s):
                    failed += 1
                    if failed >= ATTEMPTS:
                        where = urlsplit(call.url)
                        raise ForgeUnavailable(f"{where.scheme}://{where.netloc}: {call}: {why} ({failed} tries)")
                    _log.info("%s: %s; another try", call, why)
                    await self._timing.sleep(max(self._timing.backoff(failed - 1), min(asked_s, PATIENCE_S)))
                case Spent() | Paused() | TokenRefused():
                    limited += 1
                    if limited >= LIMITED_IN_A_ROW:
                        raise ForgeUnavailable(f"{call}: limited {limited} times in a row")
                case Moved(location):
                    redirected += 1
                    if redirected > REDIRECTS:
                        raise ForgeUnavailable(f"{call}: redirected without end")
                    call = replace(call, url=self.pointed_at(call.url, location))
                case NotModified():
                    raise ForgeUnavailable(f"{call}: HTTP 304 to a question without an ETag")

    def pointed_at(self, here: str, there: str) -> str:
        """The address that a reply from `here` calls `there`; tokens are given to one server only.

        Raises:
            ForgeError: it is another server's, or none.
        """
        try:
            url = urljoin(here, there)
            origin = _origin(url)
        except ValueError as error:
            raise ForgeError(f"GitHub points to what is no address: {there[:100]!r}") from error
        if origin != self._origin:
            raise ForgeError(f"GitHub points to another server, {origin[0]}://{origin[1]}; it gets no token")
        return url

    async def close(self) -> None:
        """Give the connections back; the next call opens new ones."""
        http, self._http = self._http, None
        if http is not None and http[0] is asyncio.get_running_loop():
            await http[1].aclose()

    async def _once(self, call: Call) -> Decision:
        """One try, with a token of its own; what GitHub says of the token is told to the pool."""
        kept = await self._replies.get(call.key) if call.key else None
        lease = await self._pool.acquire(call.resource)
        reply: Reply | None = None
        decision: Decision = Broken("stopped")
        try:
            came = await self._exchange(call, lease, kept.etag if kept else "")
            if isinstance(came, Broken):
                decision = came
            else:
                reply, decision = came, judge(came, call.wanted, self._timing.now())
        finally:
            self._tell_pool(lease, reply, decision)
        if isinstance(decision, NotModified) and kept is not None:
            return judge(Reply(200, kept.headers, kept.body), call.wanted, self._timing.now())
        if isinstance(decision, Data) and call.key and reply is not None and not _is_full_end(call, decision):
            fresh = worth_keeping(reply.headers, reply.body)
            if fresh is not None:
                await self._replies.put(call.key, fresh)
        return decision

    def _tell_pool(self, lease: Lease, reply: Reply | None, decision: Decision) -> None:
        match decision:
            case Spent(resets_in_s):
                self._pool.spend(lease, resets_in_s)
            case Paused(retry_after_s):
                self._pool.hold(lease, retry_after_s)
            case TokenRefused():
                self._pool.refuse(lease)
        limits = limits_of(reply.headers, lease.resource, self._timing.now()) if reply else None
        answered = not isinstance(decision, Broken | Spent | Paused | TokenRefused)
        self._pool.release(lease, limits, answered=answered, free=isinstance(decision, NotModified))

    async def _exchange(self, call: Call, lease: Lease, etag: str) -> Reply | Broken:
        """Send, and read the whole reply; what goes wrong on the way is a value."""
        import httpx2

        headers = {"Accept": call.accept, "Authorization": f"Bearer {lease.secret}"}
        if etag:
            headers["If-None-Match"] = etag
        if call.body:
            headers["Content-Type"] = "application/json"
        try:
            request = self._client().build_request(call.method, call.url, headers=headers, content=call.body or None)
        except httpx2.InvalidURL as error:
            raise ForgeError(f"{call}: {error}") from error
        try:
            with anyio.fail_after(10 * self._route.timeout_s):
                response = await self._client().send(request, stream=True)
                try:
                    return await _read(response)
                finally:
                    await response.aclose()
        except (httpx2.TransportError, httpx2.DecodingError, httpx2.StreamError) as error:
            return Broken(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        except TimeoutError:
            return Broken("no whole reply in time")

    def _client(self) -> "httpx2.AsyncClient":
        """The connections of the running event loop."""
        loop = asyncio.get_running_loop()
        if self._http is None or self._http[0] is not loop:
            self._http = (loop, open_http(self._route))
        return self._http[1]


def open_http(route: Route) -> "httpx2.AsyncClient":
    """Connections by a route: no redirect is followed, and no variable of the environment is read.

    Raises:
        ConfigError: the route's file of certificates holds none.
    """
    import httpx2

    return httpx2.AsyncClient(
        verify=_trust(route),
        proxy=route.proxy or None,
        trust_env=False,
        timeout=httpx2.Timeout(route.timeout_s, pool=None),
        limits=httpx2.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
        headers={"User-Agent": "fc-data", "X-GitHub-Api-Version": "2022-11-28"},
    )


def _trust(route: Route) -> "ssl.SSLContext | bool":
    """The authorities that are trusted: the machine's, or those of one file."""
    if not route.encrypted or not route.ca_bundle:
        return route.encrypted  # making a context takes a while, and plain http (on loopback only) needs none
    return trusting(route.ca_bundle)


async def _read(response: "httpx2.Response") -> Reply | Broken:
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > MAX_BODY:
            return Broken(f"more than {MAX_BODY} bytes")
        parts.append(part)
    return Reply(
        response.status_code, {name.lower(): value for name, value in response.headers.items()}, b"".join(parts)
    )


def _origin(url: str) -> tuple[str, str]:
    """Scheme and host, with the port where it is not the scheme's own; raises ValueError where the port is none."""
    parts = urlsplit(url)
    usual = parts.port in {None, {"http": 80, "https": 443}.get(parts.scheme)}
    return parts.scheme, (parts.netloc.lower().rpartition(":")[0] if usual and parts.port else parts.netloc.lower())


def _is_full_end(call: Call, data: Data) -> bool:
    """True for the last page of a list, if it has no room left.

    What is added later begins a page of its own and leaves this one, and its ETag, as they are: a 304 would hide it.
    """
    per_page = parse_qs(urlsplit(call.url).query).get("per_page", ["30"])[0]
    return isinstance(data.value, list) and not data.next_url and str(len(data.value)) == per_page
