"""What the tests of the seal pack a fix into, and how they ask whether it is found."""

import io
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

from datasmith.docker.templates.seal_archives import Wanted, look

FIX = b"    return n * (n - 1) // 2  # the closed form of the sum\n"
NOISE = bytes(range(256)) * 40
Packer = Callable[[bytes], bytes]
FRONT = bytes(range(40)) * 3000
"""Bytes that no archive begins with."""


def tar(files: Mapping[str, bytes], mode: str = "w") -> bytes:
    """A tar of these files."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return target.getvalue()


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these files."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def told(path: Path, data: bytes) -> tuple[bool, bool]:
    """Whether the fix is found in a file, and whether all of the file was read."""
    (path / "texts").write_bytes(FIX)
    (path / "archive").write_bytes(data)
    (path / "files").write_text(f"{len(FIX)}\t{sha256(FIX).hexdigest()}\t7\n")
    found = look(Wanted(str(path / "texts"), str(path / "files")), str(path / "archive"), foreign=False)
    assert found.same <= {"7"} and (found.lines or not found.same)
    return found.lines == {FIX.strip(b"\n")}, found.whole
