"""What is taken from uv's output; most calls themselves are in tests/integration/test_resolution.py."""

import http.server
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith.errors import IndexUnavailable
from datasmith.process import find_uv
from datasmith.resolution.base import SourceRelease
from datasmith.resolution.uv import Compiled, Refused, UvCompiler, pins_of

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


CUTOFF = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "line", ["six===bar; sys_platform != 'timed out'", "six>1; sys_platform != 'connection reset'"]
)
def test_what_uv_repeats_is_no_outage(line: str) -> None:
    """In its real words: of what it cannot read, and of what the index does not have."""
    with answering(404) as url:
        uv = UvCompiler(find_uv(), index_url=url)
        told = SourceRelease("pure", "1.0", (line,), ())
        assert isinstance(uv.compile([line], python_version="3.11", cutoff=CUTOFF), Refused)
        assert isinstance(uv.compile(["pure"], python_version="3.11", cutoff=CUTOFF, sources=[told]), Refused)


@pytest.mark.parametrize(("status", "there"), [(404, True), (403, False), (503, False)])
def test_a_search_without_an_end_is_an_outage_only_where_the_index_is_gone(
    status: int, there: bool, tmp_path: Path
) -> None:
    """Of a commit whose requirements cost uv its whole time: stages do not wait for it for ever."""
    slow = tmp_path / "uv"
    slow.write_text(
        f'#!/bin/sh\nexport UV_HTTP_RETRIES=0\ncase "$*" in *--no-cache*) exec {find_uv()} "$@";; esac\nsleep 60\n'
    )
    slow.chmod(0o755)
    with answering(status) as url:
        uv = UvCompiler(slow, index_url=url, timeout_s=0.2)
        if there:
            answer = uv.compile(["six"], python_version="3.11", cutoff=CUTOFF)
            assert isinstance(answer, Refused) and "although the package index does" in answer.error
        else:
            with pytest.raises(IndexUnavailable, match=r"package index unavailable: uv did not answer .*FC_INDEX_URL"):
                uv.compile(["six"], python_version="3.11", cutoff=CUTOFF)


def never(path: Path) -> Path:
    """A uv that fails the test if it is run."""
    path.write_text(f"#!/bin/sh\ntouch {path}.ran\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("line", ["evil @ http:/127.0.0.1:1/evil.whl", "-e .", "./evil", "six; os_name == '\n-e .'"])
def test_uv_is_asked_for_releases_only(line: str, tmp_path: Path) -> None:
    """Of a requirement and of what sources are told to need, whoever let it through: uv does not hear of it."""
    uv = UvCompiler(never(tmp_path / "uv"), index_url="http://127.0.0.1:1/simple")
    told = SourceRelease("pure", "1.0", (line,), ())
    answers = [
        uv.compile(["six", line], python_version="3.11", cutoff=CUTOFF),
        uv.compile(["six"], python_version="3.11", cutoff=CUTOFF, sources=[told]),
    ]
    assert all(isinstance(answer, Refused) and "only releases" in answer.error for answer in answers)
    assert not (tmp_path / "uv.ran").exists()


@pytest.mark.parametrize("line", ["evil @ http://h/evil.whl", "-e ./evil", "./evil", "evil==1.0 @ x", "--index-url x"])
def test_a_lock_of_anything_but_releases_is_refused(line: str, tmp_path: Path) -> None:
    """Whatever uv made of what it was asked."""
    uv = tmp_path / "uv"
    uv.write_text(f"#!/bin/sh\ncat <<'END'\n{LOCK}{line}\nEND\n")
    uv.chmod(0o755)
    answer = UvCompiler(uv).compile(["six"], python_version="3.11", cutoff=CUTOFF)
    assert isinstance(answer, Refused) and line in answer.error
    uv.write_text(f"#!/bin/sh\ncat <<'END'\n{LOCK}END\n")
    assert isinstance(UvCompiler(uv).compile(["six"], python_version="3.11", cutoff=CUTOFF), Compiled)
