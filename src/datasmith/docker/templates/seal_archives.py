"""Inside a sandbox: which archives hold some of the given texts or files, whatever they are called.

What is written otherwise (UTF-16, or the marks of HTML between the words) counts as an archive of its text.

Arguments: a file of texts, one a line; a file with the paths that the tree's commit has, which are not looked into;
"names" where only machine code counts; a file with the paths that other distributions list as theirs (NUL between all
of them); and a file of whole files, each `SIZE<tab>SHA256<tab>N`. Standard input: paths, NUL between them. Prints
`file<tab>PATH` and `has<tab>TEXT`; `same<tab>N<tab>PATH` where file N is there, in an archive or by itself, and is no
other distribution's; and `unread<tab>PATH` where an archive holds more than is read of one, or cannot be read to its
end. What is damaged inside of one is gone past: data of tests is so on purpose.
"""

from __future__ import annotations

import bz2
import gzip
import html
import io
import lzma
import re
import shlex
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    Whole = io.BufferedReader["Joined"]

    class Readable(Protocol):
        """A stream that gives what it has, so that damage behind it costs nothing."""

        def read1(self, size: int, /) -> bytes:
            """Some bytes, or none at the end."""


MOST = 2_000_000_000
"""Bytes of what an archive holds, all in all, that are read."""
MOST_RAW = 64 << 20
"""Bytes of a file in a zip that does not open it, and of text that is written otherwise."""
DEEPEST = 6
"""Archives in archives; a packed tar is two."""
HEAD, BLOCK, ENTRY = 300, 512, 30
"""Bytes: what tells a kind; a tar's header; a zip's header, before the name."""
LAST_VERSION, LAST_METHOD = 63, 99
"""The highest numbers in a zip's header."""
CHUNK = 1 << 20
TREE = "/workspace/repo/"
CODE = re.compile(r"\.(so|pyd|o|obj|a|pyc|pyo|dylib|rlib)$|\.so\.[0-9.]+$")
DAMAGE = (
    *(OSError, EOFError, ValueError, RuntimeError, LookupError, ArithmeticError),
    *(struct.error, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile),
)
"""What an archive that is broken, encrypted, or none at all makes its reader raise."""
GZIP, BZIP2, XZ, ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"
ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
PACKED = (GZIP, BZIP2, XZ, *ZLIB)
WIDE = (b"\xff\xfe", b"\xfe\xff")
"""What text in UTF-16 begins with."""
MARKED = re.compile(r"\.x?html?$", re.IGNORECASE)
MARK = re.compile(r"<[^<>]*>")


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


class Inflated:
    """What a zlib stream holds."""

    def __init__(self, stream: Whole) -> None:
        self.stream = stream
        self.state = zlib.decompressobj()

    def read1(self, size: int, /) -> bytes:
        """Some bytes, or none at the end."""
        data = b""
        while not data and not self.state.eof:
            packed = self.state.unconsumed_tail or self.stream.read1(CHUNK)
            if not packed:
                raise EOFError
            data = self.state.decompress(packed, size)
        return data


class Bounded:
    """A sink that takes MOST bytes, or `most`; `digest` is that of what came since it was set."""

    def __init__(self, sink: IO[bytes], *, keeps: bool = True, most: int | None = None) -> None:
        self.sink = sink
        self.keeps = keeps
        self.left = most or MOST
        self.digest = sha256()

    def write(self, data: bytes) -> None:
        """Like any sink's."""
        self.left -= len(data)
        if self.left < 0:
            raise TooMuch
        self.digest.update(data)
        if self.keeps:
            self.sink.write(data)


def is_archive(head: bytes) -> bool:
    """Whether a file that begins like this is one."""
    return head[:4] in {b"PK\3\4", b"PK\5\6"} or head[257:262] == b"ustar" or head.startswith((*PACKED, ZSTD))


def is_written_otherwise(name: str, head: bytes) -> bool:
    """Whether a file holds its text with something in between."""
    return head.startswith(WIDE) or bool(MARKED.search(name))


def with_text(name: str, stream: Whole) -> Readable:
    """A file as it is; and after it its text, where that is written otherwise."""
    head = stream.peek(2)
    if not is_written_otherwise(name, head):
        return cast("Readable", stream)
    raw = io.BytesIO()
    with suppress(*DAMAGE):
        copy(cast("Readable", stream), Bounded(raw, most=MOST_RAW))
    text = raw.getvalue().decode("utf-16" if head.startswith(WIDE) else "utf-8", "replace")
    plain = html.unescape(MARK.sub("", text)) if MARKED.search(name) else text
    return io.BytesIO(raw.getvalue() + b"\n" + plain.encode("utf-8", "replace"))


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
    if depth > DEEPEST or not is_archive(head):
        yield name, with_text(name, whole)
        return
    if head.startswith(ZSTD):
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
    # Two bytes are soon there by chance: what begins like zlib's may be any text.
    if damaged and came and outer and not head.startswith(ZLIB):
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
                yield info.filename, io.BytesIO(as_it_lies(file, info))
                continue
            with suppress(*DAMAGE), content:
                # With a sum that does not fit, the last part of a file would not be given.
                content._expected_crc = None  # type: ignore[attr-defined]
                yield info.filename, cast("Readable", content)


def as_it_lies(file: IO[bytes], info: zipfile.ZipInfo) -> bytes:
    """The bytes of a zip's file, before them what they unpack to: its marks may say that nobody could."""
    file.seek(info.header_offset)
    head = file.read(ENTRY)
    names = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
    file.seek(info.header_offset + ENTRY + names)
    packed = file.read(min(info.compress_size, MOST_RAW))
    plain = b""
    with suppress(zlib.error):
        plain = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, MOST_RAW)
    return plain + packed


def of_packed(stream: Whole, _joined: Joined, name: str) -> Iterator[tuple[str, Readable]]:
    """The one file of gzip, bzip2, xz or zlib."""
    head = stream.peek(HEAD)
    content = Joined(b"", unpacked(stream, head))
    buffered = io.BufferedReader(content)
    buffered.peek(1)
    yield re.sub(r"\.[^./]*$", "", name), buffered
    content.finish()


def unpacked(stream: Whole, head: bytes) -> Readable:
    """What a packed stream holds, by what it begins with."""
    if head.startswith(GZIP):
        return cast("Readable", gzip.GzipFile(fileobj=stream))
    if head.startswith(ZLIB):
        return Inflated(stream)
    return cast("Readable", bz2.BZ2File(stream) if head.startswith(BZIP2) else lzma.LZMAFile(stream))


def copy(source: Readable, sink: Bounded) -> None:
    """Write all of a stream, up to where it is damaged."""
    while chunk := source.read1(CHUNK):
        sink.write(chunk)


class Wanted:
    """What is looked for: texts, in a file one a line; whole files, by size and digest; `only_code` as in `main`."""

    def __init__(self, texts: str, files: str, *, only_code: bool) -> None:
        self.texts = texts
        self.only_code = only_code
        rows = [line.split("\t") for line in Path(files).read_text().splitlines()]
        self.numbers = {digest: number for _, digest, number in rows}
        self.sizes = {int(size) for size, *_ in rows}

    def feed(self, file: Whole, path: str, sink: Bounded, same: set[str]) -> None:
        """Write what an archive holds to the sink, and note the whole files that are in it."""
        for name, content in contents(file, path):
            if CODE.search(name) or not self.only_code:
                sink.digest = sha256()
                with suppress(*DAMAGE):
                    copy(content, sink)
                same.update(self.number(sink.digest.hexdigest()))
                sink.write(b"\n")

    def number(self, digest: str) -> set[str]:
        """Of the file with this digest, if it is one of the fix's."""
        return {self.numbers[digest]} if digest in self.numbers else set()

    def plain(self, path: str) -> set[str]:
        """Which file this one is, by itself."""
        file = Path(path)
        if file.stat().st_size not in self.sizes:
            return set()
        return self.number(sha256(file.read_bytes()).hexdigest())

    def held(self, path: str) -> tuple[set[bytes], set[str], bool]:
        """Texts and whole files that an archive holds, and whether all of it was read; what can be read counts."""
        whole, same = True, cast("set[str]", set())
        with Path(path).open("rb") as file, tempfile.TemporaryFile() as found:
            grep = subprocess.Popen(["grep", "-ohaF", "-f", self.texts], stdin=subprocess.PIPE, stdout=found)
            try:
                self.feed(cast("Whole", file), path, Bounded(grep.stdin or io.BytesIO()), same)
            except (TooMuch, Unread):
                whole = False
            finally:
                grep.communicate()
            if grep.returncode not in {0, 1}:
                raise SystemExit(f"grep ended with exit code {grep.returncode}")
            found.seek(0)
            return set(found.read().splitlines()), same, whole


def contents(file: Whole, path: str) -> Iterator[tuple[str, Readable]]:
    """(name, content) of everything in an archive; something else may stand in front of a zip, which programs are."""
    head = file.peek(HEAD)
    if is_archive(head) or is_written_otherwise(path, head):
        yield from members(cast("Readable", file), path)
        return
    with suppress(*DAMAGE):
        for inside, content in listed(cast("IO[bytes]", file)):
            yield from members(content, inside, 1, outer=False)


def looked_into(path: str, *, foreign: bool) -> bool:
    """Whether a file is an archive, or its text is written otherwise; another distribution's may be of any kind."""
    with Path(path).open("rb") as file:
        head = file.read(HEAD)
        if foreign and head.startswith(ZSTD):
            return False
        return is_archive(head) or is_written_otherwise(path, head) or zipfile.is_zipfile(file)


def split(data: bytes) -> list[str]:
    """Paths with NUL between them."""
    return [path.decode("utf-8", "surrogateescape") for path in data.split(b"\0") if path]


def main(texts: str, known: str, what: str, listed_by_others: str, files: str) -> None:
    """See the module."""
    wanted = Wanted(texts, files, only_code=what == "names")
    tracked, others = (set(split(Path(file).read_bytes())) for file in (known, listed_by_others))
    for path in split(sys.stdin.buffer.read()):
        foreign = path in others
        if path.startswith(TREE) and path[len(TREE) :] in tracked:
            continue
        try:
            same, opened = wanted.plain(path), looked_into(path, foreign=foreign)
        except OSError:
            continue
        lines, inside, whole = wanted.held(path) if opened else (cast("set[bytes]", set()), same, True)
        shown = shlex.quote(path).encode("utf-8", "backslashreplace").replace(b"\n", b"?")
        told = [b"same\t" + number.encode() + b"\t" + shown for number in sorted(same | inside) if not foreign]
        told += [] if whole else [b"unread\t" + shown]
        told += [b"file\t" + shown, *(b"has\t" + line for line in sorted(lines))] if lines else []
        sys.stdout.buffer.writelines(line + b"\n" for line in told)


if __name__ == "__main__":
    main(*sys.argv[1:])
