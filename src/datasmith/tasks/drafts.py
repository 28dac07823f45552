"""Directories that are written whole or not at all: a draft beside the place, and a rename."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """The path of a directory for the body to make, which then takes the place of `target` by a rename.

    Where the body raises, `target` stays as it was.
    """
    with _scratch(target) as scratch:
        yield scratch / "new"
        if target.exists():
            target.rename(scratch / "old")
        (scratch / "new").rename(target)


def take_away(folder: Path) -> None:
    """Delete a directory, if it is there; it disappears by one rename."""
    if folder.parent.is_dir():
        with _scratch(folder) as scratch:
            if folder.is_dir():
                folder.rename(scratch / "old")


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Hold a lock file that other threads and processes wait for; it ends with the process, the file stays."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _scratch(target: Path) -> Iterator[Path]:
    """A directory beside `target`; those that killed processes left of earlier drafts of it are deleted.

    Whoever still writes into one of them has lost its lease: it fails, and nobody asks for its answer.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    begin = f".{target.name}."
    for left in target.parent.iterdir():
        if left.name.startswith(begin) and "." not in left.name.removeprefix(begin):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=begin, dir=target.parent) as scratch:
        yield Path(scratch)
