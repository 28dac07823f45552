"""Pages of package indexes."""

import json
from datetime import UTC, datetime

import pytest

from datasmith.resolution.index_page import IndexFile, read_page

PAGE = "https://index.example/simple/x/"
DIGEST = "ab" * 32
FILES = [
    {
        "filename": "x-1.0-py3-none-any.whl",
        "url": "../../files/x-1.0-py3-none-any.whl",
        "hashes": {"sha256": DIGEST},
        "upload-time": "2024-03-01T10:00:00.5Z",
    },
    {"filename": "x-1.0.zip", "url": "/f/x-1.0.zip", "hashes": {"sha256": DIGEST}, "upload-time": "2024-03-01"},
    {"filename": "x-2.0.tar.gz", "url": "/f/x-2.0.tar.gz", "hashes": {}, "upload-time": "2024-03-01"},
    {"filename": "x-3.0.tar.gz", "url": "/f/x-3.0.tar.gz", "hashes": {"sha256": DIGEST}},
    {"filename": "x-4.0.tar.bz2", "url": "/f/x-4.0.tar.bz2", "hashes": {"sha256": DIGEST}, "upload-time": "2024-03-01"},
    {"filename": 5},
    "nothing",
]
HTML = f"""<!DOCTYPE html><h1>Links</h1>
<a href="../../files/x-1.0-py3-none-any.whl#sha256={DIGEST}" data-upload-time="2024-03-01T10:00:00.5Z">x</a><br/>
<a href="/f/x-1.0.zip#sha256={DIGEST}" data-upload-time="2024-03-01">x</a>
<a href="/f/x-3.0.tar.gz#sha256={DIGEST}">no date</a><a>no address</a><a href="#">nothing</a>
"""


@pytest.mark.parametrize("page", [json.dumps({"files": FILES}), HTML])
def test_json_and_html_say_the_same(page: str) -> None:
    """Wheels and sdists with a hash and a date count, in the page's order; addresses are joined, times are UTC."""
    found = read_page(page.encode(), PAGE)
    moment = datetime(2024, 3, 1, 10, 0, 0, 500_000, tzinfo=UTC)
    assert [(file.file_name, file.is_wheel, str(file.version)) for file in found] == [
        ("x-1.0-py3-none-any.whl", True, "1.0"),
        ("x-1.0.zip", False, "1.0"),
    ]
    assert found[0] == IndexFile(
        "x-1.0-py3-none-any.whl",
        "https://index.example/files/x-1.0-py3-none-any.whl",
        DIGEST,
        moment,
        found[0].version,
        True,
    )
    assert found[1].url == "https://index.example/f/x-1.0.zip"
    assert found[1].uploaded == datetime(2024, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "page",
    [
        b'{"files": []}',
        b'{"files": [{"hashes": 1}]}',
        b"<title>Links for x</title>",
        b'<meta name="pypi:repository-version" content="1.3">',
        b"<a href='other.html'>no file</a>",
    ],
)
def test_a_page_may_list_nothing(page: bytes) -> None:
    """Or nothing that can be used."""
    assert read_page(page, PAGE) == ()


@pytest.mark.parametrize(
    "page", [b"", b"{", b"{}", b'{"files": 3}', b'{"files": [', b"\xff<a href", b"[]", b"{" + b'"a":{' * 100_000,
             b"<h1>Down for maintenance</h1>"]
)  # fmt: skip
def test_what_is_no_page_says_nothing_of_a_project(page: bytes) -> None:
    """An outage is not an answer: no list of files follows from it."""
    with pytest.raises(ValueError):
        read_page(page, PAGE)
