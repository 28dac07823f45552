"""Tars that others wrote: a header that leads the reader back, or without an end, is damage like any other."""

import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal, Self, cast

from datasmith.errors import ContainerError

DAMAGE = (
    tarfile.TarError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, EOFError,
    ValueError, IndexError, OverflowError, RecursionError,
)  # fmt: skip
"""What a tar that is broken, or none at all, makes tarfile raise."""
MEMBER_BYTES = 4096
"""What a member weighs beside its content: a million empty files fill a disk, too."""
LONGEST_HEADER = 2**20
"""Bytes of a header that says more of the next member; tarfile reads one into memory, whatever it says of its size."""
LARGEST = 2**60
"""A member of more is no member: its end cannot be sought."""
_MORE_TO_COME = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, *tarfile.GNU_TYPES[:2])


class _Member(tarfile.TarInfo):
    """A member whose size is none that a file can have is refused, and so is one that ends before it begins.

    tarfile of Python < 3.13.6 takes negative sizes, and reads such an archive in a circle (CVE-2025-8194).
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """See TarInfo."""
        member = super().frombuf(buf, encoding, errors)
        if not 0 <= member.size < (LONGEST_HEADER if member.type in _MORE_TO_COME else LARGEST):
            raise tarfile.ReadError(f"a header of {member.size} bytes to come")
        return member

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        """See TarInfo."""
        begin = archive.offset
        member = super().fromtarfile(archive)
        # Here, too: a pax header may give another size than the member's own.
        if not 0 <= member.size < LARGEST or archive.offset <= begin:
            raise tarfile.ReadError(f"a member of {member.size} bytes")
        return member


class _Tar(tarfile.TarFile):
    """bz2 says of damage what a disk says of its own, but without a number."""

    def next(self) -> tarfile.TarInfo | None:
        """See TarFile."""
        try:
            return super().next()
        except OSError as error:
            if error.errno is not None:
                raise
            raise tarfile.ReadError(str(error)) from error


def open_tar(archive: Path | io.IOBase | IO[bytes], *, mode: Literal["r", "r|"] = "r") -> tarfile.TarFile:
    """Open a tar, plain or compressed, to read it; what is wrong with it is one of DAMAGE, here or at any member."""
    if isinstance(archive, Path):
        return _Tar.open(archive, mode, tarinfo=_Member)
    return _Tar.open(None, mode, fileobj=cast("IO[bytes]", archive), tarinfo=_Member)


def what_is_wrong(error: Exception) -> str:
    """What one of DAMAGE says, as a line for people; of what is no tar, tarfile lists what each of its readers said."""
    text = str(error) or type(error).__name__
    return "it is no tar archive" if text.startswith("file could not be opened successfully") else text


def members(tar: tarfile.TarFile, most: int) -> Iterator[tarfile.TarInfo]:
    """The members in their order, none before it is known that all up to it fit into `most` bytes.

    Raises:
        ContainerError: they do not.
    """
    held = 0
    for member in tar:
        held += MEMBER_BYTES + member.size
        # Headers weigh what they take of the tar, and a sparse file more than it takes.
        if max(held, tar.offset) > most:
            raise ContainerError(f"the archive holds more than {most} bytes")
        yield member
