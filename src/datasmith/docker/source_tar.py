"""The tar of a source tree for an engine that unpacks it itself: checked, and given to the sandbox's user."""

import copy
import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from datasmith.docker.archive import MOST_BYTES
from datasmith.docker.engine import SANDBOX_USER
from datasmith.errors import ContainerError
from datasmith.tar_members import DAMAGE, members, open_tar

REPO_TAR = "repo.tar"


def rewrite(archive: bytes | Path, target: Path) -> None:
    """Write the same tree as an uncompressed tar that belongs to the sandbox's user; the rules are archive.unpack's.

    Raises:
        ContainerError: it is no tar, holds more than MOST_BYTES, or a member leads out, by its name or through a link.
    """
    with _opened(archive) as tar, tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as out:
        out.addfile(root_member())
        links: set[PurePosixPath] = set()
        for member in members(tar, MOST_BYTES):
            path = PurePosixPath(member.name)
            if not _wanted(member) or not path.parts:
                continue
            if path.is_absolute() or ".." in path.parts or links.intersection(path.parents):
                raise ContainerError(f"the source archive leads out of its directory: {member.name!r}")
            if member.issym():
                links.add(path)
            out.addfile(_owned(member), tar.extractfile(member) if member.isreg() else None)


def _wanted(member: tarfile.TarInfo) -> bool:
    """Files, directories and symbolic links; a link may point anywhere in the sandbox, and is not followed here."""
    return member.isreg() or member.isdir() or member.issym()


def root_member() -> tarfile.TarInfo:
    """The tree's own directory, which belongs to the sandbox's user."""
    root = tarfile.TarInfo("./")
    root.type = tarfile.DIRTYPE
    root.mode = 0o755
    root.uid = root.gid = SANDBOX_USER
    return root


def _owned(member: tarfile.TarInfo) -> tarfile.TarInfo:
    owned = copy.copy(member)
    owned.uid = owned.gid = SANDBOX_USER
    owned.uname = owned.gname = ""
    owned.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    owned.pax_headers = {}
    return owned


@contextmanager
def _opened(archive: bytes | Path) -> Iterator[tarfile.TarFile]:
    try:
        with open_tar(io.BytesIO(archive) if isinstance(archive, bytes) else archive) as tar:
            yield tar
    except DAMAGE as error:
        raise ContainerError(f"the source archive cannot be unpacked: {error}") from error
