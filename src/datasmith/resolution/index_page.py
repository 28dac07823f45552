"""Read the page of a project on a package index, as JSON (PEP 691) or HTML (PEP 503): pure."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
_EMPTY = re.compile(r"\blinks for\b|pypi:repository-version", re.IGNORECASE)
"""What a page in HTML says of itself that lists no files: a maintenance page does not."""


@dataclass(frozen=True, slots=True)
class IndexFile:
    """One wheel or sdist that a page lists, with its sha256 and the moment when it was uploaded."""

    file_name: str
    url: str
    sha256: str
    uploaded: datetime
    version: Version
    is_wheel: bool


def read_page(data: bytes, page_url: str) -> tuple[IndexFile, ...]:
    """The files of a page in its order; those without a hash, an upload date or a usable name are passed over.

    Sdists are .tar.gz and .zip: uv takes no others.

    Raises:
        ValueError: it is no page of an index: JSON that breaks off or lists no files, or a text that links nowhere.
    """
    text = data.decode("utf-8", "replace")
    entries = _from_json(text) if text.lstrip().startswith("{") else _from_html(text)
    return tuple(file for entry in entries if (file := _file(entry, page_url)))


def _from_json(text: str) -> Iterator[Mapping[str, str]]:
    try:
        page = json.loads(text)
    except RecursionError as error:
        raise ValueError("too deep") from error
    files = page.get("files")
    if not isinstance(files, list):
        raise ValueError("it lists no files")
    for entry in files:
        if isinstance(entry, dict):
            hashes = entry.get("hashes")
            digest = hashes.get("sha256") if isinstance(hashes, dict) else None
            told = {"name": entry.get("filename"), "url": entry.get("url"), "uploaded": entry.get("upload-time")}
            yield {key: value for key, value in (told | {"sha256": digest}).items() if isinstance(value, str)}


class _Links(HTMLParser):
    """Collects the attributes of all links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See HTMLParser."""
        if tag == "a":
            self.found.append({name: value for name, value in attrs if value is not None})


def _from_html(text: str) -> Iterator[Mapping[str, str]]:
    reader = _Links()
    reader.feed(text)
    if not reader.found and not _EMPTY.search(text):
        raise ValueError("it links to no files")
    for link in reader.found:
        url, _, fragment = link.get("href", "").partition("#")
        name = unquote(urlsplit(url).path.rpartition("/")[2])
        told = {"name": name, "url": url, "uploaded": link.get("data-upload-time", "")}
        yield told | ({"sha256": fragment[7:]} if fragment.startswith("sha256=") else {})


def _file(entry: Mapping[str, str], page_url: str) -> IndexFile | None:
    if not {"name", "url", "sha256", "uploaded"} <= entry.keys():
        return None
    name = entry["name"]
    is_wheel = name.endswith(".whl")
    try:
        version = parse_wheel_filename(name)[1] if is_wheel else parse_sdist_filename(name)[1]
        moment = datetime.fromisoformat(entry["uploaded"])
        url = urljoin(page_url, entry["url"])
    except (InvalidWheelFilename, InvalidSdistFilename, ValueError):
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return IndexFile(name, url, entry["sha256"], aware, version, is_wheel)
