"""kill -9 at any point loses nothing and does nothing twice."""

import random
import time
from pathlib import Path

import pytest

from datasmith.runners.loop import utc_now
from datasmith.storage.sql import SqlStore
from tests.faults.ledger_children import FORKS, outcome, run_once, started, work_until_killed
from tests.unit.runners.numbers import WINDOW, entered

ITEMS = 200
KILLS = 20


def fresh(path: Path) -> SqlStore:
    store = SqlStore.at(path)
    store.migrate()
    entered(store, ITEMS)
    return store


def ended(store: SqlStore) -> int:
    counts = store.count(WINDOW, 3)
    return ITEMS - counts["pending"] - counts["leased"]


def killed(path: Path, after_items: int, and_seconds: float) -> int:
    """Run over a fresh ledger in a process that is killed some time after so many items ended; returns how many had."""
    with fresh(path) as store:
        ready, child_end = FORKS.Pipe()
        child = started(work_until_killed, f"sqlite:///{path}", child_end)
        assert ready.recv() == "ready"
        while ended(store) < after_items and child.is_alive():
            time.sleep(0.001)
        time.sleep(and_seconds)
        child.kill()
        child.join()
        return ended(store)


@pytest.mark.timeout(120)
def test_a_killed_run_is_resumed_to_the_same_end(tmp_path: Path) -> None:
    """20 kills at random points: after --resume, states, rows and failures equal those of a run nobody killed."""
    with fresh(tmp_path / "whole.sqlite") as store:
        run_once(store)
        expected = outcome(store)
    rng = random.Random(20260203)
    points, lost, doubled = [], 0, 0
    for kill in range(KILLS):
        path = tmp_path / f"{kill}.sqlite"
        points.append(killed(path, rng.randrange(ITEMS - 10), rng.uniform(0, 0.005)))
        with SqlStore.at(path) as store:
            store.reopen(WINDOW, 3, ["leased"], utc_now())
            run_once(store)
            found = outcome(store)
        for name, rows in expected.items():
            lost += len(set(rows) - set(found[name]))
            doubled += len(found[name]) - len(set(found[name]))
        assert found == expected
    print(f"kill -9: {KILLS} kills with {sorted(points)} of {ITEMS} items ended: {lost} lost, {doubled} doubled")
    assert len(set(points)) > KILLS / 2, "the kills did not hit different points"
    assert sum(point < ITEMS for point in points) > KILLS / 2, "the runs had ended before they were killed"
