"""Inside a sandbox: what a file holds that is an archive, or has one somewhere in it, behind other bytes."""

from __future__ import annotations

import heapq
import io
import zipfile
from contextlib import suppress
from hashlib import sha256
from typing import IO, TYPE_CHECKING, cast

from .seal_code import ENOUGH, is_code
from .seal_encoded import encoded
from .seal_readers import beginning, is_archive, members
from .seal_streams import CHUNK, DAMAGE, HEAD, PACKED, ZLIB, Joined, Unpacked, Unread, spooled
from .seal_texts import written_as
from .seal_zips import LITTLE, LOCAL, Part, at_place, is_zip, listed, places

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from .seal_streams import Readable

MARKS = (LOCAL, b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ\0", *ZLIB)
"""What a file of a zip, gzip, bzip2, xz and zlib begin with."""
LOOK, FEWEST = 512, 24
"""Bytes of a stream, and what they have to unpack to: what only begins like one soon has an end."""
MOST_PLACES = 500_000
"""Of one file that could be the beginning of an archive."""
DEEPEST = 2
"""Texts in letters in what such a text says."""


def beginnings(file: IO[bytes], marks: Sequence[bytes] = MARKS) -> Iterator[int]:
    """Where something packed could begin in a file.

    Raises:
        Unread: there are too many places to be looked at.
    """
    size = file.seek(0, 2)
    if size <= CHUNK:
        file.seek(0)
        data = file.read()
        marks = [mark for mark in marks if mark in data]
    for count, place in enumerate(heapq.merge(*(places(file, 0, size, mark) for mark in marks))):
        if count > MOST_PLACES:
            raise Unread
        file.seek(place)
        if goes_on(file.read(LOOK)):
            yield place


def goes_on(head: bytes) -> bool:
    """Whether what begins like something packed is that for some bytes more."""
    if head.startswith(LOCAL):
        return is_zip(head)
    begin = next(begin for begin in PACKED if head.startswith(begin))
    with suppress(*DAMAGE):
        state = PACKED[begin]()
        return len(state.decompress(head, LOOK)) >= FEWEST or state.eof or begin not in ZLIB
    return False


def contents(file: IO[bytes], path: str, depth: int = 0, own: Collection[str] = ()) -> Iterator[tuple[str, Readable]]:
    """(name, content) of everything in an archive, and of all that is packed or written in letters somewhere in a file.

    Of an archive only what its own reader does not come by: before it, behind its end, between its parts. What has
    one of these digests (`own`) and is packed somewhere in a file is not looked into.
    """
    head = file.read(HEAD)
    file.seek(0)
    marks: Sequence[bytes] = MARKS
    if depth or is_archive(head) or written_as(path, head):
        yield from members(cast("Readable", file), path, depth, outer=not depth)
        marks = [mark for mark in MARKS if mark != LOCAL or not head.startswith(LOCAL)]
    elif zipfile.is_zipfile(file):
        with suppress(*DAMAGE):
            for inside, content in listed(file):
                yield from members(content, inside, 1, outer=False)
            marks = [mark for mark in MARKS if mark != LOCAL]
    first = 1 if head.startswith(tuple(PACKED)) else 0
    yield from embedded(file, path, (place for place in beginnings(file, marks) if place >= first), own)
    if depth < DEEPEST and not is_code(head[:ENOUGH]):
        for data in encoded(file):
            yield from contents(io.BytesIO(data), path, depth + 1)


def embedded(file: IO[bytes], path: str, begin: Iterator[int], own: Collection[str]) -> Iterator[tuple[str, Readable]]:
    """What stands in a file behind other bytes, each by itself; but for what has one of these digests."""
    end = 0
    for place in begin:
        file.seek(place)
        if file.read(len(LOCAL)) == LOCAL:
            for name, content in at_place(file, place):
                yield from members(content, name, 1, outer=False)
        elif place >= end:
            part = Part(file, place)
            stream = Unpacked(io.BufferedReader(Joined(b"", part)))
            with suppress(*DAMAGE):
                yield from strangers(stream, path, own) if own else members(stream, path, 2, outer=False)
            # What was read before it was needed is looked through once more.
            end = part.place - len(stream.ahead) - LITTLE if stream.over else place


def strangers(stream: Readable, path: str, own: Collection[str]) -> Iterator[tuple[str, Readable]]:
    """What a packed stream holds, if it is none of these; only what begins like an archive can be one of them."""
    head = beginning(stream)
    whole = cast("Readable", io.BufferedReader(Joined(head, stream)))
    if not is_archive(head):
        yield from members(whole, path, 2, outer=False)
        return
    with spooled(whole) as file:
        digest = sha256()
        while chunk := file.read(CHUNK):
            digest.update(chunk)
        if digest.hexdigest() not in own:
            file.seek(0)
            yield from members(cast("Readable", file), path, 2, outer=False)
