"""Inside a sandbox: everything that a file holds, whatever it is packed in, one in the other.

What is written otherwise (UTF-16, or the marks of HTML between the words) comes twice: as it is, and as its text.
"""

from __future__ import annotations

import io
import re
import tarfile
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from .seal_streams import DAMAGE, HEAD, PACKED, WEAK, Joined, Unpacked, Unread, spooled
from .seal_texts import Text, written_as
from .seal_zips import LOCAL, is_zip, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .seal_streams import Readable, Whole

DEEPEST = 6
"""Archives in archives; a packed tar is two."""
BLOCK = 512
"""Bytes of a tar's header."""
CLOSED = (
    *(b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\x04\x22\x4d\x18", b"LZIP\1"),
    *(b"\x02\x21\x4c\x18", b"\x89LZO\0\r\n", b"LRZI\0", b"MSCF\0\0\0\0", b"hsqs"),
    *(b"\x1f\x9d\x90", b"\xff\x06\0\0sNaPpY", b"\xed\xab\xee\xdb", b"xar!\0", b"MSWIM\0\0\0"),
    *(b"Salted__", b"age-encryption.org/", b"-----BEGIN PGP MESSAGE-----"),
)
"""What zstd, 7z, rar, lz4, lzip, lz4 of old, lzop, lrzip, cab, squashfs, compress, snappy, rpm, xar and wim begin with,
which Python does not open; and what openssl, age and gpg have encrypted."""


def is_archive(head: bytes) -> bool:
    """Whether a file that begins like this is one."""
    return head[:4] in {LOCAL, b"PK\5\6"} or head[257:262] == b"ustar" or head.startswith((*PACKED, *CLOSED))


def with_text(name: str, stream: Whole, head: bytes) -> Iterator[tuple[str, Readable]]:
    """A file as it is; and after it its text, where that is written otherwise."""
    written = written_as(name, head)
    if not written:
        yield name, cast("Readable", stream)
        return
    with spooled(cast("Readable", stream)) as file:
        yield name, cast("Readable", file)
        file.seek(0)
        yield name, Text(file, written)


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
        yield from with_text(name, whole, head)
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
    with spooled(cast("Readable", stream)) as seekable:
        yield from listed(seekable)


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
