"""What of a diff's lines may run: no comment and no prose, wherever a text or a comment may have begun above them.

Nobody sees what stands above a hunk, so what looks like a comment may be code behind the end of a text. A line is left
out, or cut, only where all ways to read it come to that, or where a language could read none of it.
"""

import keyword
import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from unicodedata import normalize

_JOINED = re.compile(r"""(["'])\s*\+?\s*[rbuf]?\1""")
"""Between two texts that Python makes one of."""
_TURNS = re.compile(r"\"\"\"|'''|[{}]")
"""What ends a text of several lines, or stands around code within one."""
_TEXT_OR_COMMENT = re.compile(r"""(["'])(?:\\.|(?!\1)[^\\])*\1|#.*""")
_BESIDE = re.compile(r"(?<![\w.])([^\W\d]\w*)\s+(?=([^\W\d]\w*))")
_KEYWORDS = frozenset([*keyword.kwlist, *keyword.softkwlist, "type"])
_C_TOKEN = re.compile(r"//(?:\\\n|[^\n])*|/\*[\s\S]*?(?:\*/|\Z)|\"(?:\\[\s\S]|[^\"\\\n])*\"|'(?:\\[\s\S]|[^'\\\n])*'")
_C_UNCLEAR = re.compile(r"""R"|\)[^\s()\\"]{0,16}"|\?\?/|[0-9a-fA-F]'[0-9a-fA-F]""")
"""Texts without escapes, other spellings of a backslash, marks between digits: there nobody looks for comments."""
_C_GOES_ON = tuple(map(re.compile, (r"(?:\\\n|[^\n\"\\]|\\.)*\"", r"(?:\\\n|[^\n'\\]|\\.)*'", r"(?:\\\n|[^\n])*\n?")))
"""What may go on from the line above by a backslash: a text of either kind, or a comment."""
_LONE = re.compile(r'\s*//(?!.*(\*/|["`]))')
"""A comment that fills a line, also where a text or a comment goes on in it."""
_LETTER = re.compile(r"[^\W\d_]")
_BLANKS = re.compile(r"\s+")
_LONG = 500
"""Characters of a line of data: an expression may take the square of that to search it."""


class Manner(Enum):
    """How a file is read: by its language alone, by one that is like it, or as data that anything may read."""

    EXACT = auto()
    LIKE = auto()
    DATA = auto()


EXACT, LIKE, DATA = Manner
Side = list[tuple[bool, str]]
"""Of a hunk's lines before or after the change: whether each is of the change, and itself."""


def of_python(lines: Sequence[str], mark: str, manner: Manner) -> list[str]:
    """The lines with a mark, and what a backslash joins to them, as Python reads them; texts beside each other joined.

    Where nothing but Python reads the file, what it would refuse does not run. Elsewhere no line is left out but those
    that are comments as a whole; lines of data that nobody wrote by hand come in pieces that overlap.
    """
    texts: list[str] = []
    alone: list[str] = []
    for side in _sides(lines, mark):
        for pieces in _whole(side):
            if len(pieces) == 1:
                texts += _may_run(pieces[0], strict=manner == EXACT)
            else:
                bare = [piece.rstrip().removesuffix("\\") for piece in pieces]
                texts.append(" ".join(piece.lstrip() for piece in bare))
                alone += ["".join(bare), *pieces[1:]]
    read = [_JOINED.sub("", normalize("NFKC", text)) for text in texts + alone]
    return [part for text in read for part in _parts(text)] if manner == DATA else read


def of_c(lines: Sequence[str], mark: str, manner: Manner) -> list[str]:
    """The lines with a mark, those joined that a backslash joins; where C alone reads them, without its comments."""
    texts: list[str] = []
    for side in _sides(lines, mark):
        text = "\n".join(text for _, text in side)
        bare = _without_comments(text) if manner == EXACT and not _C_UNCLEAR.search(text) else text
        marks = [marked for marked, _ in side]
        whole = _whole(list(zip(marks, bare.split("\n"), strict=True)))
        texts += ["".join(piece.removesuffix("\\") for piece in pieces) for pieces in whole]
    read = [normalize("NFKC", text) for text in texts if not _LONE.match(text)]
    return [part for text in read for part in _parts(text)] if manner == DATA else read


def _parts(text: str) -> Sequence[str]:
    """A line that has letters, or of a long one such parts that what is short is whole in one of them."""
    if not _LETTER.search(text):
        return ()
    close = text if len(text) <= _LONG else _BLANKS.sub(" ", text)
    return [close[at : at + _LONG] for at in range(0, max(1, len(close) - _LONG // 2), _LONG // 2)]


def _sides(lines: Sequence[str], mark: str) -> Iterator[Side]:
    """Each hunk as it is with the lines of this mark; a carriage return ends a line, too."""
    side: Side = []
    for line in lines:
        if line.startswith("@@"):
            yield from [side] if side else []
            side = []
        elif line[:1] in (" ", mark):
            pieces = line[1:].removesuffix("\r").split("\r")
            side += [(line.startswith(mark), piece) for piece in pieces]
    yield from [side] if side else []


def _whole(side: Side) -> Iterator[list[str]]:
    """The pieces of each line that backslashes make of several, if one of them is of the change."""
    pieces: list[str] = []
    of_change = False
    for marked, text in side:
        pieces.append(text)
        of_change |= marked
        if not text.endswith("\\"):
            yield from [pieces] * of_change
            pieces, of_change = [], False
    yield from [pieces] * of_change


def _may_run(text: str, *, strict: bool) -> Iterator[str]:
    """What Python may run of a line: it begins as code, or is within a text as a whole if nothing in it turns that."""
    if _TURNS.search(text):
        yield text
    elif strict:
        code = _TEXT_OR_COMMENT.sub(lambda found: "''" if found[1] else "", text)
        ended = not ("'" in code.replace("''", "") or '"' in code)
        if ended and not _is_prose(code) and not code.lstrip().startswith(">>>"):
            cut = next((found.start() for found in _TEXT_OR_COMMENT.finditer(text) if not found[1]), len(text))
            yield text[:cut]
    elif not text.lstrip().startswith(("#", ">>>")):
        yield text


def _is_prose(code: str) -> bool:
    """Whether two words stand beside each other as in no program."""
    return any(_KEYWORDS.isdisjoint(found.groups()) for found in _BESIDE.finditer(code))


def _without_comments(text: str) -> str:
    """A hunk of C with blanks for what is a comment, whether it begins in code, in a comment or in a text."""
    begins = [0]
    end = text.find("*/")
    begins += [end + 2] if end >= 0 else []
    begins += [found.end() for found in (goes_on.match(text) for goes_on in _C_GOES_ON) if found]
    readings = [_blank(text[:begin]) + _C_TOKEN.sub(_code, text[begin:]) for begin in begins]
    return "".join(next((char for char in chars if char != " "), " ") for chars in zip(*readings, strict=True))


def _code(token: re.Match[str]) -> str:
    return _blank(token[0]) if token[0].startswith("/") else token[0]


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
