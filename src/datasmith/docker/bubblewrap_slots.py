"""Directories of running sandboxes: each locked by its process, so that what a killed one left can be told apart."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from datasmith.docker.cache_disk import unwritable
from datasmith.docker.trees import remove_tree


class Slot:
    """One directory of our own, until it is released."""

    def __init__(self, path: Path, lock: IO[str]) -> None:
        self._path = path
        self._lock = lock

    @property
    def path(self) -> Path:
        """The directory."""
        return self._path

    @property
    def name(self) -> str:
        """A name that no other slot on this machine has."""
        return self._path.name

    def release(self) -> None:
        """Delete the directory and give the name back; a second call does nothing.

        Where it cannot be deleted now, its lock stays for the next sweep to find.
        """
        if self._lock.closed:
            return
        remove_tree(self._path)
        if not self._path.exists():
            Path(self._lock.name).unlink(missing_ok=True)
        self._lock.close()


class Slots:
    """All slots below one directory, of any process."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def take(self) -> Slot:
        """A new slot.

        Raises:
            ContainerError: the disk is full or cannot be written; names the place.
        """
        name = os.urandom(8).hex()
        try:
            # For us alone: a sandbox of root's can leave set-uid files in there.
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            while True:
                lock = _locked(self._root / f"{name}.lock")
                if lock:
                    break
            (self._root / name).mkdir()
        except OSError as error:
            raise unwritable(f"make a sandbox under {self._root}", error) from error
        return Slot(self._root / name, lock)

    def sweep(self, forget: Callable[[str], None]) -> None:
        """Release what processes that are gone have left behind; `forget` deletes what else bears the slot's name."""
        for path in self._root.glob("*.lock"):
            lock = _locked(path)
            if lock:
                forget(path.stem)
                Slot(path.with_suffix(""), lock).release()

    @contextmanager
    def taken(self) -> Iterator[Slot]:
        """A slot for as long as the block runs."""
        slot = self.take()
        try:
            yield slot
        finally:
            slot.release()


def _locked(path: Path) -> IO[str] | None:
    """The lock file, held by us; None where another holds it, or has just deleted it."""
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
            return file
    except BlockingIOError:
        file.close()
        return None
    file.close()
    return None
