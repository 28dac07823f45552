"""Inside a sandbox: what a file holds that is written in letters: base64, base32, base85 or hexadecimal digits."""

from __future__ import annotations

import base64
import binascii
import io
import mmap
import re
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NamedTuple

from .seal_readers import CLOSED
from .seal_streams import CHUNK, PACKED, Unread
from .seal_texts import WIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Data = mmap.mmap | memoryview

LINE = 56
"""Letters that stand in a row; the tools that write so break their lines after 60 and more."""
FEWEST = 120
"""Letters of a whole text: less holds no two lines of a fix."""
MOST = 64 << 20
"""Letters of one that is read."""
BEGIN = 2 * LINE
"""Letters by which a text is known to be of a kind; and how many different ones tell."""
DIFFERENT = 5
JOINT = re.compile(rb"""(?:\\[nrt]|b(?=["'])|[\s"'\\,]){1,80}""")
"""What stands between the lines of a text: their ends, and how programs and JSON write it as strings."""
INSIDE = re.compile(rb"[\t -~]{20}|PK\x03\x04|\x1f\x8b\x08|BZh|\xfd7zXZ\0")
"""Text and archives: no chance brings so many letters that can be read, and hardly such marks."""
BEGINNING = re.compile(
    rb"(?:[\t-~]\0){16}|(?:\0[\t-~]){16}|" + b"|".join(map(re.escape, (*PACKED, *CLOSED, *WIDE))), re.DOTALL
)
"""... and what others begin with."""
CAPITALS, SMALL, DIGITS = (frozenset(range(ord(first), ord(last) + 1)) for first, last in ("AZ", "az", "09"))
SIGNS = frozenset(b"!#$%&()*;<=>?@^`{|}~")


class Kind(NamedTuple):
    """A way of writing bytes: which letters, how many make a group, what a text has to have, and what reads it."""

    letters: bytes
    group: int
    fits: Callable[[set[int]], bool]
    read: Callable[[bytes], bytes]

    def pattern(self, fewest: int) -> re.Pattern[bytes]:
        """So many letters in a row, or more."""
        return re.compile(b"[%b]{%d,}" % (self.letters, fewest))


def of_base64(text: bytes) -> bytes:
    """Of both alphabets, whether its end is filled or not."""
    text = text.translate(bytes.maketrans(b"-_", b"+/"))
    return binascii.a2b_base64(text[: len(text) - (len(text) % 4 == 1)] + b"=" * (-len(text) % 4))


def of_base32(text: bytes) -> bytes:
    """Whether its end is filled or not; there, one, three and six letters say no more than one less."""
    text = text[: len(text) - (len(text) % 8 in {1, 3, 6})]
    return base64.b32decode(text + b"=" * (-len(text) % 8))


def of_base85(text: bytes) -> bytes:
    """Python reads this slowly: only what begins like something."""
    return base64.b85decode(text) if is_something(base64.b85decode(text[:1000])) else b""


KINDS = (
    Kind(
        rb"A-Za-z0-9+/_-",
        4,
        lambda found: all(found & some for some in (CAPITALS, SMALL, DIGITS)) and len(found) > 4 * DIFFERENT,
        of_base64,
    ),
    Kind(
        rb"0-9A-Fa-f",
        2,
        lambda found: len(found) > DIFFERENT,
        lambda text: binascii.unhexlify(text[: len(text) // 2 * 2]),
    ),
    Kind(
        rb"A-Z2-7",
        8,
        lambda found: len(found & CAPITALS) > 2 * DIFFERENT and bool(found & DIGITS),
        of_base32,
    ),
    Kind(rb"0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-", 5, lambda found: len(found & SIGNS) > DIFFERENT, of_base85),
)
ANY = re.compile(rb"[0-9A-Za-z!#$%&()*+/;<=>?@^_`{|}~-]+")
ROW = b"x" * LINE
MARKED = bytes(ord("x") if ANY.match(bytes([byte])) else ord(" ") for byte in range(256))


def encoded(file: IO[bytes]) -> Iterator[bytes]:
    """What is written in letters in a file, each text by itself; only what holds something that can be looked at.

    Raises:
        Unread: one is too long.
    """
    if not file.seek(0, 2):
        return
    if isinstance(file, io.BytesIO):
        yield from texts(file.getbuffer())
    else:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            yield from texts(mapped)


def texts(data: Data) -> Iterator[bytes]:
    """See `encoded`."""
    read_to = dict.fromkeys(KINDS, 0)
    patterns = {kind: (kind.pattern(LINE), kind.pattern(1)) for kind in KINDS}
    for (begin, end), kind in ((row, kind) for row in rows(data) for kind in KINDS):
        line, some = patterns[kind]
        while found := line.search(data, max(begin, read_to[kind]), end):
            text, read_to[kind] = joined(data, found.start(), some)
            if len(text) >= FEWEST and kind.fits(set(text[:BEGIN])):
                yield from meanings(text, kind)


def rows(data: Data) -> Iterator[tuple[int, int]]:
    """Begin and end of all rows of LINE letters and more."""
    end = 0
    for begin in range(0, len(data), CHUNK):
        piece = bytes(data[begin : begin + CHUNK + LINE - 1]).translate(MARKED)
        found = piece.find(ROW, max(0, end - begin))
        while found >= 0:
            row = ANY.match(data, begin + found)
            end = row.end() if row else begin + found + LINE
            yield begin + found, end
            found = piece.find(ROW, end - begin)


def joined(data: Data, at: int, some: re.Pattern[bytes]) -> tuple[bytes, int]:
    """The text that begins at a place, without what stands between its lines, and where it ends."""
    text = bytearray()
    while line := some.match(data, at):
        at = line.end()
        if len(line[0]) >= LINE and len(set(line[0][:BEGIN])) < DIFFERENT:  # A ruled line.
            break
        text += line[0]
        joint = JOINT.match(data, at)
        if len(text) > MOST:
            raise Unread
        if len(line[0]) < LINE or not joint:
            break
        at = joint.end()
    return bytes(text), at


def meanings(text: bytes, kind: Kind) -> Iterator[bytes]:
    """What a text says; letters before it may belong to no group of its own."""
    for begin in range(kind.group):
        with suppress(ValueError):
            data = kind.read(text[begin:])
            if is_something(data):
                yield data


def is_something(data: bytes) -> bool:
    """Whether bytes are text or an archive, or hold one: by chance they are neither."""
    return bool(BEGINNING.match(data) or INSIDE.search(data))
