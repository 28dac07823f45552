"""Hostile and damaged archives."""

import io
import tarfile
from pathlib import Path

import pytest

from datasmith.docker import archive
from datasmith.docker.archive import unpack
from datasmith.errors import ContainerError


def tar(place: Path, *members: tuple[str, bytes | str]) -> Path:
    """A gzipped tar; bytes are a file's content, text is a link's target."""
    with tarfile.open(place, "w:gz") as file:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                file.addfile(member)
            else:
                member.size = len(content)
                file.addfile(member, io.BytesIO(content))
    return place


@pytest.fixture(autouse=True)
def _targets(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out2").mkdir()


def test_files_and_links_are_unpacked(tmp_path: Path) -> None:
    """A link is made and not followed."""
    unpack(tar(tmp_path / "a.tar.gz", ("a/b.txt", b"x"), ("c", "/etc/passwd")), tmp_path / "out")
    assert (tmp_path / "out/a/b.txt").read_bytes() == b"x"
    assert (tmp_path / "out/c").is_symlink()


@pytest.mark.figure("hostile archives")
@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "a//x"])
def test_nothing_lands_outside(tmp_path: Path, name: str) -> None:
    """Neither by a path nor through a link that the archive brings."""
    with pytest.raises(ContainerError, match="leads out"):
        unpack(tar(tmp_path / "a.tar.gz", (name, b"x")), tmp_path / "out")
    with pytest.raises(ContainerError, match="leads out"):
        unpack(tar(tmp_path / "b.tar.gz", ("l", str(tmp_path)), ("l/x", b"x")), tmp_path / "out2")
    assert not (tmp_path / "x").exists()


@pytest.mark.figure("hostile archives")
def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    """Cut off, or no archive at all."""
    whole = tar(tmp_path / "a.tar.gz", *((f"f{at}", bytes(range(256)) * 40) for at in range(20)))
    whole.write_bytes(whole.read_bytes()[:-300])
    with pytest.raises(ContainerError, match=r"a\.tar\.gz: damaged"):
        unpack(whole, tmp_path / "out")
    (tmp_path / "b.tar.gz").write_text("nothing")
    with pytest.raises(ContainerError, match=r"b\.tar\.gz: damaged"):
        unpack(tmp_path / "b.tar.gz", tmp_path / "out")


@pytest.mark.figure("hostile archives")
def test_a_bomb_is_refused_before_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what the members say of their size, and by their number."""
    monkeypatch.setattr(archive, "MOST_BYTES", 50_000)
    with pytest.raises(ContainerError, match="more than 50000 bytes"):
        unpack(tar(tmp_path / "a.tar.gz", ("large", b"0" * 60_000)), tmp_path / "out")
    assert not (tmp_path / "out/large").exists()
    with pytest.raises(ContainerError, match="more than 50000 bytes"):
        unpack(tar(tmp_path / "b.tar.gz", *((f"f{at}", b"") for at in range(20))), tmp_path / "out")
