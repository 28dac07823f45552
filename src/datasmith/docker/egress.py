"""The only way out of a sandbox without network: a proxy of the host on a socket, which knows where one may go."""

import re
import socket
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from datasmith.docker.cli_build import template
from datasmith.docker.doorway import doorway
from datasmith.docker.templates.relay import CHUNK, join
from datasmith.errors import ConfigError

SOCKET = "egress.sock"
PROXY_NAMES = "HTTP_PROXY,HTTPS_PROXY,http_proxy,https_proxy"
"""The variables that tell programs of their proxy."""
MOST_HEAD = 65_536
MOST_CONNECTIONS = 64
CONNECT_TIMEOUT_S = 30.0
IDLE_TIMEOUT_S = 900.0
_REQUEST = re.compile(rb"([A-Z]{3,10}) (\S{1,8000}) HTTP/1\.[01]")
_NOT_PASSED = (b"proxy-", b"connection:", b"keep-alive:", b"host:")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_PYPI = ("https://pypi.org", "https://files.pythonhosted.org")
"""An index, and where its files lie."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A host, in lower case, and a port."""

    host: str
    port: int

    @classmethod
    def of_url(cls, url: str) -> Self:
        """Where a URL leads to.

        Raises:
            ValueError: it names no host, or no port that there can be.
        """
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
        if not parts.hostname or not port:
            raise ValueError(f"{url!r} names no host and port")
        return cls(parts.hostname.rstrip("."), port)

    def trouble(self) -> str:
        """What is wrong with it, as seen from here; empty where somebody listens."""
        try:
            socket.create_connection((self.host, self.port), timeout=CONNECT_TIMEOUT_S).close()
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def index_destinations(index_url: str) -> tuple[Destination, ...]:
    """Where packages come from: the host of the index, and that of PyPI's files where PyPI is the index.

    Raises:
        ConfigError: the URL names no host.
    """
    try:
        pypi = tuple(map(Destination.of_url, _PYPI))
        index = Destination.of_url(index_url) if index_url else pypi[0]
    except ValueError as error:
        raise ConfigError(
            "FC_INDEX_URL is no address of an index (example: FC_INDEX_URL=https://pypi.org/simple)"
        ) from error
    return pypi if index == pypi[0] else (index,)


class Egress:
    """A forward proxy (CONNECT, and plain HTTP by absolute URI) for `allowed` destinations and no others.

    It listens on a socket in `directory`, which a sandbox is shown as a mount (see `doorway`); a sandbox that is not
    shown it has no network at all. What was let through, refused, or could not be reached is counted.
    """

    def __init__(self, allowed: Iterable[Destination]) -> None:
        self.allowed = frozenset(allowed)
        self.passed: Counter[Destination] = Counter()
        self.refused = 0
        self.unreachable: Counter[Destination] = Counter()
        self._slots = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Open it.

        Raises:
            ConfigError: see `doorway`.
        """
        with ExitStack() as stack:
            path = stack.enter_context(doorway("egress", SOCKET))
            self._listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            self._listener.bind(str(path))
            path.chmod(0o666)
            self._listener.listen(MOST_CONNECTIONS)
            threading.Thread(target=self._accept, daemon=True).start()
            self.directory = path.parent
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self._stack.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._slots.acquire(blocking=False):
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()
            else:
                client.close()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, self._kept(client), suppress(OSError):
                client.settimeout(IDLE_TIMEOUT_S)
                self._answer(client)
        finally:
            self._slots.release()

    def _answer(self, client: socket.socket) -> None:
        head, rest = _read_head(client)
        request = _REQUEST.match(head)
        target = _target(request[1], request[2]) if request else None
        if request is None or target is None:
            _say(client, "400 Bad Request", "not a request that a proxy can answer")
            return
        if target not in self.allowed:
            with self._lock:
                self.refused += 1
            _say(client, "403 Forbidden", f"{target} is not among the places that may be reached from here")
            return
        try:
            server = socket.create_connection((target.host, target.port), timeout=CONNECT_TIMEOUT_S)
        except OSError as error:
            self.unreachable[target] += 1
            _say(client, "502 Bad Gateway", f"{target} cannot be reached: {error}")
            return
        self.passed[target] += 1
        with server, self._kept(server):
            server.settimeout(IDLE_TIMEOUT_S)
            if request[1] == b"CONNECT":
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                server.sendall(rest)
            else:
                server.sendall(_forwarded(head, request, target) + rest)
            join(client, server)

    def _kept(self, connection: socket.socket) -> "_Kept":
        return _Kept(self._open, self._lock, connection)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A connection in the list of those that the end of the proxy ends."""

    connections: set[socket.socket]
    lock: threading.Lock
    connection: socket.socket

    def __enter__(self) -> None:
        with self.lock:
            self.connections.add(self.connection)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.connections.discard(self.connection)


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    """The request's head with its empty line, and what came after it; an empty head where there is no end to it."""
    data = b""
    while b"\r\n\r\n" not in data and len(data) < MOST_HEAD:
        chunk = client.recv(CHUNK)
        if not chunk:
            break
        data += chunk
    head, end, rest = data.partition(b"\r\n\r\n")
    return (head + end, rest) if end else (b"", b"")


def _target(method: bytes, asked: bytes) -> Destination | None:
    try:
        text = asked.decode("ascii")
        if method != b"CONNECT" and not text.lower().startswith("http://"):
            return None
        return Destination.of_url(f"//{text}" if method == b"CONNECT" else text)
    except ValueError:
        return None


def _forwarded(head: bytes, request: re.Match[bytes], target: Destination) -> bytes:
    """The request as a server expects it: one to a connection, so that nothing of a second one goes astray."""
    parts = urlsplit(request[2].decode("ascii"))
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = head.split(b"\r\n")[1:-2]
    kept = [line for line in lines if not line.lower().startswith(_NOT_PASSED)]
    host = f"[{target.host}]" if ":" in target.host else target.host
    first = f"{request[1].decode()} {path} HTTP/1.1\r\nHost: {host}:{target.port}\r\nConnection: close\r\n"
    return first.encode("ascii") + b"".join(line + b"\r\n" for line in kept) + b"\r\n"


def _say(client: socket.socket, status: str, text: str) -> None:
    body = f"{text}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    client.sendall(head.encode() + body)


def relayed(ways: Mapping[str, str]) -> tuple[str, ...]:
    """The words before a command in a sandbox, for it to reach the host's sockets that are shown there.

    `ways`: names of variables (a comma between two), and the path of the socket whose address they hold.
    """
    told = (f"{names}={path}" for names, path in ways.items())
    return ("/usr/bin/python3", "-I", "-c", template("relay.py"), *told, "--")
