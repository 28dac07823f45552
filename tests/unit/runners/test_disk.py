"""A full disk is an outage."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from datasmith.errors import ContainerError, DiskFull, StoreUnavailable
from datasmith.runners.disk import needing_room
from datasmith.storage.base import STAGES
from tests.mounts import small_disk


def test_a_disk_with_room_is_fine(tmp_path: Path) -> None:
    """Also where the place does not exist yet."""
    with needing_room(tmp_path / "a/b", Path("relative/place")):
        assert len(STAGES) == 6


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_up_is_an_outage(tmp_path: Path, number: int) -> None:
    """As it is told by the system, or by somebody who raises from it; the line names the file."""
    with pytest.raises(StoreUnavailable, match="some/file"), needing_room(tmp_path):
        raise OSError(number, os.strerror(number), "some/file")
    with pytest.raises(StoreUnavailable, match=str(tmp_path)), needing_room(tmp_path):
        try:
            raise OSError(number, os.strerror(number))
        except OSError as error:
            raise ContainerError("cannot write layers") from error


def test_another_error_stays_what_it_is(tmp_path: Path) -> None:
    """Only a full disk is translated."""
    with pytest.raises(PermissionError), needing_room(tmp_path):
        raise PermissionError(errno.EACCES, "no")
    with pytest.raises(ContainerError), needing_room(tmp_path):
        raise ContainerError("x")


def test_what_a_build_says_is_looked_at(tmp_path: Path) -> None:
    """Where our own disk is full, too, the stage stops; else it was the engine's, or a lie, and is one item's alone."""
    said = DiskFull("docker_build_pkg.sh", "No space left on device")
    with pytest.raises(DiskFull), needing_room(tmp_path):
        raise said
    with small_disk(tmp_path / "disk", megabytes=80) as disk:
        with pytest.raises(StoreUnavailable, match=f"{disk}: no space left"), needing_room(tmp_path, disk):
            (disk / "much").write_bytes(bytes(40_000_000))
            raise said
        assert disk.exists()


def test_nothing_is_begun_without_room(tmp_path: Path) -> None:
    """The body does not run; the line says how much is needed."""
    with small_disk(tmp_path / "disk", megabytes=8) as disk:
        with pytest.raises(StoreUnavailable, match="64 MB are needed"), needing_room(disk):
            shutil.rmtree(tmp_path)
        assert disk.exists()
