"""Inside a sandbox: everything that a file holds, whatever it is packed in, one in the other.

What is written otherwise (UTF-16, or the marks of HTML between the words) comes twice: as it is, and as its text.
"""

from __future__ import annotations

import bz2
import io
import lzma
import re
import struct
import tarfile
import tempfile
import zipfile
import zlib
from contextlib import suppress
from hashlib import sha256
from typing import IO, TYPE_CHECKING, cast

from .seal_texts import Text, written_as

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Protocol

    Whole = io.BufferedReader["Joined"]

    class Readable(Protocol):
        """A stream that gives what it has, so that damage behind it costs nothing."""

        def read1(self, size: int, /) -> bytes:
            """Some bytes, or none at the end."""

    class Unpacker(Protocol):
        """What zlib, bz2 and lzma have alike."""

        @property
        def eof(self) -> bool:
            """Whether this was the end of the stream."""

        @property
        def unused_data(self) -> bytes:
            """What came after it."""

        def decompress(self, data: bytes, size: int, /) -> bytes:
            """At most so many bytes."""


MOST = 2_000_000_000
"""Bytes of what an archive holds, all in all, that are read."""
MOST_RAW = 64 << 20
"""Bytes of a file in a zip that does not open it."""
DEEPEST = 6
"""Archives in archives; a packed tar is two."""
HEAD, BLOCK, ENTRY = 300, 512, 30
"""Bytes: what tells a kind; a tar's header; a zip's header, before the name."""
LOCAL = b"PK\3\4"
"""What each file of a zip begins with."""
LAST_VERSION, LAST_METHOD = 63, 99
"""The highest numbers in a zip's header."""
CHUNK = 1 << 20
DAMAGE = (
    *(OSError, EOFError, ValueError, RuntimeError, LookupError, ArithmeticError),
    *(struct.error, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile),
)
"""What an archive that is broken, encrypted, or none at all makes its reader raise."""
CLOSED = (b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\x04\x22\x4d\x18", b"LZIP\1")
"""What zstd, 7z, rar, lz4 and lzip begin with, which Python does not open."""
WEAK = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"\x5d\0\0")
"""What zlib and .lzma begin with: so few bytes are soon there by chance."""
PACKED: dict[bytes, Callable[[], Unpacker]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(16 + zlib.MAX_WBITS),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\0": lzma.LZMADecompressor,
    **dict.fromkeys(WEAK[:-1], zlib.decompressobj),
    WEAK[-1]: lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE),
}
"""By what a packed stream begins with, what unpacks it."""


class TooMuch(Exception):
    """An archive holds more than MOST bytes."""


class Unread(Exception):
    """An archive cannot be read to its end."""


class Joined(io.RawIOBase):
    """What was read already, and the rest; `last` is the end of what was given, `broken`: the rest has failed."""

    def __init__(self, head: bytes, rest: Readable) -> None:
        self.head = head
        self.rest = rest
        self.last = b""
        self.count = 0
        self.broken = False

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Like any stream's; all that was read before comes first."""
        try:
            data = self.head[: len(buffer)] or self.rest.read1(len(buffer))
        except DAMAGE:
            self.broken = True
            raise
        self.head = self.head[len(buffer) :]
        self.last = (self.last + data)[-CHUNK:]
        self.count += len(data)
        buffer[: len(data)] = data
        return len(data)

    def at(self, place: int, size: int) -> bytes:
        """Bytes that were given not long ago."""
        begin = place - self.count + len(self.last)
        return self.last[begin : begin + size] if begin >= 0 else b""

    def again(self) -> io.BufferedReader:
        """What was given last, and the rest: whoever read it has not made all of it his."""
        return io.BufferedReader(Joined(self.last, io.BufferedReader(self)))

    def finish(self) -> None:
        """Read the rest; raises what is in the way, now or before."""
        if self.broken:
            raise EOFError
        copy(self.rest, Bounded(io.BytesIO(), keeps=False))


class Unpacked:
    """What a packed stream holds, and those of its kind right behind it; `rest` is what lies there else."""

    def __init__(self, stream: Whole) -> None:
        head = stream.peek(HEAD)
        self.stream = stream
        self.begin = next(begin for begin in PACKED if head.startswith(begin))
        self.state = PACKED[self.begin]()
        self.ahead = b""
        self.over = False

    def read1(self, size: int, /) -> bytes:
        """Some bytes, or none at the end."""
        data = b""
        while not data and (not self.state.eof or self.goes_on()):
            data = self.state.decompress(self.packed(), size)
        return data

    def packed(self) -> bytes:
        """What is unpacked next; nothing where there is more of what came before."""
        if not getattr(self.state, "needs_input", True):
            return b""
        data = getattr(self.state, "unconsumed_tail", b"") or self.ahead or self.stream.read1(CHUNK)
        self.ahead = b""
        if not data:
            raise EOFError
        return data

    def goes_on(self) -> bool:
        """Whether another stream of this kind comes next."""
        if not self.over:
            self.ahead = self.state.unused_data
            while len(self.ahead) < len(self.begin) and (more := self.stream.read1(CHUNK)):
                self.ahead += more
            self.over = not self.ahead.startswith(self.begin)
            self.state = self.state if self.over else PACKED[self.begin]()
        return not self.over

    def rest(self) -> Whole:
        """What comes after the end."""
        return io.BufferedReader(Joined(self.ahead, cast("Readable", self.stream)))


class Bounded:
    """A sink that takes MOST bytes; `head` and `digest` are those of what came since it began anew."""

    def __init__(self, sink: IO[bytes], *, keeps: bool = True) -> None:
        self.sink = sink
        self.keeps = keeps
        self.left = MOST
        self.begin()

    def begin(self) -> None:
        """Another file comes now."""
        self.head = b""
        self.digest = sha256()

    def write(self, data: bytes) -> None:
        """Like any sink's."""
        self.left -= len(data)
        if self.left < 0:
            raise TooMuch
        self.digest.update(data)
        self.head = self.head or data[:HEAD]
        if self.keeps:
            self.sink.write(data)


def is_archive(head: bytes) -> bool:
    """Whether a file that begins like this is one."""
    return head[:4] in {LOCAL, b"PK\5\6"} or head[257:262] == b"ustar" or head.startswith((*PACKED, *CLOSED))


def with_text(name: str, stream: Whole) -> Iterator[tuple[str, Readable]]:
    """A file as it is; and after it its text, where that is written otherwise."""
    written = written_as(name, stream.peek(HEAD)[:HEAD])
    if not written:
        yield name, cast("Readable", stream)
        return
    with tempfile.TemporaryFile() as file:
        with suppress(*DAMAGE):
            copy(cast("Readable", stream), Bounded(file))
        file.seek(0)
        yield name, cast("Readable", file)
        file.seek(0)
        yield name, Text(file, written)


def is_zip(head: bytes) -> bool:
    """Whether what begins with PK goes on as the first file of a zip does: a version and a method that there are."""
    if head[:4] == b"PK\5\6":
        return True
    return len(head) >= ENTRY and head[4] <= LAST_VERSION and int.from_bytes(head[8:10], "little") <= LAST_METHOD


def beginning(stream: Readable) -> bytes:
    """The first HEAD bytes, or those before the damage."""
    head = b""
    with suppress(*DAMAGE):
        while len(head) < HEAD and (part := stream.read1(HEAD - len(head))):
            head += part
    return head


def members(stream: Readable, name: str, depth: int = 0, *, outer: bool = True) -> Iterator[tuple[str, Readable]]:
    """(name, content) of everything in a file that is no archive itself; the stream is read once.

    What is damaged comes as it is. Unread is raised in the end where that ends the file, and not one that is in it;
    what only begins like an archive is none.
    """
    head = beginning(stream)
    joined = Joined(head, stream)
    whole = io.BufferedReader(joined)
    if not is_archive(head):
        yield from with_text(name, whole)
        return
    if depth > DEEPEST or head.startswith(CLOSED):
        yield name, cast("Readable", whole)
        raise Unread
    reader = of_tar if head[257:262] == b"ustar" else of_zip if head.startswith(b"PK") else of_packed
    came = reader is of_zip and is_zip(head)
    damaged = False
    try:
        for inside, content in reader(whole, joined, name):
            came = True
            yield from members(content, inside, depth + 1, outer=outer and reader is of_packed)
    except DAMAGE:
        damaged = True
    if damaged or reader is of_tar:
        yield name, joined.again()
    if damaged and came and outer and not head.startswith(WEAK):
        raise Unread


def of_tar(stream: Whole, joined: Joined, _name: str) -> Iterator[tuple[str, Readable]]:
    """The files of a tar."""
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content:
                yield member.name, cast("Readable", content)
        # tarfile takes a damaged header for the end, which is a block of zeros.
        if any(joined.at(archive.offset, BLOCK)):
            raise EOFError


def of_zip(stream: Whole, _joined: Joined, _name: str) -> Iterator[tuple[str, Readable]]:
    """The files of a zip, whose list stands at its end."""
    with tempfile.TemporaryFile() as seekable:
        with suppress(*DAMAGE):
            copy(stream, Bounded(seekable))
        yield from listed(seekable)


def listed(file: IO[bytes]) -> Iterator[tuple[str, Readable]]:
    """The files of a zip that can be read from any place; those that it does not open come as they lie there."""
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            try:
                content = archive.open(info)
            except DAMAGE:
                yield info.filename, at_place(file, info.header_offset, info.compress_size)[1]
                continue
            with suppress(*DAMAGE), content:
                # With a sum that does not fit, the last part of a file would not be given.
                content._expected_crc = None  # type: ignore[attr-defined]
                yield info.filename, cast("Readable", content)
        known = sorted((info.header_offset, info.compress_size) for info in archive.infolist())
        yield from unlisted(file, known, archive.start_dir)


def unlisted(file: IO[bytes], known: list[tuple[int, int]], end: int) -> Iterator[tuple[str, Readable]]:
    """The files that lie in a zip before `end`, and not in its list; `known` are place and size of those that do."""
    at = 0
    for begin, size in [*known, (end, 0)]:
        for place in places(file, at, begin, LOCAL):
            file.seek(place)
            if is_zip(file.read(ENTRY)):
                yield at_place(file, place, begin - place)
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


def at_place(file: IO[bytes], place: int, size: int) -> tuple[str, Readable]:
    """The name of a zip's file, and its bytes, before them what they unpack to: its marks may say that nobody could."""
    file.seek(place)
    head = file.read(ENTRY)
    name = file.read(int.from_bytes(head[26:28], "little"))
    file.seek(int.from_bytes(head[28:30], "little"), 1)
    packed = file.read(min(size, MOST_RAW))
    plain = b""
    with suppress(zlib.error):
        plain = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, MOST_RAW)
    return name.decode("utf-8", "replace"), cast("Readable", io.BytesIO(plain + packed))


def of_packed(stream: Whole, _joined: Joined, name: str) -> Iterator[tuple[str, Readable]]:
    """The one file of gzip, bzip2, xz, lzma or zlib, and what lies behind it."""
    inside = re.sub(r"\.[^./]*$", "", name)
    packed = Unpacked(stream)
    content = Joined(b"", packed)
    buffered = io.BufferedReader(content)
    buffered.peek(1)
    yield inside, buffered
    content.finish()
    rest = packed.rest()
    if rest.peek(1):
        yield inside, cast("Readable", rest)


def copy(source: Readable, sink: Bounded) -> None:
    """Write all of a stream, up to where it is damaged."""
    while chunk := source.read1(CHUNK):
        sink.write(chunk)
