"""What a reply of GitHub's means, decided from status, headers and body without any I/O."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Literal

from datasmith.github.tokens import Limits

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
JsonObject = dict[str, Json]
Wanted = Literal["json", "graphql", "text"]

_NEXT = re.compile(r'<([^>]*)>\s*;[^,<]*\brel="?next"?')
_GONE = {404, 410, 451}
_MOVED = {301, 302, 307, 308}
_LIMITED = {403, 429}
_BLOCKED = "access blocked"
"""A repository that GitHub has taken down."""
_SUSPENDED = "account was suspended"
"""Of whoever made the token."""
_TOO_LONG = "taking too long to generate"
TOO_LARGE = 406
"""GitHub's status for a diff that it does not show."""
_PASSING = ("something went wrong", "timed out", "timeout", "couldn't respond", "internal error")
"""What GitHub's GraphQL says, without a type, of faults of its own."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply as it came: header names in lower case, the body decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Data:
    """The answer: a JSON value or text, the address of the next page, and its ETag ("" for none)."""

    value: Json
    next_url: str
    etag: str


@dataclass(frozen=True, slots=True)
class NotModified:
    """What the cache holds is still so."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The thing is at `location` now."""

    location: str


@dataclass(frozen=True, slots=True)
class Spent:
    """The token has no calls left of the resource for `resets_in_s`."""

    resets_in_s: float


@dataclass(frozen=True, slots=True)
class Paused:
    """A secondary limit: the token pauses for `retry_after_s` (None: GitHub does not say how long)."""

    retry_after_s: float | None


@dataclass(frozen=True, slots=True)
class Broken:
    """A fault of GitHub's or of the way to it: worth another try, after `retry_after_s` at the earliest."""

    why: str
    retry_after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no such thing (404), not any more (410), or not for us (451)."""

    status: int


@dataclass(frozen=True, slots=True)
class TokenRefused:
    """GitHub does not know the token."""


@dataclass(frozen=True, slots=True)
class Refused:
    """GitHub understood, and will not."""

    status: int
    message: str


@dataclass(frozen=True, slots=True)
class QueryError:
    """An error in a GraphQL answer: its type, and the alias of what it is about; "" where GitHub does not say."""

    kind: str
    message: str
    part: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.kind else self.message


Decision = Data | NotModified | Moved | Spent | Paused | Broken | Missing | TokenRefused | Refused


def judge(reply: Reply, wanted: Wanted, now: float) -> Decision:
    """What to do with a reply; `now` is the time (seconds since the epoch) where GitHub tells none."""
    status = reply.status
    if status == 200:
        return _graphql(reply, now) if wanted == "graphql" else _data(reply, wanted)
    if status == 304:
        return NotModified()
    if status in _MOVED:
        location = reply.headers.get("location", "")
        return Moved(location) if location else Broken(f"HTTP {status} without a location")
    message = message_of(reply.body)
    if status == 401:
        return TokenRefused() if message else Broken("HTTP 401, and not from GitHub")
    if status in _LIMITED and (limited := _limited(reply, now)):
        return limited
    if _SUSPENDED in message.lower():
        return TokenRefused()
    if status in _GONE or _BLOCKED in message.lower():
        return Missing(status)
    if _TOO_LONG in message.lower():
        return Refused(TOO_LARGE, message)
    if status >= 500 or status in {202, 204, 408, 425} or status < 200:
        asked = _retry_after(reply.headers, now) if "retry-after" in reply.headers else None
        return Broken(f"HTTP {status}", asked or 0.0)
    return Refused(status, message or "no reason given")


def limits_of(headers: Mapping[str, str], resource: str, now: float) -> Limits | None:
    """The window that a reply speaks of; None where it does not say."""
    try:
        return Limits(
            headers.get("x-ratelimit-resource", resource),
            int(headers["x-ratelimit-limit"]),
            int(headers["x-ratelimit-remaining"]),
            _until(headers, headers["x-ratelimit-reset"], now),
        )
    except (KeyError, ValueError):
        return None


def message_of(body: bytes) -> str:
    """What GitHub says in words; "" where the body is none of its error objects."""
    value = read_json(body)
    if not isinstance(value, dict):
        return ""
    message = value.get("message")
    return message if isinstance(message, str) else ""


def read_json(body: bytes) -> Json:
    """The JSON value, or None where the body is none (an honest null is none of GitHub's answers)."""
    try:
        value: Json = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value


def next_page(headers: Mapping[str, str]) -> str:
    """The address that the Link header calls next; "" on the last page."""
    found = _NEXT.search(headers.get("link", ""))
    return found[1] if found else ""


def _data(reply: Reply, wanted: Wanted) -> Data | Broken:
    page, etag = next_page(reply.headers), reply.headers.get("etag", "")
    if wanted == "text":
        whole = reply.body.endswith(b"\n") or not reply.body
        if "diff" not in reply.headers.get("content-type", "") or not whole:
            return Broken("the body is not a diff, or only a part of it")
        return Data(reply.body.decode("utf-8", "replace"), page, etag)
    value = read_json(reply.body)
    if value is None:
        return Broken("the body is not JSON, or only a part of it")
    return Data(value, page, etag)


def _graphql(reply: Reply, now: float) -> Data | Spent | Paused | Broken:
    """GraphQL tells its troubles in a body with status 200."""
    value = read_json(reply.body)
    if not isinstance(value, dict) or not ({"data", "errors"} & value.keys()):
        return _limited(reply, now) or Broken("the body is no answer to a GraphQL query")
    errors = errors_of(value)
    kinds = {error.kind for error in errors}
    words = " ".join(error.message for error in errors).lower()
    if "secondary rate limit" in words:
        return Paused(_retry_after(reply.headers, now) if "retry-after" in reply.headers else None)
    if "RATE_LIMITED" in kinds or "RATE_LIMIT" in kinds:
        limits = limits_of(reply.headers, "graphql", now)
        return Spent(limits.resets_in_s) if limits else Paused(None)
    if "SERVICE_UNAVAILABLE" in kinds or any(sign in words for sign in _PASSING):
        return Broken(f"GraphQL: {errors[0].message}")
    return Data(value, "", "")


def errors_of(value: JsonObject) -> list[QueryError]:
    """The errors in a GraphQL answer."""
    found = value.get("errors")
    errors = [error for error in found if isinstance(error, dict)] if isinstance(found, list) else []
    return [QueryError(str(error.get("type") or ""), str(error.get("message") or ""), _part(error)) for error in errors]


def _part(error: JsonObject) -> str:
    match error.get("path"):
        case [str(alias), *_]:
            return alias
    return ""


def _limited(reply: Reply, now: float) -> Spent | Paused | None:
    """The limit that a 403 or 429 speaks of; None where it refuses for another reason."""
    headers, message = reply.headers, message_of(reply.body).lower()
    speaks = "rate limit" in message or "abuse" in message
    if "retry-after" in headers:
        return Paused(_retry_after(headers, now))
    if headers.get("x-ratelimit-remaining") == "0" and (speaks or not message or reply.status == 429):
        limits = limits_of(headers, "", now)
        return Spent(limits.resets_in_s) if limits else Paused(None)
    if speaks or reply.status == 429:
        return Paused(None)
    return None


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds, or a date: both are permitted (RFC 9110, 10.2.3)."""
    text = headers["retry-after"].strip()
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, _until(headers, str(parsedate_to_datetime(text).timestamp()), now))
    except ValueError:
        return None


def _until(headers: Mapping[str, str], epoch: str, now: float) -> float:
    """Seconds from now to a moment of GitHub's clock, by GitHub's clock where it tells the time."""
    with suppress(KeyError, ValueError):
        now = parsedate_to_datetime(headers["date"]).timestamp()
    return max(0.0, float(epoch) - now)
