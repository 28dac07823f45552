"""A package index, read over the loopback interface."""

from datetime import UTC, datetime

import pytest

from datasmith.errors import IndexUnavailable
from datasmith.resolution import index
from datasmith.resolution.index import SimpleIndex
from datasmith.resolution.index_page import read_page
from tests.integration.loopback_index import Release, Sdist, serving

NOW = datetime(2024, 3, 1, tzinfo=UTC)
SOURCES = Sdist("x", "2.0", "2024-02-01", {"setup.py": ""})
RELEASES = (Release("x", "1.0", "2023-01-01"), SOURCES, Release("x", "3.0", "2024-03-01"))


def test_files_are_those_from_before_a_moment() -> None:
    """A page is asked for once, whatever the moment; a project that is not there has none."""
    with serving(RELEASES) as served:
        reader = SimpleIndex(served.url)
        assert [str(file.version) for file in reader.files("x", before=NOW)] == ["1.0", "2.0"]
        assert len(reader.files("x", before=datetime(2024, 3, 2, tzinfo=UTC))) == 3
        assert reader.files("unheard-of", before=NOW) == ()
        assert served.requests.count("/simple/x/") == 1


def test_a_user_and_password_open_page_and_file() -> None:
    """As they stand in the address; without them, and in messages, nothing of them is shown."""
    with serving(RELEASES) as served:
        served.password = "Basic dTpwQHNz"
        with pytest.raises(IndexUnavailable, match="x: status 401"):
            SimpleIndex(served.url).files("x", before=NOW)
        reader = SimpleIndex(served.url.replace("http://", "http://u:p%40ss@"))
        assert reader.content(reader.files("x", before=NOW)[1]) == SOURCES.content()
        served.broken = True
        with pytest.raises(IndexUnavailable) as caught:
            reader.files("y", before=NOW)
    assert "p%40ss" not in str(caught.value) and "p@ss" not in str(caught.value)


@pytest.mark.parametrize("page", ["http://h/f/x.tar.gz", "https://h:1/f/x.tar.gz", "https://other/f/x.tar.gz"])
def test_a_password_stays_with_its_scheme_and_machine(page: str) -> None:
    """A page cannot have it sent in clear text, or elsewhere."""
    reader = SimpleIndex("https://token@h/simple")
    assert reader._with_credentials(page) == page
    assert reader._with_credentials("https://h/f/x.tar.gz") == "https://token@h/f/x.tar.gz"


def test_a_file_that_is_too_large_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not read to its end."""
    monkeypatch.setattr(index, "MOST_FILE_BYTES", 10)
    with serving(RELEASES) as served:
        reader = SimpleIndex(served.url)
        assert reader.content(reader.files("x", before=NOW)[1]) is None


def test_a_page_that_is_none_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer of another kind, or one that is too large, says nothing of a project; it is asked for again."""
    with serving(RELEASES) as served:
        reader = SimpleIndex(served.url)
        with monkeypatch.context() as patched:
            patched.setattr(index, "read_page", lambda *_: read_page(b"<h1>Down for maintenance</h1>", ""))
            with pytest.raises(IndexUnavailable, match="x: no page of an index: it links to no files"):
                reader.files("x", before=NOW)
        with monkeypatch.context() as patched:
            patched.setattr(index, "MOST_PAGE_BYTES", 10)
            with pytest.raises(IndexUnavailable, match="x: its page has more than 10 bytes"):
                reader.files("x", before=NOW)
        assert len(reader.files("x", before=NOW)) == 2


def test_an_index_that_is_gone_is_no_answer() -> None:
    """The message names what was asked for."""
    with serving(()) as served:
        pass
    with pytest.raises(IndexUnavailable, match="package index unavailable: x: "):
        SimpleIndex(served.url).files("x", before=NOW)
