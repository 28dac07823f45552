"""The program that downloads, inside the env tier, what was never a wheel."""

import hashlib
import sys
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from datasmith import process
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
