"""Tars whose headers lead the reader back, nowhere, or to more than there is."""

import bz2
import gzip
import io
import lzma
import random
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from datasmith.docker import source_tar
from datasmith.docker.archive import unpack
from datasmith.errors import ContainerError
from datasmith.tar_members import DAMAGE, members, open_tar
from datasmith.workloads.asv_results import in_archive

hostile = pytest.mark.figure("hostile archives")

END = b"\0" * 1024


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE, pax: dict[str, str] | None = None) -> bytes:
    """One header of a tar (with its pax header before it), whose size may be any number."""
    member = tarfile.TarInfo(name)
    member.type, member.size, member.pax_headers = kind, size, pax or {}
    return member.tobuf(tarfile.PAX_FORMAT if pax else tarfile.GNU_FORMAT)


def cut_off_map() -> bytes:
    """The header of a sparse file whose map goes on after it, where nothing is."""
    plain = bytearray(header("s", 0, tarfile.GNUTYPE_SPARSE))
    plain[482] = 1
    plain[148:156] = b" " * 8
    plain[148:156] = f"{sum(plain):06o}\0 ".encode()
    return bytes(plain)


CIRCLE = b"".join(header(f"f{at}", 0, b"Z") for at in range(10)) + header("back", -4096, b"Z") + END
BAD = {
    "circle": CIRCLE,
    "files in a circle": header("a", 0) + header("back", -1024) + END,
    "a pax header that leads back": header("a", 0) + header("b", 0, pax={"size": "-2048"}) + END,
    "a negative size for all": header("g", -512, tarfile.XGLTYPE) + header("a", 0) + END,
    "a negative long name": header("a", 0) + header("n", -512, tarfile.GNUTYPE_LONGNAME) + END,
    "a long name of a gigabyte": header("n", 2**30, tarfile.GNUTYPE_LONGNAME) + END,
    "more than a file can be": header("a", 2**80) + END,
    "names without an end": b"".join(
        header("n", 1, tarfile.GNUTYPE_LONGNAME) + b"a".ljust(512, b"\0") for _ in range(2000)
    ),
    "a map that is cut off": header("a", 0) + cut_off_map(),
}  # fmt: skip


@pytest.fixture(params=list(BAD))
def bad(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A tar with a header that cannot be."""
    place = tmp_path / "bad.tar"
    place.write_bytes(BAD[request.param])
    return place


@hostile
@pytest.mark.timeout(20)
def test_every_reader_calls_it_damage_at_once(bad: Path, tmp_path: Path) -> None:
    """Neither unpacking nor rewriting one goes round, nor raises anything but the error of a damaged archive."""
    (tmp_path / "out").mkdir()
    began = time.monotonic()
    with pytest.raises(ContainerError, match=r"bad\.tar: damaged"):
        unpack(bad, tmp_path / "out")
    with pytest.raises(ContainerError, match="cannot be unpacked"):
        source_tar.rewrite(bad, tmp_path / "out.tar")
    with pytest.raises(ContainerError, match="cannot be unpacked"):
        source_tar.rewrite(bad.read_bytes(), tmp_path / "out.tar")
    assert time.monotonic() - began < 10


@hostile
@pytest.mark.timeout(20)
def test_results_in_a_circle_are_none() -> None:
    """What asv left in a sandbox is read to the damage."""
    assert not in_archive(gzip.compress(CIRCLE))


@hostile
def test_a_name_that_no_file_can_have_is_damage(tmp_path: Path) -> None:
    """Not a ValueError of the file system."""
    (tmp_path / "out").mkdir()
    place = tmp_path / "a.tar"
    place.write_bytes(header("a", 0, pax={"path": "a\0b"}) + END)
    with pytest.raises(ContainerError, match="damaged"):
        unpack(place, tmp_path / "out")


@hostile
def test_a_sparse_file_weighs_what_it_unpacks_to(tmp_path: Path) -> None:
    """A header that promises more zeros than a disk holds is refused before one of them is written."""
    place = tmp_path / "a.tar"
    pax = {"GNU.sparse.major": "0", "GNU.sparse.map": "0,0", "GNU.sparse.size": str(10**12)}
    place.write_bytes(header("zeros", 0, pax=pax) + END)
    with pytest.raises(ContainerError, match="holds more than"):
        source_tar.rewrite(place, tmp_path / "out.tar")
    assert (tmp_path / "out.tar").stat().st_size < 20_000


@pytest.mark.parametrize("kind", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("packed", [bytes, gzip.compress, lzma.compress])
def test_what_tarfile_writes_is_read(kind: int, packed: Callable[[bytes], bytes]) -> None:
    """Long names and contents of ordinary archives come as they are, as a file and as a stream."""
    names = ["a", f"{'b' * 90}/{'c' * 60}"]
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=kind) as tar:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 3
            tar.addfile(member, io.BytesIO(b"abc"))
    with open_tar(io.BytesIO(packed(plain.getvalue()))) as tar:
        assert [member.name for member in members(tar, 100_000)] == names
    with open_tar(io.BytesIO(plain.getvalue()), mode="r|") as tar:
        assert [member.size for member in members(tar, 100_000)] == [3, 3]


@hostile
def test_bytes_that_bzip2_cannot_read_are_damage() -> None:
    """Not an error of the disk, which they look like."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for name in "ab":
            member = tarfile.TarInfo(name)
            member.size = 300_000
            tar.addfile(member, io.BytesIO(random.Random(name).randbytes(member.size)))
    data = bytearray(bz2.compress(plain.getvalue(), 1))
    data[200_000:200_100] = bytes(100)
    with open_tar(io.BytesIO(bytes(data))) as tar, pytest.raises(tarfile.ReadError):
        list(members(tar, 10**9))


@hostile
def test_no_tar_is_damage(tmp_path: Path) -> None:
    """What is no archive is told by the same errors as one that is damaged."""
    (tmp_path / "a").write_text("nothing")
    with pytest.raises(DAMAGE):
        open_tar(tmp_path / "a")
