"""An environment of which some pins moved: what stays is linked from an earlier one, as if made from nothing."""

import csv
import errno
import os
import posixpath
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from datasmith.docker.templates.fetch_sources import SOURCE, entries

_RECORD = re.compile(r"(lib/python[^/]+/site-packages)/([^/]+)-[^/-]+\.dist-info/RECORD")
_BYTE_CODE = re.compile(r"(.*/)__pycache__/([^/]+)\.[^./]+\.pyc")
_IN_THE_WAY = frozenset({errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EMLINK, errno.ENOENT})


class _Differs(Exception):
    """What a build from nothing would give cannot be told."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What of a lock is to be installed where the distributions `kept` and `gone` are there, by normalized name."""

    part: str
    kept: frozenset[str]
    gone: frozenset[str]


def moved(old: str, new: str) -> Moved | None:
    """What has changed between two locks; None where nothing can stay, or something is built from sources."""
    before, after = _pins(old), _pins(new)
    options = [line for line in new.splitlines() if line.startswith("-")]
    if before is None or after is None or options != [line for line in old.splitlines() if line.startswith("-")]:
        return None
    kept = frozenset(name for name, entry in after.items() if before.get(name) == entry)
    if not kept or any(line.startswith(SOURCE) for line in options):
        return None
    part = [f"{line}\n" for line in options] + [entry for name, entry in after.items() if name not in kept]
    return Moved("".join(part), kept, frozenset(before) - kept)


def _pins(lock: str) -> dict[str, str] | None:
    """The entries of a lock by name, without comments; None where a name is there twice, or is no pin."""
    pins = {}
    found = entries([line for line in lock.splitlines() if not line.lstrip().startswith("#")])
    for entry in found:
        name, pinned, _ = entry.partition("==")
        if not pinned:
            return None
        pins[_normalized(name.partition("[")[0])] = entry
    return pins if len(pins) == len(found) else None


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).strip().lower()


def take_over(made: Path, earlier: Path, files: Mapping[bytes, bytes], change: Moved) -> Mapping[bytes, bytes] | None:
    """Link what stays of the environment `earlier`, whose `files` are known by their hashes, into the new one.

    `made` holds what moved, installed into a new environment; nothing may run in it any more: then no file of two
    environments is ever written. Returns which files were linked. None where the tree could be another one than that of
    a build from nothing (two distributions have the same file, or a file is nobody's): `made` is of no use then.
    """
    try:
        return _TakingOver(made, earlier, files, change).done()
    except _Differs:
        return None
    except OSError as error:
        if error.errno not in _IN_THE_WAY:
            raise
        return None


class _TakingOver:
    """One call of `take_over`; all paths are relative to both environments, as texts that os.fsencode understands."""

    def __init__(self, made: Path, earlier: Path, files: Mapping[bytes, bytes], change: Moved) -> None:
        self._made, self._earlier, self._change = made, earlier, change
        self._files = {os.fsdecode(path): content for path, content in files.items()}
        self._stays: dict[str, bool] = {}
        self._tops: dict[str, set[bool]] = {}
        self._there: set[str] = set()

    def done(self) -> Mapping[bytes, bytes]:
        """See `take_over`."""
        for record in filter(None, map(_RECORD.fullmatch, self._files)):
            self._claim(record[1], record[2], _listed(self._earlier / record[0], record[1]))
        linked: dict[str, bytes] = {}
        for directory, names in self._directories():
            prefix = f"{directory}/" if directory else ""
            staying = [name for name in names if self._is_to_link(prefix + name)]
            if not names and self._is_to_link_empty(directory):
                self._make(directory)
            if staying:
                self._make(directory)
                self._link(directory, staying)
            linked |= {path: self._files[path] for path in (prefix + name for name in staying)}
        return {os.fsencode(path): content for path, content in linked.items()}

    def _claim(self, site: str, name: str, paths: Iterator[str]) -> None:
        normalized = _normalized(name)
        stays = normalized in self._change.kept
        if not stays and normalized not in self._change.gone:
            raise _Differs(name)
        for path in paths:
            if self._stays.setdefault(path, stays) is not stays:
                raise _Differs(path)
            if path.startswith(f"{site}/"):
                self._tops.setdefault(path[len(site) + 1 :].partition("/")[0], set()).add(stays)
        self._tops.setdefault(f"{name}.libs", set()).add(stays)

    def _directories(self) -> Iterator[tuple[str, list[str]]]:
        """Each directory of the earlier environment, parents first, with the names of all that is no directory.

        One that holds directories only is not named: it is made with what lies below.
        """
        pending = [""]
        while pending:
            directory = pending.pop()
            with os.scandir(self._earlier / directory) as found:
                entries = list(found)
            below = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            pending += [posixpath.join(directory, name) for name in below]
            names = [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
            if names or not below:
                yield directory, names

    def _is_to_link(self, path: str) -> bool:
        """Whether a file stays; one that is no distribution's has to be there anew."""
        source = _BYTE_CODE.fullmatch(path)
        stays = self._stays.get(f"{source[1]}{source[2]}.py") if source else None
        claimed = self._stays.get(path)
        if stays is None:
            stays = claimed
        elif claimed not in (None, stays):
            raise _Differs(path)
        if stays is None and not os.path.lexists(self._made / path):
            raise _Differs(path)
        if stays and path not in self._files:
            raise _Differs(path)
        return bool(stays)

    def _is_to_link_empty(self, directory: str) -> bool:
        """Whether an empty directory stays: it belongs to those who have files beside it, or to a wheel's libraries."""
        parts = directory.split("/")
        owners = self._tops.get(parts[3], set()) if parts[0] == "lib" and len(parts) > 3 else set()
        if len(owners) != 1:
            raise _Differs(directory)
        return True in owners

    def _make(self, directory: str) -> None:
        """A directory with all above it, with the modes that they had."""
        if directory in self._there:
            return
        if directory:
            self._make(posixpath.dirname(directory))
        target, mode = self._made / directory, stat.S_IMODE((self._earlier / directory).lstat().st_mode)
        if not target.is_dir():
            target.mkdir()
            target.chmod(mode)
        if target.is_symlink() or stat.S_IMODE(target.lstat().st_mode) != mode:
            raise _Differs(directory)
        self._there.add(directory)

    def _link(self, directory: str, names: Collection[str]) -> None:
        flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
        ours, theirs = (os.open(top / directory, flags) for top in (self._made, self._earlier))
        try:
            for name in names:
                os.link(name, name, src_dir_fd=theirs, dst_dir_fd=ours, follow_symlinks=False)
        finally:
            os.close(ours)
            os.close(theirs)


def _listed(record: Path, site: str) -> Iterator[str]:
    """The paths in a RECORD, which is a wheel's and may hold anything."""
    with record.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        try:
            for row in filter(None, csv.reader(file)):
                yield posixpath.normpath(posixpath.join(site, row[0]))
        except csv.Error as error:
            raise _Differs(record) from error
