"""How much a call leaves in files: a benchmark that writes gives nothing back.

Neither names nor contents are told: many hold a path, a moment or a version, and are other ones each time.
"""

from __future__ import annotations

import os
import stat

from . import OWN
from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__builtins__ = OWN

MOST_SEEN = 10_000
TEMPORARY = "/tmp"
BLOCK = 512


class Files:
    """Those that are written from now on: in the working directory, and in what is new where temporary files are."""

    def __init__(self) -> None:
        self._here = _working_directory()
        self._names = set(_names(TEMPORARY))
        self._before = dict(_states(*self._here))

    def told(self) -> list[object]:
        """Bytes of all files that are new, or not as they were; whether there may be more, or less, in a moment."""
        new = [os.path.join(TEMPORARY, name) for name in _names(TEMPORARY) if name not in self._names]
        seen, written = 0, 0
        for path, state in _states(*self._here, *new):
            seen += 1
            written += 0 if self._before.get(path) == state else state[0]
        if not written:
            return ["skip", "no file is written"]
        return ["written", written, seen > MOST_SEEN or _has_children()]


def _working_directory() -> tuple[str, ...]:
    try:
        return (os.getcwd(),)
    except OSError:  # It is gone.
        return ()


def _names(place: str) -> list[str]:
    return os.listdir(place) if os.path.isdir(place) else []


def _has_children() -> bool:
    """Whether this process has started others that it has not waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _states(*tops: str) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """What tells a file's states apart, by its path: what it takes on the disk, which no hole does, comes first.

    No links, which lead to what an earlier setup_cache left.
    """
    seen = 0
    for path in _paths(tops):
        try:
            state = os.lstat(path)
        except OSError:  # It is gone again, or nobody may see it: then it is not left.
            continue
        if stat.S_ISREG(state.st_mode):
            yield path, (min(state.st_size, state.st_blocks * BLOCK), state.st_mtime_ns, state.st_ino)
            seen += 1
        if seen > MOST_SEEN:
            break


def _paths(tops: tuple[str, ...]) -> Iterator[str]:
    for top in tops:
        yield top
        walked = () if os.path.islink(top) else os.walk(top)
        yield from (os.path.join(place, name) for place, _, names in walked for name in names)
