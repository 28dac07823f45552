"""Inside a sandbox: streams that are read once, and how much of them is taken."""

from __future__ import annotations

import bz2
import io
import lzma
import struct
import tarfile
import tempfile
import zipfile
import zlib
from contextlib import suppress
from hashlib import sha256
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    Whole = io.BufferedReader["Joined"]

    class Readable(Protocol):
        """A stream that gives what it has, so that damage behind it costs nothing."""

        def read1(self, size: int, /) -> bytes:
            """Some bytes, or none at the end."""

    class Writable(Protocol):
        """What takes bytes, and says how many."""

        def write(self, data: bytes, /) -> int:
            """All of them, where there is room."""

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
HEAD = 300
"""Bytes that tell a kind."""
CHUNK = 1 << 20
DAMAGE = (
    *(OSError, EOFError, ValueError, RuntimeError, LookupError, ArithmeticError),
    *(struct.error, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile),
)
"""What an archive that is broken, encrypted, or none at all makes its reader raise."""
ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
LZMA = b"\x5d\0\0"
WEAK = (*ZLIB, LZMA)
"""What zlib and .lzma begin with: so few bytes are soon there by chance."""
PACKED: dict[bytes, Callable[[], Unpacker]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(16 + zlib.MAX_WBITS),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\0": lzma.LZMADecompressor,
    **dict.fromkeys(ZLIB, zlib.decompressobj),
    LZMA: lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE),
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
        self.last = bytearray()
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
        self.last += data
        if len(self.last) > 2 * CHUNK:
            del self.last[:-CHUNK]
        self.count += len(data)
        buffer[: len(data)] = data
        return len(data)

    def at(self, place: int, size: int) -> bytes:
        """Bytes that were given not long ago."""
        begin = place - self.count + len(self.last)
        return bytes(self.last[begin : begin + size]) if begin >= 0 else b""

    def again(self) -> io.BufferedReader:
        """What was given last, and the rest: whoever read it has not made all of it his."""
        return io.BufferedReader(Joined(bytes(self.last[-CHUNK:]), io.BufferedReader(self)))

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
    """A sink that takes MOST bytes; `head` and `digest` are those of what came since it began anew.

    That it cannot be written to (there is no room left) is no damage of what is read: Unread.
    """

    def __init__(self, sink: Writable, *, keeps: bool = True) -> None:
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
            try:
                taken = self.sink.write(data)
            except OSError as error:
                raise Unread from error
            if taken != len(data):
                raise Unread


def spooled(stream: Readable) -> IO[bytes]:
    """All of a stream up to where it is damaged, to be read from any place."""
    file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (the caller's)
    with suppress(*DAMAGE):
        copy(stream, Bounded(file))
    file.seek(0)
    return io.BufferedReader(cast("io.RawIOBase", file))


def copy(source: Readable, sink: Bounded) -> None:
    """Write all of a stream, up to where it is damaged."""
    while chunk := source.read1(CHUNK):
        sink.write(chunk)
