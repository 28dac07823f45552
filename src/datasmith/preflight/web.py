"""One question to a web service: short, with a limit on time and size, and never carried on to another address."""

import json
import ssl
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

TIMEOUT_S = 5.0
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


class _NoRedirect(HTTPRedirectHandler):
    """A redirect is an answer: the token that we send is meant for one address only."""

    def redirect_request(
        self, _req: Request, _fp: IO[bytes], _code: int, _msg: str, _headers: HTTPMessage, _newurl: str
    ) -> None:
        """None of them is followed."""


def ask(
    url: str,
    *,
    token: str = "",
    scheme: str = "Bearer",
    send: object = None,
    ca_bundle: Path | None = None,
    timeout: float = TIMEOUT_S,
) -> Reply:
    """GET `url`, or POST `send` as JSON; whatever goes wrong is a value."""
    headers = {"Accept": "application/json", "User-Agent": "fc-data-preflight"}
    data = None if send is None else json.dumps(send).encode()
    if data is not None:
        headers["Content-Type"] = "application/json"
    if token:
        headers["Authorization"] = f"{scheme} {token}"
    if not url.startswith(("http://", "https://")):
        return Reply(0, problem="the address must begin with https:// or http://")
    try:
        request = Request(url, data=data, headers=headers)
        with _opener(ca_bundle).open(request, timeout=timeout) as answer:
            return Reply(answer.status, _read(answer.read(MOST_BYTES)))
    except HTTPError as error:
        with error:
            return Reply(error.code, _read(error.read(MOST_BYTES)))
    except URLError as error:
        return Reply(0, problem=str(error.reason) or "no answer")
    except (OSError, HTTPException, ValueError) as error:
        return Reply(0, problem=f"{type(error).__name__} {error}".strip())


def _opener(ca_bundle: Path | None) -> OpenerDirector:
    context = ssl.create_default_context(cafile=str(ca_bundle) if ca_bundle else None)
    return build_opener(_NoRedirect, HTTPSHandler(context=context))


def _read(data: bytes) -> object:
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found
