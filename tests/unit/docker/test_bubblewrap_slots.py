"""Directories of running sandboxes: what a killed process left is deleted, what is in use is not."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from datasmith.docker.bubblewrap_slots import Slots
from datasmith.errors import ContainerError


def hold(root: Path) -> None:
    """Take a slot and wait to be killed."""
    slot = Slots(root).take()
    (slot.path / "file").touch()
    time.sleep(60)


def test_a_slot_is_gone_after_its_release(tmp_path: Path) -> None:
    """Directory and lock are deleted; releasing twice does nothing."""
    slot = Slots(tmp_path / "slots").take()
    assert slot.path.is_dir()
    slot.release()
    slot.release()
    assert list((tmp_path / "slots").iterdir()) == []


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    """After kill -9 the slot is forgotten and deleted, while the slots of living processes stay."""
    mine = Slots(tmp_path).take()
    child = multiprocessing.get_context("spawn").Process(target=hold, args=(tmp_path,))
    child.start()
    deadline = time.monotonic() + 30
    while not list(tmp_path.glob("*/file")) and time.monotonic() < deadline:
        time.sleep(0.01)
    forgotten: list[str] = []
    Slots(tmp_path).sweep(forgotten.append)
    assert forgotten == []
    left = next(tmp_path.glob("*/file")).parent
    assert child.pid
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    Slots(tmp_path).sweep(forgotten.append)
    assert forgotten == [left.name] and not left.exists()
    assert {path.stem for path in tmp_path.iterdir()} == {mine.name}
    mine.release()


def test_what_cannot_be_deleted_now_is_found_by_the_next_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs that delete it may be killed, as by Ctrl-C: its lock stays."""
    slot = Slots(tmp_path).take()
    (slot.path / "file").touch()
    with monkeypatch.context() as killed:
        killed.setattr("datasmith.docker.bubblewrap_slots.remove_tree", lambda _path: None)
        slot.release()
    assert slot.path.is_dir()
    Slots(tmp_path).sweep(lambda _name: None)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """The error names the directory."""
    (tmp_path / "file").touch()
    with pytest.raises(ContainerError, match="file/slots"):
        Slots(tmp_path / "file/slots").take()
