"""A package index on the loopback interface: releases that a test describes, with upload dates, as real files."""

import gzip
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO

ANY_PYTHON = "py3-none-any"


@dataclass(frozen=True)
class Release:
    """One wheel of one release, with empty `modules`, and `programs` as (name, text); `tag` is the wheel's, `uploaded`
    an ISO date or None where the index does not say."""

    name: str
    version: str
    uploaded: str | None
    requires: tuple[str, ...] = ()
    tag: str = ANY_PYTHON
    requires_python: str = ""
    modules: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    programs: tuple[tuple[str, str], ...] = ()

    @property
    def file_name(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}-{self.tag}.whl"

    def content(self) -> bytes:
        """The wheel's bytes, the same each time."""
        info = f"{self.name.replace('-', '_')}-{self.version}.dist-info"
        lines = ["Metadata-Version: 2.1", f"Name: {self.name}", f"Version: {self.version}"]
        lines += [f"Requires-Dist: {line}" for line in self.requires]
        lines += [f"Provides-Extra: {name}" for name in self.extras]
        lines += [f"Requires-Python: {self.requires_python}"] if self.requires_python else []
        wheel = f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {self.tag}\n"
        members = {f"{info}/METADATA": "\n".join(lines) + "\n", f"{info}/WHEEL": wheel}
        members |= {f"{module}.py": "" for module in self.modules}
        members |= {f"{info.removesuffix('dist-info')}data/scripts/{name}": text for name, text in self.programs}
        record = f"{info}/RECORD"
        members[record] = "".join(f"{name},,\n" for name in (*members, record))
        target = BytesIO()
        with zipfile.ZipFile(target, "w") as archive:
            for name, text in members.items():
                archive.writestr(zipfile.ZipInfo(name), text)
        return target.getvalue()


@dataclass(frozen=True)
class Sdist:
    """The sources of one release: texts by path."""

    name: str
    version: str
    uploaded: str | None
    texts: Mapping[str, str]
    requires_python: str = ""

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}.tar.gz"

    def content(self) -> bytes:
        """The archive's bytes."""
        return sdist_bytes(f"{self.name}-{self.version}", self.texts)


def sdist_bytes(directory: str, texts: Mapping[str, str]) -> bytes:
    """A gzipped tar of one directory, the same each time."""
    target = BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for path, text in texts.items():
            member = tarfile.TarInfo(f"{directory}/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return gzip.compress(target.getvalue(), mtime=0)


@dataclass
class Index:
    """A running index: its URL, the requests it got, and what of it is out of order.

    `failing` paths answer 503, `spoiled` ones with other bytes than their page promised; with a `password` (the
    whole Authorization header) nothing is given without it.
    """

    url: str
    requests: list[str] = field(default_factory=list)
    broken: bool = False
    failing: set[str] = field(default_factory=set)
    spoiled: set[str] = field(default_factory=set)
    password: str = ""


@contextmanager
def serving(releases: Iterable[Release | Sdist]) -> Iterator[Index]:
    """Serve the releases by PEP 691 until the block ends."""
    files = {f"/files/{release.file_name}": release.content() for release in releases}
    pages: dict[str, list[dict[str, object]]] = {}
    for release in releases:
        digest = hashlib.sha256(files[f"/files/{release.file_name}"]).hexdigest()
        entry: dict[str, object] = {
            "filename": release.file_name, "url": f"/files/{release.file_name}", "hashes": {"sha256": digest},
            "requires-python": release.requires_python or None,
        }  # fmt: skip
        if release.uploaded:
            entry["upload-time"] = f"{release.uploaded}T00:00:00Z"
        pages.setdefault(f"/simple/{release.name}/", []).append(entry)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(files, pages))
    index = Index(f"http://127.0.0.1:{server.server_port}/simple")
    server.index = index  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield index
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(files: dict[str, bytes], pages: dict[str, list[dict[str, object]]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            index: Index = self.server.index  # type: ignore[attr-defined]
            index.requests.append(self.path)
            if index.broken or self.path in index.failing:
                self._answer(503, "text/plain", b"out of order")
            elif index.password and self.headers.get("Authorization") != index.password:
                self._answer(401, "text/plain", b"who are you")
            elif self.path in files:
                noise = b"spoiled" if self.path in index.spoiled else b""
                self._answer(200, "application/octet-stream", noise + files[self.path])
            elif self.path in pages:
                page = {"meta": {"api-version": "1.1"}, "name": self.path.split("/")[2], "files": pages[self.path]}
                self._answer(200, "application/vnd.pypi.simple.v1+json", json.dumps(page).encode())
            else:
                self._answer(404, "text/plain", b"")

        def do_HEAD(self) -> None:
            self._answer(405, "text/plain", b"")

        def _answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing on standard error."""

    return Handler
