"""What files a call leaves: so many with this ending, how large, and how those that hold text begin and end.

A benchmark that writes a file gives nothing back. Names are not told: many are drawn at random.
"""

from __future__ import annotations

import os
import stat
from itertools import islice

from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_SEEN = 10_000
MOST_TOLD = 100
SHOWN_BYTES = 2000
"""Of a text, at its beginning, and as much at its end."""
TEMPORARY = "/tmp"
_CUT = 3
"""Bytes of a character of UTF-8 that can be missing."""
_TIMED = (".log",)
"""What is written there holds the time, and is another text each time."""


class Files:
    """Those that are written from now on: in the working directory, and in what is new where temporary files are."""

    def __init__(self) -> None:
        self._names = set(os.listdir(TEMPORARY))
        self._before = _states([os.getcwd()])

    def told(self) -> list[object]:
        """A description of all files that are new, or not as they were."""
        if _has_children():
            return ["skip", "other processes may still write"]
        new = sorted(os.path.join(TEMPORARY, name) for name in set(os.listdir(TEMPORARY)) - self._names)
        found = _states([os.getcwd(), *new])
        sizes = [(_ending(path), state[0], path) for path, state in found.items() if self._before.get(path) != state]
        if not sizes:
            return ["skip", "no file is written"]
        parts: list[object] = []
        numbers: dict[str, int] = {}
        for ending, size, path in sorted(sizes)[:MOST_TOLD]:
            numbers[ending] = numbers.get(ending, 0) + 1
            parts.append([f"file {numbers[ending]} of {ending or 'no ending'}", _told(path, size, ending)])
        return ["object", "files", parts, False]


def _ending(path: str) -> str:
    return os.path.splitext(path)[1][:20]


def _has_children() -> bool:
    """Whether this process has started others that it has not waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _states(tops: list[str]) -> dict[str, tuple[int, int, int]]:
    """What tells a file's states apart, by its path."""
    return {path: (state.st_size, state.st_mtime_ns, state.st_ino) for path, state in islice(_files(tops), MOST_SEEN)}


def _files(tops: list[str]) -> Iterator[tuple[str, os.stat_result]]:
    """No links, which lead to what an earlier setup_cache left."""
    for top in tops:
        below = (os.path.join(place, name) for place, _, names in os.walk(top) for name in names)
        for path in [top] if os.path.isfile(top) else below:
            state = os.lstat(path)
            if stat.S_ISREG(state.st_mode):
                yield path, state


def _told(path: str, size: int, ending: str) -> list[object]:
    parts: list[object] = [["size", ["size", size]]]
    text = None if ending in _TIMED else _ends(path, size)
    if text is not None:
        parts += [[name, ["text", "", part]] for name, part in zip(("beginning", "end"), text)]  # noqa: B905
    return ["object", "file", parts, False]


def _ends(path: str, size: int) -> tuple[str, str] | None:
    """How a file that holds text begins and ends; None of any other."""
    with open(path, "rb") as stream:
        first = stream.read(SHOWN_BYTES)
        stream.seek(max(0, size - SHOWN_BYTES))
        last = stream.read(SHOWN_BYTES)
    texts = [part.decode("utf-8", "ignore") for part in (first, last)]
    cut = 2 * _CUT  # A character may begin before a part, or end after it.
    is_text = b"\0" not in first + last and len("".join(texts).encode()) >= len(first + last) - cut
    return (texts[0], texts[1]) if is_text else None
