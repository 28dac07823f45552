"""Which GitHub token the next call may use, and how long it has to wait for one."""

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import anyio

from datasmith.errors import ConfigError, RateLimited

_log = logging.getLogger(__name__)

IN_FLIGHT = 90
"""Calls of one token at one time; GitHub permits 100 (rate limits for the REST API, "secondary")."""
MARGIN_S = 1.0
"""GitHub tells resets in whole seconds."""
LONGEST_WAIT_S = 3900.0
"""GitHub's windows last at most an hour; whoever names a longer wait is asked again after this."""
_EXAMPLE = "example: GH_TOKENS=github_pat_xxx,github_pat_yyy"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a reply says of its token's window: calls left of `limit`, and seconds until they are given back."""

    resource: str
    limit: int
    remaining: int
    resets_in_s: float


@dataclass(frozen=True, slots=True)
class Wait:
    """No token is free for `resource`: calls go on in `seconds`, at `until` (aware, UTC)."""

    resource: str
    seconds: float
    until: datetime


@dataclass(slots=True)
class _Window:
    """The calls that a token has left of one resource; `remaining` None: nobody knows, and one call may find out."""

    remaining: int | None = None
    limit: int | None = None
    resets_at: float = -math.inf
    asking: bool = False


@dataclass(slots=True)
class _Token:
    secret: str = field(repr=False)
    number: int
    windows: dict[str, _Window] = field(default_factory=dict)
    held_until: float = -math.inf
    held_in_a_row: int = 0
    in_flight: int = 0
    used: int = 0
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to make one call for `resource` with one token."""

    secret: str = field(repr=False)
    number: int
    resource: str


@dataclass(frozen=True, slots=True)
class Choice:
    """What `pick` decided: a token's number, or the seconds to wait (inf: until a call in flight ends)."""

    number: int | None
    wait_s: float = 0.0


class TokenPool:
    """Spreads calls over tokens so that none is used beyond its limits.

    A token's window is learned from its first reply; until then it makes one call at a time. Waiting never blocks the
    event loop. Secrets are in no representation, log line or error: a token is called by its number.
    """

    def __init__(
        self,
        tokens: Sequence[str] | None = None,
        *,
        in_flight: int = IN_FLIGHT,
        max_wait_s: float = math.inf,
        on_wait: Callable[[Wait], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """Without `tokens`, those of the setting GH_TOKENS are read at the first call.

        `on_wait` hears when calls stop, and when they go on. `clock` gives seconds and never goes back.
        """
        self._tokens: list[_Token] | None = None if tokens is None else _read(tokens)
        self._in_flight = in_flight
        self._max_wait_s = max_wait_s
        self._on_wait = on_wait
        self._clock = clock
        self._sleep = sleep
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._announced: dict[str, float] = {}

    def __repr__(self) -> str:
        known = "not read yet" if self._tokens is None else f"{len(self._tokens)} tokens"
        return f"TokenPool({known})"

    def __len__(self) -> int:
        return len([token for token in self._known() if not token.refused])

    def pick(self, resource: str, now: float) -> Choice:
        """The token with the most calls left for `resource` at `now`, or how long there is none.

        Raises:
            ConfigError: there is no token, or GitHub refused every one of them.
        """
        tokens = [token for token in self._known() if not token.refused]
        if not tokens:
            raise ConfigError(f"GH_TOKENS: GitHub refused every token ({_EXAMPLE})")
        waits = [(self._wait(token, resource, now), token) for token in tokens]
        free = [token for wait, token in waits if wait <= 0]
        if not free:
            # A call in flight may end at any time; how long that takes is not known here.
            busy = any(math.isinf(wait) for wait, _ in waits)
            return Choice(None, math.inf if busy else min(wait for wait, _ in waits))
        best = max(free, key=lambda token: (_left(token, resource, now), -token.in_flight, -token.used))
        return Choice(best.number)

    async def acquire(self, resource: str) -> Lease:
        """Wait until a token may make a call for `resource`; give the lease back with `release`.

        Raises:
            RateLimited: that would take longer than `max_wait_s`.
            ConfigError: see `pick`.
        """
        try:
            while True:
                now = self._clock()
                choice = self.pick(resource, now)
                if choice.number is not None:
                    return self._lease(choice.number, resource, now)
                if math.isinf(choice.wait_s):
                    await self._next_release(resource)
                else:
                    self._announce(resource, now + choice.wait_s, choice.wait_s)
                    await self._sleep(choice.wait_s)
        except BaseException:
            self._wake(resource)  # what this call was woken for goes to the next one
            raise

    def release(self, lease: Lease, limits: Limits | None, *, answered: bool, free: bool = False) -> None:
        """The call has ended: `limits` as its reply told them, `answered` where there was a reply of GitHub's own.

        `free`: the call was not counted (a 304).
        """
        token, now = self._token(lease), self._clock()
        token.in_flight -= 1
        window = _window(token, lease.resource)
        window.asking = False
        if free and window.remaining is not None:
            window.remaining += 1
        if limits is not None:
            _learn(window, limits, now)
            if limits.resource != lease.resource:
                _learn(_window(token, limits.resource), limits, now)
        if limits is None and answered and window.remaining is None:
            window.remaining, window.resets_at = _UNLIMITED, math.inf  # an Enterprise server without rate limits
        if answered and now >= token.held_until:
            token.held_in_a_row = 0
        for resource in self._waiting:
            self._wake(resource)

    def spend(self, lease: Lease, resets_in_s: float) -> None:
        """GitHub says that the lease's token has no calls left of its resource."""
        token = self._token(lease)
        window = _window(token, lease.resource)
        window.remaining, window.resets_at = 0, self._clock() + _sane(resets_in_s) + MARGIN_S
        _log.info("token %d: no calls left of %s for %.0f s", token.number, lease.resource, resets_in_s)

    def hold(self, lease: Lease, retry_after_s: float | None) -> None:
        """GitHub asks the lease's token to pause; without a time: a minute, then twice as long each time."""
        token = self._token(lease)
        now = self._clock()
        if now >= token.held_until:  # otherwise the call was under way when the pause began
            token.held_in_a_row += 1
        pause = retry_after_s if retry_after_s is not None else 60.0 * 2 ** min(max(token.held_in_a_row - 1, 0), 4)
        token.held_until = max(token.held_until, now + _sane(pause))
        _log.info("token %d: asked to pause for %.0f s", token.number, pause)

    def refuse(self, lease: Lease) -> None:
        """GitHub does not know the lease's token (any more): it is not used again."""
        token = self._token(lease)
        token.refused = True
        _log.warning("token %d of %d is refused by GitHub and not used again", token.number, len(self._known()))

    def _known(self) -> list[_Token]:
        if self._tokens is None:
            from datasmith.settings import load_settings

            self._tokens = _read(load_settings().gh_tokens.get_secret_value().replace(",", " ").split())
        return self._tokens

    def _token(self, lease: Lease) -> _Token:
        return self._known()[lease.number - 1]

    def _wait(self, token: _Token, resource: str, now: float) -> float:
        """Seconds until the token may be used; inf where that depends on its calls in flight."""
        window = _window(token, resource)
        if token.held_until > now:
            return token.held_until - now
        left = _left(token, resource, now)
        if left <= 0:
            return window.resets_at - now
        most = 1 if token.held_in_a_row else self._in_flight  # after a pause one call goes ahead
        return math.inf if window.asking or token.in_flight >= most else 0.0

    def _lease(self, number: int, resource: str, now: float) -> Lease:
        token = self._known()[number - 1]
        window = _window(token, resource)
        if window.remaining is not None and now >= window.resets_at:
            window.remaining, window.resets_at = None, -math.inf
        if window.remaining is None:
            window.asking = True
        else:
            window.remaining -= 1
        token.in_flight += 1
        token.used += 1
        self._wake(resource)
        return Lease(token.secret, number, resource)

    async def _next_release(self, resource: str) -> None:
        future = asyncio.get_running_loop().create_future()
        queue = self._waiting.setdefault(resource, deque())
        queue.append(future)
        try:
            await future
        finally:
            if future in queue:
                queue.remove(future)

    def _wake(self, resource: str) -> None:
        """Let the call that has waited longest look again; once it has a lease it wakes the next."""
        queue = self._waiting.get(resource, deque())
        while queue:
            future = queue.popleft()
            if not future.done() and not future.get_loop().is_closed():
                future.set_result(None)
                return

    def _announce(self, resource: str, until: float, seconds: float) -> None:
        moment = datetime.now(UTC) + timedelta(seconds=seconds)
        if seconds > self._max_wait_s:
            raise RateLimited(f"GitHub: no calls left for {resource} before {moment:%Y-%m-%dT%H:%M:%SZ}", moment)
        if until < 1.0 + self._announced.get(resource, -math.inf):
            return
        self._announced[resource] = until
        _log.warning("GitHub: every token waits for %s; on at %s", resource, f"{moment:%Y-%m-%dT%H:%M:%SZ}")
        if self._on_wait:
            self._on_wait(Wait(resource, seconds, moment))


_UNLIMITED = 2**62


def _window(token: _Token, resource: str) -> _Window:
    return token.windows.setdefault(resource, _Window())


def _left(token: _Token, resource: str, now: float) -> int:
    """Calls that may be made; a window that nobody knows, or that has begun anew, counts as full."""
    window = _window(token, resource)
    if window.remaining is None or now >= window.resets_at:
        return _UNLIMITED if window.limit is None else window.limit
    return window.remaining


def _learn(window: _Window, limits: Limits, now: float) -> None:
    """Take over what a reply says; replies overtake each other, so within one window only less is believed."""
    resets_at = now + _sane(limits.resets_in_s) + MARGIN_S
    window.limit = limits.limit
    if window.remaining is None or resets_at > window.resets_at + 2 * MARGIN_S:
        window.remaining, window.resets_at = limits.remaining, resets_at
    elif resets_at > window.resets_at - 2 * MARGIN_S:
        window.remaining = min(window.remaining, limits.remaining)


def _sane(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_WAIT_S)


def _read(tokens: Sequence[str]) -> list[_Token]:
    words = list(dict.fromkeys(word.strip() for word in tokens if word.strip()))
    if not words:
        raise ConfigError(f"GH_TOKENS is not set: GitHub needs a token ({_EXAMPLE})")
    for number, word in enumerate(words, 1):
        if not (word.isascii() and word.isprintable() and " " not in word):
            raise ConfigError(f"GH_TOKENS: token {number} holds a character that no token has ({_EXAMPLE})")
    return [_Token(secret=word, number=number) for number, word in enumerate(words, 1)]
