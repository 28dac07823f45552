"""What is taken from uv's output; most calls themselves are in tests/integration/test_resolution.py."""

import http.server
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from datasmith.errors import IndexUnavailable
from datasmith.process import find_uv
from datasmith.resolution.uv import Refused, UvCompiler, pins_of

LOCK = """--only-binary :all:

numpy==1.26.4 \\
    --hash=sha256:00 \\
    --hash=sha256:11
attrs==23.2.0 ; python_version < "4" \\
    --hash=sha256:22
"""


def test_pins_are_names_and_versions_in_order() -> None:
    """Options, hashes and markers are not part of a pin."""
    assert pins_of(LOCK) == ("attrs==23.2.0", "numpy==1.26.4")


def test_uv_is_found_and_can_be_run() -> None:
    """It comes with this package, or lies on the PATH."""
    assert os.access(find_uv(), os.X_OK)


@contextmanager
def answering(status: int) -> Iterator[str]:
    """The address of an index that answers every request with the same status."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            """Nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()


@pytest.mark.parametrize("status", [401, 403, 407])
def test_an_index_that_lets_nobody_in_is_an_outage(status: int) -> None:
    """In the real words of uv; only an index that says 404 has no such package."""
    cutoff = datetime(2024, 1, 1, tzinfo=UTC)
    with answering(status) as url, pytest.raises(IndexUnavailable, match=r"unavailable: (an index|Failed to fetch)"):
        UvCompiler(find_uv(), index_url=url).compile(["numpy"], python_version="3.11", cutoff=cutoff)
    with answering(404) as url:
        found = UvCompiler(find_uv(), index_url=url).compile(["numpy"], python_version="3.11", cutoff=cutoff)
    assert isinstance(found, Refused)
