"""Directories that a sandbox has filled, handled from outside: nothing in them is followed, run or trusted."""

import filecmp
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from datasmith import process
from datasmith.errors import ContainerError

_COPY_PATIENCE_S = 3600.0


@dataclass(frozen=True, slots=True)
class _Entry:
    relative: bytes
    path: Path
    stat: os.stat_result


def tree_digest(root: Path) -> str:
    """sha256 over paths, modes, link targets and file contents below `root`; times and owners do not count.

    What its owner may not read is made readable for him first.

    Raises:
        OSError: something cannot be read, a path that is too long for one.
    """
    whole = hashlib.sha256()
    for entry in _entries(root):
        mode = entry.stat.st_mode
        whole.update(b"%s\0%o\0" % (entry.relative, mode))
        whole.update(_identity(entry.path, mode))
    return whole.hexdigest()


def _entries(root: Path) -> Iterator[_Entry]:
    """Everything below a directory, each directory's entries in order of their names."""
    pending = [root]
    while pending:
        directory = pending.pop()
        _open_up(directory, stat.S_IRWXU)
        below = []
        for path in sorted(directory.iterdir(), key=lambda path: os.fsencode(path.name)):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) and not status.st_mode & stat.S_IRUSR:
                _open_up(path, stat.S_IRUSR)
                status = path.lstat()
            if stat.S_ISDIR(status.st_mode):
                below.append(path)
            yield _Entry(os.fsencode(path.relative_to(root)), path, status)
        pending += reversed(below)


def _open_up(path: Path, wanted: int) -> None:
    mode = path.lstat().st_mode
    if mode & wanted != wanted:
        path.chmod(stat.S_IMODE(mode) | wanted)


def _identity(path: Path, mode: int) -> bytes:
    if stat.S_ISLNK(mode):
        return os.fsencode(path.readlink())
    if stat.S_ISREG(mode):
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    return b""


def share(tree: Path, original: Path) -> None:
    """Let files of `tree` that are in `original` with the same content, mode and time be the same files.

    Only for directories that nobody writes any more.
    """
    original = original.resolve()
    for entry in _entries(tree):
        twin = original / os.fsdecode(entry.relative)
        if stat.S_ISREG(entry.stat.st_mode) and _is_twin(entry, twin):
            spare = entry.path.with_name(f".fc-{os.urandom(8).hex()}")
            spare.hardlink_to(twin)
            spare.rename(entry.path)


def _is_twin(entry: _Entry, twin: Path) -> bool:
    """Whether the file at `twin`, not reached through a link, is the same but for its place."""
    try:
        status = twin.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    mine = (entry.stat.st_mode, entry.stat.st_size, entry.stat.st_mtime_ns)
    theirs = (status.st_mode, status.st_size, status.st_mtime_ns)
    if mine != theirs or status.st_ino == entry.stat.st_ino:
        return False
    return twin.parent.resolve() == twin.parent and filecmp.cmp(entry.path, twin, shallow=False)


def copy_tree(source: Path, target: Path) -> None:
    """A private copy of a directory, by reference where the file system can; no file of it is shared for writing.

    Raises:
        ContainerError: the disk is full or cannot be written; names the place.
    """
    done = process.run(["cp", "-a", "--reflink=auto", "--", source, target], timeout=_COPY_PATIENCE_S)
    if not done.ok:
        reason = done.error_text.strip()[-300:] or ("it took too long" if done.timed_out else f"exit code {done.rc}")
        raise ContainerError(f"cannot copy {source} to {target}: {reason}")


def remove_tree(path: Path) -> None:
    """Delete a directory, however deep, with what a sandbox made unreadable in it; one that is gone is fine.

    By programs that walk with descriptors: a sandbox can make directories too deep for a path.
    """
    if not path.exists() or process.run(["rm", "-rf", "--", path]).ok:
        return
    process.run(["find", path, "-type", "d", "-exec", "chmod", "u+rwx", "{}", ";"])
    process.run(["rm", "-rf", "--", path])
