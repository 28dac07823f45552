"""Inside a sandbox: which archives hold some of the given texts, whatever they are called.

Arguments: a file of texts, one a line; a file with the paths that the tree's commit has (NUL between them), which are
not looked into; and "names" where only machine code counts. Standard input: paths, NUL between them. Prints
`file<tab>PATH` and `has<tab>TEXT`, or `unread<tab>PATH` where an archive holds more than is read of one.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 2_000_000_000
"""Bytes of what an archive holds, all in all, that are read."""
DEEPEST = 6
"""Archives in archives; a packed tar is two."""
HEAD = 300
CHUNK = 1 << 20
TREE = "/workspace/repo/"
CODE = re.compile(r"\.(so|pyd|o|obj|a|pyc|pyo|dylib|rlib)$|\.so\.[0-9.]+$")
DAMAGE = (OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)
"""What an archive that is broken, encrypted, or none at all makes its reader raise."""
GZIP, BZIP2, XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0"


class TooMuch(Exception):
    """An archive holds more than MOST bytes."""


class Joined(io.RawIOBase):
    """What was read already, and the rest."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self.head = head
        self.rest = rest

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Like any stream's; all that was read before comes first."""
        data = self.head[: len(buffer)] or self.rest.read(len(buffer))
        self.head = self.head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def is_archive(head: bytes) -> bool:
    """Whether a file that begins like this is one."""
    return head[:4] in {b"PK\3\4", b"PK\5\6"} or head[257:262] == b"ustar" or head.startswith((GZIP, BZIP2, XZ))


def members(stream: IO[bytes], name: str, depth: int = 0) -> Iterator[tuple[str, IO[bytes]]]:
    """(name, content) of everything in a file that is no archive itself; the stream is read once."""
    head = stream.read(HEAD)
    whole = io.BufferedReader(Joined(head, stream))
    if depth > DEEPEST or not is_archive(head):
        yield name, whole
        return
    reader = of_tar if head[257:262] == b"ustar" else of_zip if head.startswith(b"PK") else of_packed
    for inside, content in reader(whole, name, head):
        yield from members(content, inside, depth + 1)


def of_tar(stream: IO[bytes], _name: str, _head: bytes) -> Iterator[tuple[str, IO[bytes]]]:
    """The files of a tar."""
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content:
                yield member.name, content


def of_zip(stream: IO[bytes], _name: str, _head: bytes) -> Iterator[tuple[str, IO[bytes]]]:
    """The files of a zip, whose list stands at its end."""
    with tempfile.TemporaryFile() as seekable:
        copy(stream, seekable, MOST)
        yield from listed(seekable)


def listed(file: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    """The files of a zip that can be read from any place."""
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            with archive.open(info) as content:
                yield info.filename, content


def of_packed(stream: IO[bytes], name: str, head: bytes) -> Iterator[tuple[str, IO[bytes]]]:
    """The one file of gzip, bzip2 or xz."""
    inside = re.sub(r"\.[^./]*$", "", name)
    if head.startswith(GZIP):
        yield inside, cast("IO[bytes]", gzip.GzipFile(fileobj=stream))
    elif head.startswith(BZIP2):
        yield inside, cast("IO[bytes]", bz2.BZ2File(stream))
    else:
        with lzma.LZMAFile(stream) as content:
            yield inside, cast("IO[bytes]", content)


def copy(source: IO[bytes], sink: IO[bytes], most: int) -> int:
    """Write all of a stream; how much less than `most` it was."""
    while chunk := source.read(CHUNK):
        most -= len(chunk)
        if most < 0:
            raise TooMuch
        sink.write(chunk)
    return most


def held(path: str, texts: str, only_code: bool) -> bytes:
    """The texts that an archive holds, one a line; what can be read of a damaged one counts."""
    with Path(path).open("rb") as file, tempfile.TemporaryFile() as found:
        grep = subprocess.Popen(["grep", "-ohaF", "-f", texts], stdin=subprocess.PIPE, stdout=found)
        try:
            with suppress(*DAMAGE):
                feed(file, path, only_code, grep.stdin or io.BytesIO())
        finally:
            grep.communicate()
        found.seek(0)
        return found.read()


def feed(file: IO[bytes], path: str, only_code: bool, sink: IO[bytes]) -> None:
    """Write what an archive holds to the sink."""
    left = MOST
    for name, content in members(file, path):
        if CODE.search(name) or not only_code:
            left = copy(content, sink, left)
            sink.write(b"\n")


def looked_at(path: str, tracked: set[str]) -> bool:
    """Whether a file is an archive that the commit does not have."""
    if path.startswith(TREE) and path[len(TREE) :] in tracked:
        return False
    try:
        with Path(path).open("rb") as file:
            return is_archive(file.read(HEAD))
    except OSError:
        return False


def split(data: bytes) -> list[str]:
    """Paths with NUL between them."""
    return [path.decode("utf-8", "surrogateescape") for path in data.split(b"\0") if path]


def main(texts: str, known: str, what: str) -> None:
    """See the module."""
    tracked = set(split(Path(known).read_bytes()))
    for path in split(sys.stdin.buffer.read()):
        if not looked_at(path, tracked):
            continue
        shown = shlex.quote(path).encode("utf-8", "backslashreplace").replace(b"\n", b"?")
        try:
            lines = sorted(set(held(path, texts, what == "names").splitlines()))
        except TooMuch:
            sys.stdout.buffer.write(b"unread\t" + shown + b"\n")
            continue
        if lines:
            sys.stdout.buffer.write(b"file\t" + shown + b"\n" + b"".join(b"has\t" + line + b"\n" for line in lines))


if __name__ == "__main__":
    main(*sys.argv[1:4])
