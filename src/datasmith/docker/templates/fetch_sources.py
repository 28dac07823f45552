"""Take a lock apart, and download what of it was never a wheel: `fetch_sources.py LOCK DIRECTORY INDEX`. Runs none.

Written are wheels.txt and build.txt, which uv installs, sources.txt, and sdists/ with the archives, whose hashes are
those of the lock. This itself runs in the env tier, with any Python from 3.7 on.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

if TYPE_CHECKING:
    from http.client import HTTPMessage

BUILD = "#build "
SOURCE = "--no-binary "
ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
LINK = re.compile(r"<a\b[^>]*\bhref=[\"']([^\"'#]+)#sha256=([0-9a-f]{64})[\"']", re.IGNORECASE)


LOCKED_OUT = (401, 403, 407, 408, 429)
"""Statuses that say nothing of what was asked for."""
MOST = 200_000_000
"""Bytes of a page or archive; one with more is not read to its end."""


class Redirects(HTTPRedirectHandler):
    """Follows them, and tells user and password to no other host, port or scheme."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        """See HTTPRedirectHandler."""
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None and place(newurl) != place(req.full_url):
            following.remove_header("Authorization")
        return following


def place(url: str) -> tuple[str, str]:
    """Scheme, and host with port; without user and password."""
    parts = urlsplit(url)
    return parts.scheme.lower(), parts.netloc.rpartition("@")[2].lower()


def entries(lines: list[str]) -> list[str]:
    """The entries of a lock, each with its hash lines; options and comments are none."""
    found: list[list[str]] = []
    for line in lines:
        if line[:1].isspace() and found:
            found[-1].append(line)
        elif line.strip() and line[0] not in "#-":
            found.append([line])
    return ["\n".join(entry) + "\n" for entry in found]


def take_apart(lock: str) -> tuple[list[str], list[str], list[str]]:
    """(wheels, build, sources): entries to install as wheels, into the build environment, and to build."""
    lines = lock.splitlines()
    names = {line[len(SOURCE) :].strip() for line in lines if line.startswith(SOURCE)}
    own = entries(lines)
    build = entries([line[len(BUILD) :] for line in lines if line.startswith(BUILD)])
    sources = [entry for entry in own if entry.partition("==")[0] in names]
    return [entry for entry in own if entry not in sources], build, sources


def read(url: str) -> bytes:
    """The bytes at an address; what it holds of user and password is sent as such."""
    parts = urlsplit(url)
    credentials, at, host = parts.netloc.rpartition("@")
    headers = {"Accept": ACCEPT, "User-Agent": "fc-data"}
    if at:
        headers["Authorization"] = "Basic " + base64.b64encode(unquote(credentials).encode()).decode()
    asked = Request(urlunsplit(parts._replace(netloc=host)), headers=headers)
    try:
        with build_opener(Redirects).open(asked, timeout=120) as answer:
            content: bytes = answer.read(MOST + 1)
    except HTTPError as error:
        if error.code in LOCKED_OUT or error.code >= 500:
            sys.exit(f"fc-no-answer: {error}")
        raise
    except OSError as error:
        sys.exit(f"fc-no-answer: {error}")
    if len(content) > MOST:
        sys.exit("{}: more than {} bytes".format(parts.path.rpartition("/")[2], MOST))
    return content


def links(page: bytes, page_url: str) -> list[tuple[str, str]]:
    """(address, sha256) of each file on a page of the index, JSON or HTML."""
    text = page.decode("utf-8", "replace")
    if text.lstrip().startswith("{"):
        files = [(entry["url"], entry["hashes"].get("sha256", "")) for entry in json.loads(text)["files"]]
    else:
        files = [(html.unescape(url), digest) for url, digest in LINK.findall(text)]
    return [(urljoin(page_url, url), digest) for url, digest in files]


def fetch(entry: str, index: str, directory: Path) -> str:
    """Download the sources of one entry; its name and version."""
    pin = entry.split()[0]
    hashes = set(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry))
    page_url = "{}/{}/".format(index, pin.partition("==")[0])
    for url, digest in links(read(page_url), page_url):
        name = unquote(urlsplit(url).path).rpartition("/")[2]
        if digest in hashes and not name.endswith(".whl") and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+!-]*", name):
            if "@" in urlsplit(index).netloc and place(url) == place(index):
                url = urlunsplit(urlsplit(url)._replace(netloc=urlsplit(index).netloc))
            data = read(url)
            if hashlib.sha256(data).hexdigest() != digest:
                sys.exit(f"{name}: its hash is not that of the lock")
            (directory / name).write_bytes(data)
            return pin
    sys.exit(f"{pin}: no sources with a hash of the lock on the index")


def main() -> None:
    """Do what the first line says."""
    lock, directory, index = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3].rstrip("/")
    wheels, build, sources = take_apart(lock.read_text(encoding="utf-8"))
    (directory / "sdists").mkdir(parents=True, exist_ok=True)
    pins = [fetch(entry, index, directory / "sdists") for entry in sources]
    for name, lines in (("wheels", wheels), ("build", build), ("sources", [pin + "\n" for pin in pins])):
        (directory / f"{name}.txt").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
