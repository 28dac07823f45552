"""What a registry answers, looked at once: a checked value, an outage, or one line that names the registry."""

import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from datasmith.errors import PublishError

if TYPE_CHECKING:
    import httpx2

BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
_TOKEN = re.compile(r"[\x21-\x7e]+")
_RANGE = re.compile(r"(?:bytes=)?0-(-?[0-9]{1,18})")


_WORD = re.compile(r'([A-Za-z][\w-]*)(?:\s*=\s*(?:"([^"]*)"|([^\s,"]+)))?')
"""The name of a scheme; or of one of its words, with what that is."""


class Unanswered(Exception):
    """No whole answer came: the connection broke, or the server says that it is busy, and for how long."""

    wait_s = 0.0


def busy(answer: "httpx2.Response", what: str = "") -> Unanswered:
    """What an answer of BUSY is: to be asked again, no sooner than it says."""
    error = Unanswered(f"{what}HTTP {answer.status_code}")
    error.wait_s = wait_asked(answer.headers.get("Retry-After", ""), answer.headers.get("Date", ""))
    return error


def wait_asked(after: str, today: str) -> float:
    """Seconds of a Retry-After, which may be a moment, by the server's own clock; 0 where it cannot be read."""
    if after.isascii() and after.isdigit():
        return float(after[:9])
    try:
        return max(0.0, (parsedate_to_datetime(after) - parsedate_to_datetime(today)).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return 0.0


def challenges(text: str) -> dict[str, dict[str, str]]:
    """What a WWW-Authenticate asks for: the words of each scheme, all names in small letters; a first one counts."""
    found: dict[str, dict[str, str]] = {}
    words: dict[str, str] = {}
    for name, quoted, plain in _WORD.findall(text):
        if quoted or plain:
            words.setdefault(name.lower(), quoted or plain)
        else:
            words = {}
            found.setdefault(name.lower(), words)
    return found


def ask(
    http: "httpx2.Client",
    name: str,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    content: bytes = b"",
    params: Mapping[str, str] | None = None,
) -> "httpx2.Response":
    """One request to the registry `name`; the answer has arrived whole, and was unpacked.

    Raises:
        Unanswered: none came; another try may bring one.
        PublishError: what came cannot be read, or such a request cannot be said: another try brings no other.
    """
    import httpx2

    try:
        return http.request(method, url, headers=dict(headers), content=content, params=params)
    except (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
        raise PublishError(f"{name}: {_line(str(error))}") from error
    except (httpx2.TransportError, httpx2.StreamError) as error:
        raise Unanswered(f"{type(error).__name__}: {error}".rstrip(": ")) from error
    except httpx2.RequestError as error:
        raise PublishError(f"{name}: the answer cannot be read: {_line(str(error))}") from error


def place_in(text: str, base: str, name: str) -> str:
    """A URL that the registry `name` gave, made whole by `base`.

    Raises:
        PublishError: it is none of http or https.
    """
    import httpx2

    try:
        found = urljoin(base, text)
        parts = urlsplit(found)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        httpx2.URL(found)
    except (ValueError, httpx2.InvalidURL):
        usable = False
    if not usable:
        raise PublishError(f"{name}: {text[:100]!r} is no URL")
    return found


def document(content: bytes) -> dict[str, object]:
    """A JSON object; empty where the bytes are none, however deep or strange they are."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def token_in(content: bytes) -> str:
    """The token of a token server's answer, as a header can carry it; empty where there is none."""
    said = document(content)
    found = said.get("token") or said.get("access_token")
    return found if isinstance(found, str) and _TOKEN.fullmatch(found) else ""


def errors_in(content: bytes) -> str:
    """The messages of a refusal, in one line; empty where it holds none."""
    errors = document(content).get("errors")
    told = [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []
    return _line("; ".join(str(error.get("message") or error.get("code")) for error in told))


def arrived(answer: "httpx2.Response", most: int) -> int | None:
    """How many bytes of an upload the registry has ("Range: 0-99" are 100); None where it does not say.

    "0-0" is one byte by the specification, and with docker-registry it is also none: it is one where there can be at
    `most` one.
    """
    found = _RANGE.fullmatch(answer.headers.get("Range", ""))
    if not found:
        return None
    last = int(found[1])
    return last + 1 if last > 0 or (last == 0 and most == 1) else 0


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
