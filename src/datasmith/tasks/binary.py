"""What the binary part of a git diff begins with, which tells machine code and archives from pictures and numbers."""

import zlib
from base64 import b85decode
from collections.abc import Sequence

_MOST = 64
"""Bytes that are looked at."""
_FEWEST = 8
"""Bytes of base that are enough to tell its kind."""
_SIZES = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_COPIES = 0x80
_OFFSET = 0x0F
_KNOWN = (
    *(
        b"\x89PNG\r\n\x1a\n",
        b"GIF8",
        b"\xff\xd8\xff",
        b"RIFF",
        b"II*\0",
        b"MM\0*",
        b"\0\0\1\0",
        b"%PDF",
        b"wOFF",
        b"wOF2",
    ),
    *(b"\x93NUMPY", b"\x89HDF\r\n\x1a\n", b"CDF\1", b"CDF\2", b"CDF\5", b"PAR1", b"ARROW1", b"\0\0\x27\x0a"),
)
"""Pictures, documents, fonts; arrays and tables. A loader of machine code, byte code or pickles takes none of them."""


def is_known(how: str, lines: Sequence[str]) -> bool:
    """Whether new content is of a kind that nobody runs; `lines` are git's base 85 of what is compressed.

    `how`: "literal", or "delta" on what stands at base. One that begins as base does is of no other kind.
    """
    try:
        data = zlib.decompressobj().decompress(b"".join(map(_bytes, lines)), _MOST)
        begins = data if how == "literal" else _rewritten(data)
    except (zlib.error, ValueError, IndexError):
        return False
    return begins is None or begins.startswith(_KNOWN)


def _bytes(line: str) -> bytes:
    return b85decode(line[1:])[: _SIZES.index(line[0]) + 1]


def _rewritten(delta: bytes) -> bytes | None:
    """What a delta puts at the beginning; None where base's own stays there."""
    at = 0
    for _ in range(2):
        while delta[at] & _COPIES:
            at += 1
        at += 1
    step = delta[at]
    if not step & _COPIES:
        return delta[at + 1 : at + 1 + step]
    places = [delta[at + 1 + place] for place in range((step & ~_COPIES).bit_count())]
    offset, size = places[: (step & _OFFSET).bit_count()], places[(step & _OFFSET).bit_count() :]
    if any(offset) or (any(size) and sum(size) < _FEWEST):
        raise ValueError("it begins with something else than what stands at base")
    return None
