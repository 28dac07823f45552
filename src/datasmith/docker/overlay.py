"""A directory that begins as another one and is written to, without a copy and without a write to the other: overlayfs.

Where the kernel lets a user mount one (Linux 5.11, on a file system with extended attributes) what a program changes
lies apart, as it does on docker. Nothing in it is followed, run or trusted.
"""

import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from datasmith import process
from datasmith.docker.trees import copy_tree, remove_tree

_LOWER, _UPPER, _WORK = "lower", "upper", "work"
_MOUNT = (
    'cd -- "$1" &&'
    f" mount -n -t overlay -o userxattr,index=off,lowerdir={_LOWER},upperdir={_UPPER},workdir={_WORK} overlay"
    ' "$2" && cd / && shift 2 && exec "$@"'
)
"""Names in the options are relative ones of ours: in those of users a comma or a colon would mean something."""
_OPAQUE = "user.overlay.opaque"
_PROBE = "rm -r d/e && mkdir d/e && echo >d/e/f && rm g && mv h i && test ! -e d/e/old"
"""What file systems fail at that can only do half of it: a directory in the place of one that is gone."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """While a program runs, the empty directory `place` shows another one, and keeps what is written in `apart`.

    `files` are the hashes of the regular files that it shows at first, by path.
    """

    place: Path
    apart: Path
    files: Mapping[bytes, bytes]

    @classmethod
    def over(cls, lower: Path, files: Mapping[bytes, bytes], place: Path, apart: Path) -> "Overlay":
        """`place` and `apart`, which are made here, lie on one file system with `lower`, whose `files` are known."""
        place.mkdir()
        for name in (_UPPER, _WORK):
            (apart / name).mkdir(parents=True)
        (apart / _UPPER).chmod(stat.S_IMODE(lower.stat().st_mode))
        (apart / _LOWER).symlink_to(lower.absolute())
        return cls(place, apart, files)

    def settle(self) -> Mapping[bytes, bytes]:
        """Make `place` what the last program left: what it did not change is linked from below. `apart` goes.

        Nothing may run in it any more. Returns those of `files` that are linked.

        Raises:
            ContainerError: what is below cannot be linked; see `copy_tree`.
            OSError: something that was left has a path that is too long, or the disk is full.
        """
        self.place.rmdir()
        copy_tree((self.apart / _LOWER).resolve(), self.place, linked=True)
        replaced = _Written(self.apart / _UPPER, self.place).moved()
        remove_tree(self.apart)
        return {path: content for path, content in self.files.items() if not _lies_in(path, replaced)}


def mounting(overlay: Overlay) -> list[str]:
    """Words before those of a program that is to see it; nobody else does, and it is gone with the program."""
    words = ["unshare", "--user", "--map-root-user", "--mount", "--", "/bin/sh", "-c", _MOUNT, "sh"]
    return [*words, str(overlay.apart.absolute()), str(overlay.place.absolute())]


def is_possible(directory: Path, bwrap: Sequence[str]) -> bool:
    """Whether overlays can be made in a directory for sandboxes that begin with the words `bwrap`.

    It is made here for the question, and gone afterwards.
    """
    lower = directory / "below"
    (lower / "d/e").mkdir(parents=True)
    for name in ("d/e/old", "g", "h"):
        (lower / name).touch()
    overlay = Overlay.over(lower, {}, directory / "shown", directory / "apart")
    shown = ["--bind", str(overlay.place), "/tmp", "--chdir", "/tmp"]
    words = [*mounting(overlay), *bwrap, *shown, "/bin/sh", "-c", _PROBE]
    try:
        return shutil.which(words[0]) is not None and process.run(words, timeout=20).ok
    finally:
        remove_tree(directory)


class _Written:
    """What lies in an upper directory, which is moved to where all of the lower one is."""

    def __init__(self, upper: Path, place: Path) -> None:
        self._upper, self._place = upper, place
        self._replaced = set[Path]()

    def moved(self) -> frozenset[bytes]:
        """Move all; the paths at and below which nothing is what it was."""
        modes, pending = dict[Path, int](), [Path()]
        while pending:
            directory = pending.pop()
            source, target = self._upper / directory, self._place / directory
            modes[target] = _opened_up(source)
            target.chmod(stat.S_IRWXU)
            pending += [directory / path.name for path in list(source.iterdir()) if self._is_of_both(path)]
        for target, mode in reversed(modes.items()):
            target.chmod(mode)
        return frozenset(map(os.fsencode, self._replaced))

    def _is_of_both(self, path: Path) -> bool:
        """Whether this is a directory below, too; else it is moved, or goes where it says that something is gone."""
        relative = path.relative_to(self._upper)
        target, status = self._place / relative, path.lstat()
        is_directory, was_directory = stat.S_ISDIR(status.st_mode), target.is_dir() and not target.is_symlink()
        if is_directory and was_directory and not _is_opaque(path):
            return True
        self._replaced.add(relative)
        if was_directory:
            remove_tree(target)
        target.unlink(missing_ok=True)
        if is_directory:
            _opened_up(path)  # A directory that its owner may not write cannot be moved.
            path.rename(target)
            if _is_opaque(target):
                os.removexattr(target, _OPAQUE)
            target.chmod(stat.S_IMODE(status.st_mode))
        elif not (stat.S_ISCHR(status.st_mode) and status.st_rdev == 0):
            path.rename(target)
        return False


def _opened_up(directory: Path) -> int:
    """Give its owner all modes; returns those that it had."""
    mode = directory.lstat().st_mode
    directory.chmod(stat.S_IRWXU)
    return stat.S_IMODE(mode)


def _is_opaque(directory: Path) -> bool:
    return _OPAQUE in os.listxattr(directory)


def _lies_in(path: bytes, places: frozenset[bytes]) -> bool:
    """Whether a path or a directory above it is one of these."""
    while path and path not in places:
        path = path.rpartition(b"/")[0]
    return bool(path)
