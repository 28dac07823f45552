"""Read a git diff strictly: whatever `git diff` does not write is refused, so nothing hides between the lines."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from datasmith.tasks.binary import is_known


class MalformedDiff(ValueError):
    """The text is not what `git diff` writes; the message says at which line."""


@dataclass(slots=True)
class FileChange:
    """What a diff does to one file. `paths` are its names before and after; `lines` its hunk lines with their marks.

    `blob` is git's id of the new content as the diff gives it, which may be shortened; empty where it gives none.
    `known` is False where the new content is binary, and of no kind that is known to run nowhere.
    """

    paths: tuple[str, ...]
    modes: list[str] = field(default_factory=list)
    new: bool = False
    deleted: bool = False
    binary_bytes: int | None = None
    known: bool = True
    blob: str = ""
    lines: list[str] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The name after the change."""
        return self.paths[-1]

    @property
    def added(self) -> int:
        """Number of added lines."""
        return sum(line.startswith("+") for line in self.lines)

    @property
    def removed(self) -> int:
        """Number of removed lines."""
        return sum(line.startswith("-") for line in self.lines)


_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_INDEX = re.compile(r"index [0-9a-f]{4,64}\.\.([0-9a-f]{4,64})(?: ([0-7]{6}))?")
_MODE = re.compile(r"(old mode|new mode|new file mode|deleted file mode) ([0-7]{6})")
_MOVE = re.compile(r"(rename|copy) (from|to) (.+)")
_LIKENESS = re.compile(r"(dis)?similarity index \d{1,3}%")
_BINARY = re.compile(r"(literal|delta) (\d{1,12})")
_BASE85 = re.compile(r"[A-Za-z][0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]+")
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


class _Lines:
    """The lines of a diff, with the place of the next one."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        if self._lines[-1] == "":
            self._lines.pop()
        self.at = 0

    def peek(self) -> str | None:
        return self._lines[self.at] if self.at < len(self._lines) else None

    def take(self) -> str:
        line = self.peek()
        if line is None:
            raise MalformedDiff("it ends in the middle of a file")
        self.at += 1
        return line

    def wrong(self, what: str) -> MalformedDiff:
        return MalformedDiff(f"line {self.at}: {what}")


def parse_diff(text: str) -> tuple[FileChange, ...]:
    """The files that a git diff changes; an empty text changes none.

    Raises:
        MalformedDiff: the text holds anything but what `git diff` writes.
    """
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise MalformedDiff("it holds characters that no file can hold") from error
    return tuple(_files(_Lines(text)))


def split_diff(text: str) -> list[tuple[FileChange, str]]:
    """Each file of a git diff, with its own part of the text.

    Raises:
        MalformedDiff: the text holds anything but what `git diff` writes.
    """
    pieces = [f"diff --git {piece}" for piece in ("\n" + text).split("\ndiff --git ")[1:]]
    ended = [piece if piece.endswith("\n") else f"{piece}\n" for piece in pieces]
    return list(zip(parse_diff(text), ended, strict=True))


def _files(lines: _Lines) -> Iterator[FileChange]:
    while (line := lines.peek()) is not None:
        if not line.startswith("diff --git "):
            lines.at += 1
            raise lines.wrong("no file starts here")
        lines.take()
        change = FileChange(_header_names(line.removeprefix("diff --git "), lines))
        _extended(change, lines)
        following = lines.peek()
        if following is not None and following.startswith("--- "):
            _text_body(change, lines)
        elif following == "GIT binary patch":
            lines.take()
            _binary_body(change, lines)
        yield change


def _header_names(rest: str, lines: _Lines) -> tuple[str, ...]:
    """Both names of `diff --git`; unquoted ones can be told apart only where they are equal or have no blanks."""
    if rest.startswith('"'):
        end = re.match(r'"(?:[^"\\]|\\.)*"', rest)
        if end is None:
            raise lines.wrong("a quoted name does not end")
        first, second = end[0], rest[end.end() + 1 :]
    else:
        middle = len(rest) // 2
        first, second = rest[:middle], rest[middle + 1 :]
        if first[2:] != second[2:]:
            first, _, second = rest.partition(" ")
    return _side(first, "a/", lines), _side(second, "b/", lines)


def _side(word: str, prefix: str, lines: _Lines) -> str:
    name = _unquoted(word, lines)
    if not name.startswith(prefix) or len(name) == len(prefix):
        raise lines.wrong(f"a name does not start with {prefix}")
    return name.removeprefix(prefix)


def _unquoted(word: str, lines: _Lines) -> str:
    if not word.startswith('"'):
        return word
    if len(word) < 2 or not word.endswith('"'):
        raise lines.wrong("a quoted name does not end")
    raw = bytearray()
    body = re.compile(r'\\([0-3][0-7]{2})|\\([abtnvfr"\\])|([^"\\])')
    at = 1
    while at < len(word) - 1:
        found = body.match(word, at, len(word) - 1)
        if found is None:
            raise lines.wrong("a name is quoted wrongly")
        octal, letter, plain = found.groups()
        raw += (
            bytes([int(octal, 8)])
            if octal
            else bytes([_ESCAPES[letter]])
            if letter
            else plain.encode("utf-8", "surrogateescape")
        )
        at = found.end()
    return raw.decode("utf-8", "surrogateescape")


def _extended(change: FileChange, lines: _Lines) -> None:
    moved: list[str] = []
    while (line := lines.peek()) is not None and not line.startswith(("diff --git ", "--- ", "GIT binary patch")):
        lines.take()
        mode, index, move = _MODE.fullmatch(line), _INDEX.fullmatch(line), _MOVE.fullmatch(line)
        if mode:
            change.modes.append(mode[2])
            change.new |= mode[1] == "new file mode"
            change.deleted |= mode[1] == "deleted file mode"
        elif index:
            change.blob = index[1]
            change.modes += [index[2]] if index[2] else []
        elif move:
            moved.append(_unquoted(move[3], lines))
        elif line.startswith("Binary files "):
            raise lines.wrong("a binary file without what is in it (example: git diff --binary)")
        elif not _LIKENESS.fullmatch(line):
            raise lines.wrong("unknown header line")
    if (tuple(moved) or change.paths) != change.paths or (not moved and len(set(change.paths)) != 1):
        raise lines.wrong("the names of a file differ")


def _text_body(change: FileChange, lines: _Lines) -> None:
    for mark, prefix, absent, name in (
        ("--- ", "a/", change.new, change.paths[0]),
        ("+++ ", "b/", change.deleted, change.paths[1]),
    ):
        line = lines.take()
        word = line.removeprefix(mark).removesuffix("\t")
        if not line.startswith(mark) or (word != "/dev/null" if absent else _side(word, prefix, lines) != name):
            raise lines.wrong(f"expected the file's name after {mark.strip()}")
    if not _is_hunk(lines.peek()):
        raise lines.wrong("a file without hunks")
    while _is_hunk(lines.peek()):
        _hunk(change, lines)


def _is_hunk(line: str | None) -> bool:
    return line is not None and _HUNK.match(line) is not None


def _hunk(change: FileChange, lines: _Lines) -> None:
    head = lines.take()
    found = _HUNK.match(head)
    assert found is not None
    change.lines.append(head)
    old, new = int(found[2] or 1), int(found[4] or 1)
    while old > 0 or new > 0:
        line = lines.take()
        mark = line[:1]
        if mark not in (" ", "+", "-", "\\"):
            raise lines.wrong("a hunk line without a mark")
        old -= mark in (" ", "-")
        new -= mark in (" ", "+")
        change.lines.append(line)
    if old or new:
        raise lines.wrong("a hunk's lines do not add up")
    following = lines.peek()
    if following is not None and following.startswith("\\ "):
        change.lines.append(lines.take())


def _binary_body(change: FileChange, lines: _Lines) -> None:
    """One or two blocks: the new content, and the old one for the way back; sizes are of the inflated data."""
    sizes: list[int] = []
    while len(sizes) < 2 and (found := _BINARY.fullmatch(lines.peek() or "")):
        lines.take()
        data = []
        while (line := lines.take()) != "":
            if not _BASE85.fullmatch(line):
                raise lines.wrong("binary data that is not base 85")
            data.append(line)
        # The first one is the new content.
        change.known = change.known if sizes else is_known(found[1], data)
        sizes.append(int(found[2]))
    if not sizes:
        raise lines.wrong("a binary patch without data")
    change.binary_bytes = max(sizes)


def touched_paths(changes: Sequence[FileChange]) -> tuple[str, ...]:
    """Every name the changes read or write, once, in order."""
    return tuple(dict.fromkeys(path for change in changes for path in change.paths))
