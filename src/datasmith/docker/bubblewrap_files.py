"""Files of a sandbox, read and written from outside without ever following a link."""

import os
import stat
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from datasmith.errors import ContainerError


def read(shown: Mapping[str, Path], path: str, max_bytes: int) -> bytes:
    """The content of a regular file at `path` in the sandbox, below one of the directories it shows.

    Raises:
        FileNotFoundError: there is none, or a link leads to it.
        ContainerError: it is larger than `max_bytes`.
    """
    with _directory_of(shown, path, make=False) as (at, name):
        descriptor = _regular(at, name, os.O_RDONLY, path)
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ContainerError(f"{path} is larger than {max_bytes} bytes")
    return data


def write(shown: Mapping[str, Path], path: str, data: bytes, mode: int) -> None:
    """Create or replace a file at `path` in the sandbox, with its parents, below one of the writable directories.

    Raises:
        ContainerError: it is not in one of them, a link or something that is no file is in the way, the disk is full.
    """
    try:
        with _directory_of(shown, path, make=True) as (at, name):
            _replace(at, name, data, mode, path)
    except OSError as error:
        raise ContainerError(f"cannot write {path}: {error.strerror or error}") from error


def emptied(root: Path, places: Sequence[str]) -> dict[str, Path]:
    """An empty directory below `root` for each place."""
    found = {place: root / place.strip("/") for place in places}
    for path in found.values():
        path.mkdir(parents=True)
    return found


def pack(source: Path, path: str, target: Path) -> None:
    """Write a directory, which messages call `path`, to the tar `target`, or no file at all.

    Raises:
        ContainerError: it is none, or a link leads to it; it cannot be read, or the tar not be written.
    """
    if not source.is_dir() or source.resolve() != source:
        raise ContainerError(f"there is no directory {path}")
    try:
        with tarfile.open(target, "w") as archive:
            archive.add(source, arcname=".")
    except OSError as error:
        target.unlink(missing_ok=True)
        raise ContainerError(f"cannot export {path} to {target}: {error.strerror or error}") from error


def _replace(at: int, name: str, data: bytes, mode: int, path: str) -> None:
    """Write beside the place and rename, so that what is there is never opened, nor half written."""
    there = _mode_at(at, name)
    if there is not None and not stat.S_ISREG(there):
        raise ContainerError(f"cannot write {path}: a link or something that is no file is in the way")
    spare = f".fc-{os.urandom(8).hex()}"
    descriptor = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=at)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode & 0o777)
        os.rename(spare, name, src_dir_fd=at, dst_dir_fd=at)
    except OSError:
        os.unlink(spare, dir_fd=at)
        raise


def _mode_at(at: int, name: str) -> int | None:
    try:
        return os.stat(name, dir_fd=at, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


@contextmanager
def _directory_of(shown: Mapping[str, Path], path: str, *, make: bool) -> Iterator[tuple[int, str]]:
    """A descriptor of the directory that holds `path`, and the last part; opened one real directory at a time."""
    target = max((name for name in shown if path.startswith(f"{name}/")), key=len, default=None)
    parts = path[len(target) + 1 :].split("/") if target else []
    if target is None or any(part in {"", ".", ".."} or "\0" in part for part in parts):
        raise FileNotFoundError(None, f"{path} is not in a directory of this sandbox that can be used so")
    with ExitStack() as opened:
        at = os.open(shown[target], os.O_PATH | os.O_DIRECTORY)
        opened.callback(os.close, at)
        for part in parts[:-1]:
            at = _step(at, part, path, make=make)
            opened.callback(os.close, at)
        yield at, parts[-1]


def _step(at: int, part: str, path: str, *, make: bool) -> int:
    """The descriptor of a subdirectory that is no link."""
    try:
        if make:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=at)
        return os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
    except OSError as error:
        raise FileNotFoundError(error.errno, f"{part!r}: {error.strerror}", path) from error


def _regular(at: int, name: str, flags: int, path: str) -> int:
    try:
        descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    except OSError as error:
        raise FileNotFoundError(error.errno, error.strerror, path) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(None, "not a regular file", path)
    return descriptor
