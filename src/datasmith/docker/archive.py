"""Unpack a tar that may be hostile: nothing lands outside the target, no link is followed, no device is made."""

import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

from datasmith.errors import ContainerError
from datasmith.tar_members import DAMAGE, members, open_tar, what_is_wrong

MOST_BYTES = 5_000_000_000
"""An archive that unpacks to more than this is a bomb."""


def unpack(
    archive: Path, target: Path, *, wanted: Callable[[str], bool] = lambda _path: True, links: bool = True
) -> None:
    """Unpack files, directories and, with `links`, symbolic links of a tar (plain or compressed) below `target`.

    A link is made as it is told, since it is only looked at inside a sandbox; it is never followed here. Modes keep
    their executable bit, nothing else of owners, times and modes is taken over. `wanted` chooses by path.

    Raises:
        ContainerError: a member leads out of `target`, the archive is damaged, or it holds more than MOST_BYTES.
    """
    try:
        with open_tar(archive) as tar:
            _unpack(tar, target, wanted, links)
    except DAMAGE as error:
        raise ContainerError(f"{archive}: damaged: {what_is_wrong(error)}") from error


def _unpack(tar: tarfile.TarFile, target: Path, wanted: Callable[[str], bool], links: bool) -> None:
    for member in members(tar, MOST_BYTES):
        path = member.name.removeprefix("./").rstrip("/")
        if path in {"", "."} or not wanted(path):
            continue
        place = _place(target, path)
        if member.isdir():
            place.mkdir(exist_ok=True)
        elif member.issym() and links:
            place.symlink_to(member.linkname)
        elif member.isfile():
            _write(tar, member, place)


def _place(target: Path, path: str) -> Path:
    """Where a member goes; its parents are made, and are real directories."""
    parts = path.split("/")
    if path.startswith("/") or any(part in {"", ".", ".."} for part in parts):
        raise ContainerError(f"the archive leads out of its directory: {path!r}")
    at = target
    for part in parts[:-1]:
        at = at / part
        if at.is_symlink():
            raise ContainerError(f"the archive leads out of its directory by the link {part!r}: {path!r}")
        at.mkdir(parents=True, exist_ok=True)
    return at / parts[-1]


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    content = tar.extractfile(member)
    if content is None:
        return
    mode = 0o755 if member.mode & 0o100 else 0o644
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with content, os.fdopen(os.open(place, flags, mode), "wb") as file:
        shutil.copyfileobj(content, file)
