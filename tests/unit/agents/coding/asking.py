"""Asking a gateway over its socket."""

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from datasmith.agents.coding.budget import Budget, Ledger
from datasmith.agents.coding.gateway import SOCKET, Gateway, Upstream

KEY = "the-real-key-0123456789"
QUESTION = {"model": "gpt", "input": [], "tools": [{"type": "function", "name": "shell"}], "stream": True}


class Over(http.client.HTTPConnection):
    """HTTP over a socket of the file system."""

    def __init__(self, path: Path) -> None:
        """Nothing is sent yet."""
        super().__init__("model", timeout=20)
        self._path = path

    def connect(self) -> None:
        """See HTTPConnection."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(20)
        self.sock.connect(str(self._path))


@contextmanager
def gateway(url: str, budget: Budget | None = None, **more: object) -> Iterator[Gateway]:
    """One in front of the API at `url`; `more` is laid over each question."""
    upstream = Upstream(f"{url}/base", "Authorization", KEY, more)  # type: ignore[arg-type]
    with Gateway(upstream, Ledger(budget or Budget())) as open_one:
        yield open_one


def ask(
    to: Gateway, path: str = "/v1/responses", body: object = QUESTION, method: str = "POST", **headers: str
) -> tuple[int, bytes]:
    """Status and body of what is answered."""
    connection = Over(to.directory / SOCKET)
    connection.request(method, path, json.dumps(body) if method == "POST" else None, headers)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found
