"""The text of a file after a diff: applied at the very lines it names, or not at all."""

import re
from collections.abc import Iterator, Sequence

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_NO_NEWLINE = "\\"


def patched(text: str, lines: Sequence[str]) -> str | None:
    """`text` with the hunk lines (their marks in front) applied; None where a line is not what the diff says.

    git would look for a hunk's place nearby; who only wants to know what changes need not guess.
    """
    old = text.split("\n")
    made: list[str] = []
    at = 0
    for first, hunk in _hunks(lines):
        if first < at or first > len(old):
            return None
        made += old[at:first]
        at = first
        for mark, content in hunk:
            if mark == "+":
                made.append(content)
                continue
            if at >= len(old) or old[at] != content:
                return None
            at += 1
            if mark == " ":
                made.append(content)
    return "\n".join([*made, *old[at:]])


def _hunks(lines: Sequence[str]) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """(index of the first old line, (mark, content) of each line) of each hunk."""
    current: list[tuple[str, str]] = []
    first: int | None = None
    for line in lines:
        head = _HUNK.match(line)
        if head:
            if first is not None:
                yield first, current
            start, count = int(head[1]), int(head[2] or 1)
            first, current = (start if count == 0 else start - 1), []
        elif not line.startswith(_NO_NEWLINE):
            current.append((line[:1], line[1:]))
    if first is not None:
        yield first, current
