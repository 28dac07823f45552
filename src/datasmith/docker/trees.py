"""Directories that a sandbox has filled, handled from outside: nothing in them is followed, run or trusted."""

import errno
import hashlib
import itertools
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from datasmith import process
from datasmith.docker.cache_disk import unwritable
from datasmith.errors import FULL, ContainerError

_COPY_PATIENCE_S = 3600.0
_AT_ONCE = 1_000_000
"""Files of at most so many bytes are read whole."""
_NOTHING: Mapping[bytes, bytes] = MappingProxyType({})
_NO_STAMPS: Mapping[bytes, "Stamp"] = MappingProxyType({})


class _Entry(NamedTuple):
    relative: bytes
    path: bytes
    stat: os.stat_result


Stamp = tuple[int, int, int]
"""Inode, time of the last change (which no program can set) and size of a file: the same ones are the same content."""


@dataclass(frozen=True, slots=True)
class Tree:
    """What lies below a directory: one digest of all, and sha256 by path of its regular files.

    `untouched` are the paths of those that have the stamps that were given.
    """

    digest: str
    files: Mapping[bytes, bytes]
    untouched: frozenset[bytes] = frozenset()

    def like(self, other: Mapping[bytes, bytes]) -> frozenset[bytes]:
        """Paths of the files that have the same content in another tree."""
        return frozenset(path for path, identity in self.files.items() if other.get(path) == identity)


def tree_digest(root: Path) -> str:
    """The digest of `read_tree`."""
    return read_tree(root).digest


def read_tree(
    root: Path, *, known: Mapping[bytes, bytes] = _NOTHING, stamps: Mapping[bytes, Stamp] | None = _NO_STAMPS
) -> Tree:
    """sha256 over paths, modes, link targets and file contents below `root`; times and owners do not count.

    What its owner may not read is made readable for him first. A file with the stamp that it had when it was copied
    from a tree whose `known` contents are given is not read; with `stamps` None none of the `known` is.

    Raises:
        OSError: something cannot be read, a path that is too long for one.
    """
    whole = hashlib.sha256()
    contents: dict[bytes, bytes] = {}
    same: list[bytes] = []
    for entry in _entries(root):
        mode = entry.stat.st_mode
        whole.update(b"%s\0%o\0" % (entry.relative, mode))
        if stat.S_ISREG(mode):
            untouched = stamps is not None and stamps.get(entry.relative) == _stamp(entry.stat)
            same += [entry.relative] if untouched else []
            found = known.get(entry.relative) if untouched or stamps is None else None
            contents[entry.relative] = found or _hash_of(entry)
            whole.update(contents[entry.relative])
        elif stat.S_ISLNK(mode):
            whole.update(os.fsencode(Path(os.fsdecode(entry.path)).readlink()))
    return Tree(whole.hexdigest(), contents, frozenset(same))


def stamps_of(root: Path) -> Mapping[bytes, Stamp]:
    """The stamps of all regular files below `root`, by path."""
    return {entry.relative: _stamp(entry.stat) for entry in _entries(root) if stat.S_ISREG(entry.stat.st_mode)}


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_ctime_ns, status.st_size


def _hash_of(entry: _Entry) -> bytes:
    with os.fdopen(os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        # The buffer of file_digest is larger than most files.
        whole = hashlib.sha256(file.read()) if entry.stat.st_size <= _AT_ONCE else hashlib.file_digest(file, "sha256")
        return whole.digest()


def _entries(root: Path) -> Iterator[_Entry]:
    """Everything below a directory, each directory's entries in order of their names."""
    pending = [os.fsencode(root)]
    begins = len(pending[0]) + 1
    while pending:
        directory = pending.pop()
        _open_up(directory, os.lstat(directory), stat.S_IRWXU)
        below = []
        with os.scandir(directory) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and not status.st_mode & stat.S_IRUSR:
                _open_up(entry.path, status, stat.S_IRUSR)
                status = os.lstat(entry.path)
            if stat.S_ISDIR(status.st_mode):
                below.append(entry.path)
            yield _Entry(entry.path[begins:], entry.path, status)
        pending += reversed(below)


def _open_up(path: bytes, status: os.stat_result, wanted: int) -> None:
    if status.st_mode & wanted != wanted:
        Path(os.fsdecode(path)).chmod(stat.S_IMODE(status.st_mode) | wanted)


def share(
    tree: Path, original: Path, alike: Iterable[bytes], *, sure: Collection[bytes] = (), times: bool = True
) -> None:
    """Let files of `tree` whose paths are `alike` in `original` be the same files, where mode (and time) agree.

    Those that are `sure` to agree are not asked. Only for directories that nobody writes any more, and paths that have
    the same content in both.
    """
    top, spare = original.resolve(), f".fc-{os.urandom(8).hex()}".encode()
    for directory, paths in itertools.groupby(sorted(alike, key=_directory), _directory):
        place = top / os.fsdecode(directory)
        if place.resolve() != place or not place.is_dir():
            continue
        with _opened(tree / os.fsdecode(directory)) as mine, _opened(place) as theirs:
            pairs = ((path, path.rpartition(b"/")[2]) for path in paths)
            twins = (name for path, name in pairs if path in sure or _are_twins(name, mine, theirs, times=times))
            for name in twins:
                os.link(name, spare, src_dir_fd=theirs, dst_dir_fd=mine)
                os.rename(spare, name, src_dir_fd=mine, dst_dir_fd=mine)


def _directory(path: bytes) -> bytes:
    return path.rpartition(b"/")[0]


@contextmanager
def _opened(directory: Path) -> Iterator[int]:
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _are_twins(name: bytes, mine: int, theirs: int, *, times: bool) -> bool:
    """Whether these are two files with the same mode and size (and time)."""
    try:
        one, other = (os.stat(name, dir_fd=at, follow_symlinks=False) for at in (mine, theirs))
    except FileNotFoundError:
        return False
    same = (one.st_mode, one.st_size) == (other.st_mode, other.st_size) and one.st_ino != other.st_ino
    return same and stat.S_ISREG(one.st_mode) and (not times or one.st_mtime_ns == other.st_mtime_ns)


def copy_tree(source: Path, target: Path, *, linked: bool = False) -> None:
    """A private copy of a directory, by reference where the file system can; no file of it is shared for writing.

    `linked`: its files are those of the source, which is only for directories that nobody writes any more.

    Raises:
        ContainerError: it cannot be done; names the place. The cause is an OSError where the disk is full, or where it
            took too long.
    """
    # In the words of os.strerror, whatever language is set.
    plain = process.clean_environment({"LC_ALL": "C"})
    how = "--link" if linked else "--reflink=auto"
    done = process.run(["cp", "-a", how, "--", source, target], timeout=_COPY_PATIENCE_S, env=plain)
    if not done.ok:
        outage = _outage(done, target)
        if outage:
            raise unwritable(f"copy {source} to {target}", outage) from outage
        reason = done.error_text.strip()[-300:] or f"exit code {done.rc}"
        raise ContainerError(f"cannot copy {source} to {target}: {reason}")


def _outage(done: process.Completed, target: Path) -> OSError | None:
    """What the machine refused to a program; None where it is something else."""
    if done.timed_out:
        return TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT), str(target))
    ends = [line.rpartition(": ")[2] for line in done.error_text.splitlines()]
    full = (number for number in FULL if os.strerror(number) in ends)
    return next((OSError(number, os.strerror(number), str(target)) for number in full), None)


def remove_tree(path: Path) -> None:
    """Delete a directory, however deep, with what a sandbox made unreadable in it; one that is gone is fine.

    By programs that walk with descriptors: a sandbox can make directories too deep for a path.
    """
    env = process.clean_environment(process.CLEARS_UP)
    if not path.exists() or process.run(["rm", "-rf", "--", path], env=env).ok:
        return
    process.run(["find", path, "-type", "d", "-exec", "chmod", "u+rwx", "{}", ";"], env=env)
    process.run(["rm", "-rf", "--", path], env=env)
