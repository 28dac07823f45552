"""A web server on loopback that answers as it is told, and remembers what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answers = Callable[[str, str], tuple[int, object]]
"""(path, Authorization header) -> (status, body); a body of bytes goes out as it is."""


@dataclass
class Server:
    """Where it listens, and every request so far: (method, path, Authorization header, body)."""

    url: str
    seen: list[tuple[str, str, str, bytes]] = field(default_factory=list)


@contextmanager
def serving(answers: Answers) -> Iterator[Server]:
    """The server, while the body runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            token = self.headers.get("Authorization", "")
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            record.seen.append((self.command, self.path, token, body))
            status, answer = answers(self.path, token)
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            if status in {301, 302, 307}:
                self.send_header("Location", data.decode().strip('"'))
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_CONNECT = do_GET  # noqa: N815  (the names that http.server asks for)

        def log_message(self, *_words: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    record = Server(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield record
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
