"""The proxy that is a sandbox's only way out: real sockets, a real server behind it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from datasmith.docker.egress import MOST_HEAD, SOCKET, Destination, Egress


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None: ...

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        said = f"{self.path}|{self.headers['Host']}|{self.headers['Proxy-Secret']}|{self.headers['X-Kept']}|".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said + body)))
        self.end_headers()
        self.wfile.write(said + body)


@contextmanager
def echoing() -> Iterator[int]:
    """The port of a server that echoes."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def say(directory: Path, *parts: bytes) -> bytes:
    """All that comes back for what is said, one part after the answer to another."""
    answer = b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(20)
        client.connect(str(directory / SOCKET))
        for part in parts[:-1]:
            client.sendall(part)
            answer += client.recv(65536)
        client.sendall(parts[-1])
        while chunk := client.recv(65536):
            answer += chunk
    return answer


POST = (
    b"POST %s HTTP/1.1\r\nHost: x\r\nProxy-Secret: s\r\nX-Kept: k\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody"
)


def test_a_plain_request_goes_to_an_allowed_place() -> None:
    """By absolute URI; what is meant for a proxy does not go on, and the host is the one that was let through."""
    with echoing() as port, Egress([Destination("127.0.0.1", port)]) as egress:
        answer = say(egress.directory, POST % f"http://127.0.0.1:{port}/v1?q=1".encode())
        assert answer.endswith(f"/v1?q=1|127.0.0.1:{port}|None|k|body".encode())
        assert egress.passed == {Destination("127.0.0.1", port): 1}


def test_a_tunnel_goes_to_an_allowed_place() -> None:
    """CONNECT, then whatever both sides say; a host is the same in capitals and with its last dot."""
    with echoing() as port, Egress([Destination("localhost", port)]) as egress:
        connect = f"CONNECT LOCALHOST.:{port} HTTP/1.1\r\n\r\n".encode()
        answer = say(egress.directory, connect, POST % b"/inside")
        assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\n")
        assert answer.endswith(b"/inside|x|s|k|body")


@pytest.mark.parametrize(
    "request_line",
    [
        "CONNECT 127.0.0.1:{other}",
        "CONNECT 127.0.0.1.evil.org:{port}",
        "CONNECT evil.org@127.0.0.1:{other}",
        "POST http://127.0.0.1:{port}@127.0.0.1:{other}/",
        "POST http://127.0.0.1:{other}/",
        "POST http://[::1]:{port}/",
        "POST http://localhost:{port}/",
    ],
)
def test_no_other_place_is_reached(request_line: str) -> None:
    """The other port has a server, too: nothing of the request comes to it."""
    with echoing() as port, echoing() as other, Egress([Destination("127.0.0.1", port)]) as egress:
        line = request_line.format(port=port, other=other)
        answer = say(egress.directory, f"{line} HTTP/1.1\r\nContent-Length: 0\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 403 ") and b"not among the places" in answer
        assert not egress.passed and egress.refused == 1


@pytest.mark.parametrize(
    "said",
    [
        b"GET /etc/passwd HTTP/1.1\r\n\r\n",
        b"CONNECT nowhere HTTP/1.1\r\n\r\n",
        b"CONNECT a:99999 HTTP/1.1\r\n\r\n",
        b"POST https://127.0.0.1/ HTTP/1.1\r\n\r\n",
        b"POST file:///etc/passwd HTTP/1.1\r\n\r\n",
        b"CONNECT \xff\xfe:443 HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01 no http at all\r\n\r\n",
        b"A" * MOST_HEAD,
    ],
)
def test_what_is_no_request_for_a_proxy_is_refused(said: bytes) -> None:
    """With a reason, and the proxy lives on."""
    with echoing() as port, Egress([Destination("127.0.0.1", port)]) as egress:
        assert say(egress.directory, said).startswith(b"HTTP/1.1 400 ")
        assert say(egress.directory, POST % f"http://127.0.0.1:{port}/".encode()).endswith(b"body")


def test_a_place_that_does_not_answer_is_counted() -> None:
    """An outage is told from a refusal; what lies at the end is gone with the proxy."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = Destination("127.0.0.1", free.getsockname()[1])
    with Egress([place]) as egress:
        answer = say(egress.directory, f"CONNECT {place} HTTP/1.1\r\n\r\n".encode())
        assert place.trouble() == "Connection refused"
        assert answer.startswith(b"HTTP/1.1 502 ") and egress.unreachable == {place: 1} and not egress.passed
    assert not egress.directory.exists()


@pytest.mark.parametrize(("url", "place"), [("https://a.org/v1", "a.org:443"), ("http://B.org:8/x", "b.org:8")])
def test_where_a_url_leads(url: str, place: str) -> None:
    """Ports follow from the scheme."""
    assert str(Destination.of_url(url)) == place


@pytest.mark.parametrize("url", ["", "a.org", "file:///x", "https://", "http://a:b/"])
def test_a_url_that_leads_nowhere(url: str) -> None:
    """It names no host and port."""
    with pytest.raises(ValueError):
        Destination.of_url(url)
