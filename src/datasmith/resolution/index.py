"""Read a package index directly: which files a project has, and what is in one. Files are data, never run."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from datasmith.redact import has_credentials
from datasmith.resolution.failures import unavailable
from datasmith.resolution.index_page import ACCEPT, IndexFile, read_page
from datasmith.settings import trusting

if TYPE_CHECKING:
    import httpx2

PYPI = "https://pypi.org/simple"
"""The index where no other one is set."""
TIMEOUT_S = 60.0
MOST_PAGE_BYTES = 100_000_000
MOST_FILE_BYTES = 200_000_000
_GONE = (404, 410)


class SimpleIndex:
    """The pages of a package index; each is asked for once."""

    def __init__(self, index_url: str = "", *, ca_bundle: Path | None = None) -> None:
        self._url = (index_url or PYPI).rstrip("/")
        self._ca_bundle = ca_bundle
        self._pages: dict[str, tuple[IndexFile, ...]] = {}

    def files(self, name: str, *, before: datetime) -> tuple[IndexFile, ...]:
        """The wheels and sdists of a project (canonical name) uploaded before a moment, in the page's order.

        Raises:
            IndexUnavailable: the index cannot be reached, or answers with what is no page of an index.
        """
        if name not in self._pages:
            self._pages[name] = self._page(name, f"{self._url}/{name}/")
        return tuple(file for file in self._pages[name] if file.uploaded < before)

    def _page(self, name: str, url: str) -> tuple[IndexFile, ...]:
        body = self._get(url, MOST_PAGE_BYTES, name)
        if body is None:
            raise unavailable(f"{name}: its page has more than {MOST_PAGE_BYTES} bytes")
        try:
            return read_page(body, url) if body else ()
        except ValueError as error:
            raise unavailable(f"{name}: no page of an index: {error}") from error

    def content(self, file: IndexFile) -> bytes | None:
        """The bytes of a file; None where it is too large.

        Raises:
            IndexUnavailable: the index cannot be reached, or gives other bytes than its page promised.
        """
        data = self._get(self._with_credentials(file.url), MOST_FILE_BYTES, file.file_name)
        if data is not None and hashlib.sha256(data).hexdigest() != file.sha256:
            raise unavailable(f"{file.file_name} is not what its page says")
        return data

    def _with_credentials(self, url: str) -> str:
        """Files on the index's own machine are asked for with its user and password."""
        own, parts = urlsplit(self._url), urlsplit(url)
        there = (parts.scheme, parts.hostname, parts.port)
        if not has_credentials(self._url) or (own.scheme, own.hostname, own.port) != there:
            return url
        return urlunsplit(parts._replace(netloc=own.netloc))

    def _get(self, url: str, most: int, what: str) -> bytes | None:
        """A body; empty where there is none at that address, None where it has more than `most` bytes."""
        import httpx2

        try:
            with self._client() as client, client.stream("GET", url, headers={"Accept": ACCEPT}) as response:
                if response.status_code in _GONE:
                    return b""
                if not response.is_success:
                    raise unavailable(f"{what}: status {response.status_code}")
                return _body(response, most)
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL) as error:
            # The message of the error may hold the index's address, which may hold a password.
            raise unavailable(f"{what}: {type(error).__name__}") from error

    @contextmanager
    def _client(self) -> Iterator["httpx2.Client"]:
        import httpx2

        trust = trusting(self._ca_bundle) if self._ca_bundle else True
        with httpx2.Client(
            verify=trust, timeout=TIMEOUT_S, follow_redirects=True, max_redirects=3, trust_env=False
        ) as client:
            yield client


def _body(response: "httpx2.Response", most: int) -> bytes | None:
    kept = bytearray()
    for chunk in response.iter_bytes():
        kept += chunk
        if len(kept) > most:
            return None
    return bytes(kept)
