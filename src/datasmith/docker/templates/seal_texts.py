"""Inside a sandbox: the text of a file in which it is not written as it would be in a program."""

from __future__ import annotations

import codecs
import html
import re
from typing import IO, NamedTuple

CHUNK = 1 << 20
MOST_LINE = 4 << 20
"""Characters of a line; a longer one is cut."""
FEWEST = 16
"""Characters by which UTF-16 is known that does not begin with its mark."""
WIDE = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
"""What text begins with whose characters are more than a byte."""
MARKED = re.compile(r"\.(x?html?|xml|svg)$", re.IGNORECASE)
MARK = re.compile(r"<[^<>]*>")
QUOTED = re.compile(r"\.(ipynb|jsonl?|ndjson|geojson|har|map)$", re.IGNORECASE)
QUOTE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
CONTROL = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Written(NamedTuple):
    """In which encoding, and whether with marks of HTML, or with what JSON writes for some characters."""

    encoding: str
    marked: bool
    quoted: bool


def written_as(name: str, head: bytes) -> Written | None:
    """How the text of a file is written, if that is not as it lies there."""
    marked, quoted = bool(MARKED.search(name)), bool(QUOTED.search(name))
    encoding = encoding_of(head)
    return Written(encoding or "utf-8", marked, quoted) if encoding or marked or quoted else None


def encoding_of(head: bytes) -> str:
    """That of a text with more than a byte for each character; a mark alone does not make one."""
    begin = head[: 2 * FEWEST]
    for low, encoding in ((begin[::2], "utf-16-le"), (begin[1::2], "utf-16-be")):
        if len(low) == FEWEST and begin.count(0) == FEWEST and low.isascii() and 0 not in low:
            return encoding
    encoding = next((encoding for mark, encoding in WIDE.items() if head.startswith(mark)), "")
    try:
        codecs.getincrementaldecoder(encoding or "latin-1")().decode(head)
    except ValueError:
        return ""
    return encoding


class Text:
    """The text of a file that is written otherwise, in UTF-8."""

    def __init__(self, file: IO[bytes], written: Written) -> None:
        self.file = file
        self.decoder = codecs.getincrementaldecoder(written.encoding)("replace")
        self.written = written
        self.left = ""

    def read1(self, _size: int, /) -> bytes:
        """Whole lines, or all where there is none; nothing at the end."""
        while data := self.file.read(CHUNK):
            text = self.left + self.decoder.decode(data)
            cut = text.rfind("\n") + 1 or (0 if len(text) < MOST_LINE else len(text))
            self.left = text[cut:]
            if found := self.plain(text[:cut]):
                return found
        last, self.left = self.left, ""
        return self.plain(last)

    def plain(self, text: str) -> bytes:
        """As a program would have it."""
        if self.written.marked:
            text = html.unescape(MARK.sub("", text))
        if self.written.quoted:
            text = QUOTE.sub(character, text)
        return text.encode("utf-8", "replace")


def character(quote: re.Match[str]) -> str:
    """What JSON writes behind a backslash."""
    said = quote[1]
    return chr(int(said[1:], 16)) if len(said) > 1 else CONTROL.get(said, said)
