"""The program that downloads, inside the env tier, what was never a wheel."""

import hashlib
import io
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import as_file, files
from pathlib import Path
from urllib.request import Request

import pytest

from datasmith import process
from datasmith.docker.templates import fetch_sources
from datasmith.docker.templates.fetch_sources import links, take_apart
from tests.integration.loopback_index import Index, Release, Sdist, serving

SOURCES = Sdist("pure", "1.0", "2023-01-01", {"setup.py": "raise SystemExit('run')"})


def lock(digest: str) -> str:
    return (
        "--no-binary pure\n--only-binary :all:\n\n"
        "attrs==23.2.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
        f"pure==1.0 \\\n    --hash=sha256:{digest}\n"
        "purer==1.0 \\\n    --hash=sha256:cc\n"
        "#build setuptools==69.0 \\\n#build     --hash=sha256:dd\n"
    )


@pytest.fixture
def index() -> Iterator[Index]:
    with serving([Release("pure", "0.9", "2022-01-01"), SOURCES]) as running:
        yield running


def fetched(index: Index, place: Path, text: str) -> process.Completed:
    (place / "lock.txt").write_text(text)
    with as_file(files("datasmith.docker").joinpath("templates/fetch_sources.py")) as program:
        return process.run([sys.executable, program, place / "lock.txt", place / "box", index.url], timeout=60)


def test_a_lock_is_taken_apart() -> None:
    """Entries keep their hashes; options are none; a name that begins alike is another."""
    wheels, build, sources = take_apart(lock("ee"))
    assert [entry.split()[0] for entry in wheels] == ["attrs==23.2.0", "purer==1.0"]
    assert wheels[0] == "attrs==23.2.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
    assert build == ["setuptools==69.0 \\\n    --hash=sha256:dd\n"]
    assert sources == ["pure==1.0 \\\n    --hash=sha256:ee\n"]


def test_pages_of_both_kinds_are_read() -> None:
    """Addresses are joined with the page's."""
    digest = "0" * 64
    page = f'<a class="x" href="../../f/a-1.tar.gz?x=1&amp;y=2#sha256={digest}" data-core="y">a</a>'.encode()
    assert links(page, "http://h/simple/a/") == [("http://h/f/a-1.tar.gz?x=1&y=2", digest)]
    told = b'{"files": [{"url": "/f/a-1.tar.gz", "hashes": {"sha256": "00"}}]}'
    assert links(told, "http://h/simple/a/") == [("http://h/f/a-1.tar.gz", "00")]


def test_sources_are_downloaded_and_not_run(index: Index, tmp_path: Path) -> None:
    """By their hash, beside three lists for uv."""
    done = fetched(index, tmp_path, lock(hashlib.sha256(SOURCES.content()).hexdigest()))
    assert done.ok, done.error_text
    assert (tmp_path / "box/sdists/pure-1.0.tar.gz").read_bytes() == SOURCES.content()
    assert (tmp_path / "box/sources.txt").read_text() == "pure==1.0\n"
    assert "setuptools==69.0" in (tmp_path / "box/build.txt").read_text()
    assert "pure==" not in (tmp_path / "box/wheels.txt").read_text()


def test_other_bytes_than_the_lock_says_are_refused(index: Index, tmp_path: Path) -> None:
    """Whether the page tells of them or not."""
    unknown = fetched(index, tmp_path, lock("f" * 64))
    assert (unknown.rc, "no sources with a hash of the lock" in unknown.error_text) == (1, True)
    index.spoiled.add("/files/pure-1.0.tar.gz")
    spoiled = fetched(index, tmp_path, lock(hashlib.sha256(SOURCES.content()).hexdigest()))
    assert (spoiled.rc, "its hash is not that of the lock" in spoiled.error_text) == (1, True)


def test_a_user_and_password_of_the_index_are_sent(tmp_path: Path) -> None:
    """As basic authentication, for the page and for the file on the same machine."""
    with serving([SOURCES]) as index:
        index.password = "Basic dTpwQHNz"
        refused = fetched(index, tmp_path, lock(hashlib.sha256(SOURCES.content()).hexdigest()))
        assert "401" in refused.error_text
        index.url = index.url.replace("http://", "http://u:p%40ss@")
        done = fetched(index, tmp_path, lock(hashlib.sha256(SOURCES.content()).hexdigest()))
    assert done.ok, done.error_text


class Moved(BaseHTTPRequestHandler):
    """Sends everybody who asks for /to/PORT to that port of this machine; keeps what it was told."""

    told: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        self.told.append((self.path, self.headers.get("Authorization")))
        _, _, port = self.path.rpartition("/to/")
        self.send_response(302 if "/to/" in self.path else 200)
        self.send_header("Location", f"http://127.0.0.1:{port}/end")
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"here")

    def log_message(self, *_: object) -> None:
        """Say nothing on standard error."""


@pytest.fixture
def moved() -> Iterator[tuple[int, int, list[tuple[str, str | None]]]]:
    """Two servers, and what both were asked."""
    told: list[tuple[str, str | None]] = []
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), type("Told", (Moved,), {"told": told})) for _ in range(2)]
    threads = [threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    yield servers[0].server_port, servers[1].server_port, told
    for server, thread in zip(servers, threads, strict=True):
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_redirect_does_not_take_the_password_along(moved: tuple[int, int, list[tuple[str, str | None]]]) -> None:
    """It is told again on the same machine and port, and nowhere else; neither over another scheme."""
    one, other, told = moved
    for port in (one, other):
        assert fetch_sources.read(f"http://token@127.0.0.1:{one}/to/{port}") == b"here"
    first, again, second, elsewhere = told
    assert first[1] == again[1] == second[1] == "Basic dG9rZW4="
    assert elsewhere == ("/end", None)
    asked = Request("https://h/x", headers={"Authorization": "Basic x"})
    handler = fetch_sources.Redirects()
    for url, kept in (("https://H/y", True), ("http://h/y", False), ("https://h:1/y", False)):
        following = handler.redirect_request(asked, io.BytesIO(), 302, "", HTTPMessage(), url)
        assert following is not None and following.has_header("Authorization") is kept


def test_an_answer_without_an_end_is_not_read_to_it(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """More bytes than any archive has end the download."""
    monkeypatch.setattr(fetch_sources, "MOST", 10)
    with pytest.raises(SystemExit, match=r"pure-1\.0\.tar\.gz: more than 10 bytes"):
        fetch_sources.read(index.url.replace("/simple", "/files/pure-1.0.tar.gz"))


def test_a_password_is_not_sent_over_another_scheme() -> None:
    """What the index lists below http:// is asked for without the user of https://."""
    assert fetch_sources.place("https://u:p@H:1/x") == fetch_sources.place("https://h:1/y") == ("https", "h:1")
    assert fetch_sources.place("http://h:1") != fetch_sources.place("https://h:1")
