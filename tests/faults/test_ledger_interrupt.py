"""Ctrl-C while items wait for programs: the programs end, the items wait for --resume."""

import os
import signal
import time
from pathlib import Path

from datasmith.storage.sql import SqlStore
from tests.faults.ledger_children import run_once, started, work_until_interrupted
from tests.unit.runners.numbers import WINDOW, entered

PROGRAMS = 4


def pids(place: Path) -> list[int]:
    """The programs that have begun."""
    return [int(file.read_text()) for file in place.glob("*.pid") if file.read_text()]


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_one_interrupt_ends_programs_and_gives_items_back(tmp_path: Path) -> None:
    """Within seconds no program is left, no item is refused for having been interrupted, and a later run does all."""
    path = tmp_path / "fc.sqlite"
    with SqlStore.at(path) as store:
        store.migrate()
        entered(store, 10)
        child = started(work_until_interrupted, path)
        try:
            deadline = time.monotonic() + 20
            while len(pids(tmp_path)) < PROGRAMS and time.monotonic() < deadline:
                time.sleep(0.01)
            began = pids(tmp_path)
            assert child.pid
            os.kill(child.pid, signal.SIGINT)
            child.join(15)
            assert child.exitcode == 1
        finally:
            child.kill()
        assert len(began) == PROGRAMS
        assert not [pid for pid in began if alive(pid)]
        assert store.count(WINDOW, 3)["pending"] == 10
        assert {row.reason for row in store.stage_items(WINDOW, 3)} == {"", "interrupted"}
        assert run_once(store).entered == 10
