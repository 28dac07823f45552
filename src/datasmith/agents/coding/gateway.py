"""The only thing that an agent reaches: its model, through a socket. The host holds the key, counts and listens in."""

import http.client
import json
import re
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from pydantic import JsonValue

from datasmith.agents.coding.budget import Ledger, laid_over, told_to_count
from datasmith.agents.coding.dialects import MOST_DEPTH, QUERY, Json, as_utf8, dialect_of, read_json
from datasmith.agents.coding.inside.launch import STOP_PATH
from datasmith.agents.coding.questions import Models, models_in, reaching_out
from datasmith.docker.doorway import doorway
from datasmith.docker.egress import Destination

SOCKET = "model.sock"
MOST_BODY = 32_000_000
MOST_HEARD = 8_000_000
"""Bytes of an answer that are listened to; a longer one passes unread."""
MOST_AT_ONCE = 8
"""Questions that are read and answered at the same time; others wait, so that no agent fills the host's memory."""
MOST_CONNECTIONS = 64
"""Connections that are open at the same time, most of them idle; others are closed."""
CONNECT_TIMEOUT_S = 30.0
ANSWER_TIMEOUT_S = 900.0
LISTEN_TIMEOUT_S = 30.0
"""How long an answer may wait for its agent in all, over its parts: then that has hung up. Its model, kept waiting,
would break off instead."""
_CHUNK = 65_536
_SIDE_PATHS = re.compile(r"(/v1)?/messages/count_tokens|(/v1(alpha|beta)?)?/models(/[\w.-]+:countTokens)?", re.ASCII)
"""What may be asked beside the model's answers, from the path's beginning to its end."""
_PASSED_ON = re.compile(
    r"accept|user-agent|version|originator|(session|conversation)[_-]id|x-(client-request-id|app|goog-api-client)"
    r"|anthropic-(version|beta|dangerous-direct-browser-access)|openai-beta|x-(stainless|codex)-[\w-]+",
    re.ASCII | re.IGNORECASE,
)
"""Headers that the agents' own clients send and a model's API knows. A proxy before it may know others, such as how
soon it is to give up: a sandbox could make an outage of those."""
_OF_ONE_HOP = frozenset(
    {"connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding"}
    | {"upgrade", "host", "content-length", "content-encoding", "accept-encoding", "expect"}
)
_NOT_RETURNED = _OF_ONE_HOP | {"set-cookie", "date", "server"}
_HEADER = re.compile(r"[\w!#$%&'*+.^`|~-]+:[\t -~\x80-\xff]*", re.ASCII)
"""A header that a request can be built of."""
Over = Callable[[int | None, bytes, str], None]
"""Is told how a request ended: its status, what was heard, and what was in the way."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A model's API: its address, the header that carries the key, parameters for every question, and its models."""

    url: str
    header: str
    key: str = field(repr=False)
    more: Mapping[str, JsonValue] = field(default_factory=dict)
    ca_bundle: Path | None = None
    models: Models = field(default_factory=Models)

    @property
    def value(self) -> str:
        """What the header says."""
        return f"Bearer {self.key}" if self.header == "Authorization" else self.key

    @property
    def place(self) -> Destination:
        """Its host and port.

        Raises:
            ValueError: the address names none.
        """
        return Destination.of_url(self.url)

    @property
    def encrypted(self) -> bool:
        """Whether it is asked over TLS."""
        return urlsplit(self.url).scheme == "https"

    def open(self) -> http.client.HTTPConnection:
        """A connection for one question; nothing is sent yet."""
        place = self.place
        if self.encrypted:
            context = ssl.create_default_context(cafile=str(self.ca_bundle) if self.ca_bundle else None)
            return http.client.HTTPSConnection(place.host, place.port, timeout=CONNECT_TIMEOUT_S, context=context)
        return http.client.HTTPConnection(place.host, place.port, timeout=CONNECT_TIMEOUT_S)

    def path(self, asked: str) -> str:
        """Where a path of the gateway leads: never out of the directory that the address names."""
        return urlsplit(self.url).path.rstrip("/") + asked


class Gateway:
    """A reverse proxy on a socket in `directory`, which a sandbox is shown as a mount (see `doorway`).

    What is asked there goes to `upstream` with the host's key; what `ledger` does not admit gets a refusal.
    """

    def __init__(self, upstream: Upstream, ledger: Ledger) -> None:
        self.upstream = upstream
        self.ledger = ledger
        self.closed = threading.Event()
        self.turns = threading.BoundedSemaphore(MOST_AT_ONCE)

    def __enter__(self) -> Self:
        """Open it.

        Raises:
            ConfigError: see `doorway`.
        """
        with ExitStack() as stack:
            path = stack.enter_context(doorway("model", SOCKET))
            self._server = stack.enter_context(_Server(str(path), type("_Bound", (_Handler,), {"gateway": self})))
            path.chmod(0o666)
            threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
            self.directory = path.parent
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closed.set()
        self.ledger.settle(0)
        self.ledger.stopped.set()
        self._server.shutdown()
        self._stack.close()


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, path: str, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(path, handler)
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)

    def verify_request(self, *_: object) -> bool:
        """Whether there is a place for another connection."""
        return self._places.acquire(blocking=False)

    def process_request_thread(self, request: socket.socket | tuple[bytes, socket.socket], client_address: str) -> None:
        """One connection, which leaves its place at its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, *_: object) -> None:
        """An agent that hangs up in the middle is no event."""


class _Handler(BaseHTTPRequestHandler):
    """One connection from a sandbox."""

    protocol_version = "HTTP/1.1"
    timeout = ANSWER_TIMEOUT_S
    gateway: Gateway
    _patience: float
    """Seconds that the answer under way may still wait for the agent."""

    def address_string(self) -> str:
        """A socket has no address."""
        return "sandbox"

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        """The launcher's wait for the budget's end, or a side question."""
        if self.path != STOP_PATH:
            with self.gateway.turns:
                self._side({})
            return
        self.gateway.ledger.stopped.wait()
        self.close_connection = True
        if not self.gateway.closed.is_set():
            self._say(200, "stopped")

    do_HEAD = do_GET  # noqa: N815 the name is http.server's

    def do_POST(self) -> None:
        """A question to the model, when it is its turn."""
        with self.gateway.turns:
            self._question()

    def _question(self) -> None:
        data = self._body()
        body = read_json(data or b"")
        if data is None:
            self.close_connection = True
            self._say(413, "too much")
        elif data and not body:
            self._say(403, f"only a JSON object can be asked here, of up to {MOST_DEPTH} levels")
        elif dialect_of(self.path) is None:
            self._side(body)
        else:
            self._ask(body)

    def _ask(self, body: Json) -> None:
        ledger, upstream = self.gateway.ledger, self.gateway.upstream
        question = told_to_count(self.path, laid_over(body, upstream.more))
        model = as_utf8(models_in(self.path, question)[0][:200])
        most = ledger.budget.most(model, self.path, question)
        refusal = self._unsendable() or upstream.models.refusal(self.path, body) or ledger.admit(body, most)
        if refusal:
            self._say(403, refusal)
            return

        def over(status: int | None, heard: bytes, trouble: str) -> None:
            if status is None or status >= 300:
                ledger.failed(model, status, trouble, most=most)
            else:
                ledger.answered(self.path, question, model, status, heard, trouble=trouble, most=most)

        self._forward(json.dumps(question).encode(), over)

    def _side(self, body: Json) -> None:
        plain, _, query = self.path.partition("?")
        if not _SIDE_PATHS.fullmatch(plain) or not QUERY.fullmatch(query):
            self._say(403, f"only a model can be asked here, not {self.command} {plain[:200]}")
        elif refusal := self._unsendable() or reaching_out(body):
            self._say(403, refusal)
        else:
            data = json.dumps(body).encode() if body else b""
            self._forward(data, lambda _status, _heard, _trouble: None)

    def _unsendable(self) -> str:
        """Why no request can be built of this one, which is the sandbox's doing and no outage; else an empty text."""
        wrong = next((name for name, value in self.headers.items() if not _HEADER.fullmatch(f"{name}:{value}")), None)
        return "" if wrong is None else f"no request can hold this header: {wrong[:200]}"

    def _forward(self, data: bytes, over: Over) -> None:
        upstream = self.gateway.upstream
        with ExitStack() as stack:
            try:
                connection = stack.enter_context(closing(upstream.open()))
                answer = self._send(connection, data)
            except (OSError, ValueError, http.client.HTTPException) as error:
                said = f"{upstream.place}: {str(error) or type(error).__name__}"
                over(None, b"", said)
                self._say(502, f"the model cannot be reached: {said}")
                return
            self._pass_on(answer, over)

    def _send(self, connection: http.client.HTTPConnection, data: bytes) -> http.client.HTTPResponse:
        upstream = self.gateway.upstream
        headers = {name: value for name, value in self.headers.items() if _PASSED_ON.fullmatch(name)}
        headers |= {upstream.header: upstream.value, "Accept-Encoding": "identity", "Connection": "close"}
        headers |= {"Content-Type": "application/json"} if data else {}
        path, _, query = self.path.partition("?")
        kept = "&".join(part for part in query.split("&") if part and not part.startswith("key="))
        connection.connect()
        connection.sock.settimeout(ANSWER_TIMEOUT_S)
        target = upstream.path(path) + (f"?{kept}" if kept else "")
        connection.request(self.command, target, body=data or None, headers=headers)
        return connection.getresponse()

    def _pass_on(self, answer: http.client.HTTPResponse, over: Over) -> None:
        """Carry an answer as it comes; `over` is told all of it before its last part leaves.

        It has been paid for, so it is heard to its end where the agent hangs up, too.
        """
        bare = self.command == "HEAD" or answer.status in {204, 304}
        self._patience = LISTEN_TIMEOUT_S
        listens = self._begin(answer, bare=bare)
        heard, waiting, trouble = bytearray(), b"", ""
        try:
            while not bare and (part := answer.read1(_CHUNK)):
                heard += part[: MOST_HEARD - len(heard)]
                listens = listens and self._chunk(waiting)
                waiting = part
            if answer.length:
                trouble = "the answer broke off"
        except (OSError, http.client.HTTPException) as error:
            trouble = f"the answer broke off: {str(error) or type(error).__name__}"
        over(answer.status, bytes(heard), trouble)
        if trouble or not listens:
            self.close_connection = True
        elif not bare:
            self._chunk(waiting)
            self._chunk(b"", last=True)

    def _begin(self, answer: http.client.HTTPResponse, *, bare: bool) -> bool:
        """Send an answer's head; whether the agent still listens."""
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _NOT_RETURNED:
                self.send_header(name, value)
        self.send_header(*(("Content-Length", "0") if bare else ("Transfer-Encoding", "chunked")))
        return self._within(self.end_headers)

    def _chunk(self, part: bytes, *, last: bool = False) -> bool:
        """Send a part of an answer; whether the agent still listens."""
        chunk = b"%x\r\n%s\r\n" % (len(part), part)
        return self._within(lambda: self.wfile.write(chunk)) if part or last else True

    def _within(self, write: Callable[[], object]) -> bool:
        """Write to the agent, in what is left of its time; whether it still listens."""
        if self._patience <= 0:
            return False
        self.connection.settimeout(self._patience)
        begun = time.monotonic()
        try:
            write()
        except OSError:
            return False
        self._patience -= time.monotonic() - begun
        self.connection.settimeout(self.timeout)
        return True

    def _body(self) -> bytes | None:
        """The question; None where it is longer than any, or has no end."""
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            size = self.headers.get("Content-Length", "0")
            return self.rfile.read(int(size)) if size.isdigit() and int(size) <= MOST_BODY else None
        data = bytearray()
        while len(data) <= MOST_BODY:
            size = self.rfile.readline(100).split(b";")[0].strip().decode("ascii", "replace")
            length = int(size, 16) if re.fullmatch("[0-9a-fA-F]{1,8}", size) else MOST_BODY
            if length == 0:
                while self.rfile.readline(_CHUNK).strip():
                    pass
                return bytes(data)
            data += self.rfile.read(min(length, MOST_BODY))
            self.rfile.readline(100)
        return None

    def _say(self, status: int, text: str) -> None:
        error = {"type": "permission_error", "message": text, "code": status, "status": "PERMISSION_DENIED"}
        data = json.dumps({"type": "error", "error": error}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
