"""Inside a sandbox: the files of a zip, also those that its list does not name or that it says nobody can open."""

from __future__ import annotations

import zipfile
import zlib
from contextlib import suppress
from typing import IO, TYPE_CHECKING, cast

from .seal_streams import CHUNK, DAMAGE, Unread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .seal_streams import Readable

LOCAL = b"PK\3\4"
"""What each file of a zip begins with."""
ENTRY = 30
"""Bytes of its header, before the name."""
LAST_VERSION, LAST_METHOD = 63, 99
"""The highest numbers in it."""
LITTLE = 1 << 16
"""Bytes."""


def is_zip(head: bytes) -> bool:
    """Whether what begins with PK goes on as the first file of a zip does: a version and a method that there are."""
    if head[:4] == b"PK\5\6":
        return True
    return len(head) >= ENTRY and head[4] <= LAST_VERSION and int.from_bytes(head[8:10], "little") <= LAST_METHOD


def listed(file: IO[bytes]) -> Iterator[tuple[str, Readable]]:
    """The files of a zip that can be read from any place; those that it does not open come as they lie there.

    Unread is raised in the end where nobody knows what one of them holds: without its password, or its method.
    """
    closed = False
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            try:
                content = archive.open(info)
            except DAMAGE as error:
                closed |= isinstance(error, RuntimeError) and not is_plain(file, info)
                yield from at_place(file, info.header_offset, info.compress_size)
                continue
            with suppress(*DAMAGE), content:
                # With a sum that does not fit, the last part of a file would not be given.
                content._expected_crc = None  # type: ignore[attr-defined]
                yield info.filename, cast("Readable", content)
        known = sorted((info.header_offset, info.compress_size) for info in archive.infolist())
        yield from unlisted(file, known)
    if closed:
        raise Unread


def is_plain(file: IO[bytes], info: zipfile.ZipInfo) -> bool:
    """Whether a file of a zip has the sum that its list tells, as it lies there or unpacked: it is not encrypted."""
    for _, content in at_place(file, info.header_offset, info.compress_size):
        total = 0
        with suppress(*DAMAGE):
            while data := content.read1(CHUNK):
                total = zlib.crc32(data, total)
        if total == info.CRC:
            return True
    return False


def unlisted(file: IO[bytes], known: list[tuple[int, int]]) -> Iterator[tuple[str, Readable]]:
    """The files that lie in a zip, and not in its list; `known` are place and size of those that do."""
    at = 0
    for begin, size in [*known, (file.seek(0, 2), 0)]:
        for place in places(file, at, begin, LOCAL):
            file.seek(place)
            if is_zip(file.read(ENTRY)):
                yield from at_place(file, place, begin - place)
        at = max(at, begin + ENTRY + size)


def places(file: IO[bytes], begin: int, end: int, mark: bytes) -> Iterator[int]:
    """Where bytes stand in a part of a file."""
    at, left = begin, b""
    while at < end:
        file.seek(at)
        data = file.read(min(CHUNK, end - at))
        if not data:
            return
        at += len(data)
        data = left + data
        found = data.find(mark)
        while found >= 0:
            yield at - len(data) + found
            found = data.find(mark, found + 1)
        left = data[-(len(mark) - 1) :]


class Part:
    """A file from some place on, a little at a time: most of what stands in one is short."""

    def __init__(self, file: IO[bytes], place: int, size: int | None = None) -> None:
        self.file = file
        self.place = place
        self.end = None if size is None else place + size

    def read1(self, size: int, /) -> bytes:
        """Some bytes, or none at the end."""
        self.file.seek(self.place)
        data = self.file.read(min(size, LITTLE, LITTLE if self.end is None else self.end - self.place))
        self.place += len(data)
        return data


class Inflated:
    """What is deflated in a file from some place on, if it is that: it ends where it cannot go on."""

    def __init__(self, packed: Part) -> None:
        self.packed = packed
        self.state = zlib.decompressobj(-zlib.MAX_WBITS)

    def read1(self, size: int, /) -> bytes:
        """Some bytes, or none at the end."""
        data = b""
        with suppress(zlib.error):
            while not data and not self.state.eof:
                packed = self.state.unconsumed_tail or self.packed.read1(LITTLE)
                if not packed:
                    break
                data = self.state.decompress(packed, size)
        return data


def at_place(file: IO[bytes], place: int, size: int | None = None) -> Iterator[tuple[str, Readable]]:
    """A zip's file twice, unpacked and as it lies there: its marks may say that nobody could read it.

    Of what lies there `size` bytes, or as many as its header tells.
    """
    file.seek(place)
    head = file.read(ENTRY)
    told, length, extra = (int.from_bytes(head[at:end], "little") for at, end in ((18, 22), (26, 28), (28, 30)))
    name = file.read(length).decode("utf-8", "replace")
    begin = place + ENTRY + length + extra
    yield name, Inflated(Part(file, begin))
    yield name, Part(file, begin, told if size is None else size)
