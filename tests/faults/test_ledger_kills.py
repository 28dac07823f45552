"""kill -9 at any point loses nothing and does nothing twice."""

import random
import time
from pathlib import Path

import pytest

from datasmith.storage.base import utc_now
from datasmith.storage.sql import SqlStore
from datasmith.storage.table import Client
from tests.conformance.stores import postgresql
from tests.faults.ledger_children import FORKS, outcome, run_once, started, work_until_killed
from tests.unit.runners.numbers import WINDOW, entered

ITEMS = 200
KILLS = 20
FIRST_KEY = {"stage_items": "window", "build_attempts": "id", "runner_failures": "id"}


def fresh(url: str) -> SqlStore:
    """A store that holds the items and nothing else."""
    store = SqlStore(url)
    store.migrate()
    for table in ("stage_items", "build_attempts", "runner_failures"):
        Client(store).table(table).delete().not_.is_(FIRST_KEY[table], None).execute()
    entered(store, ITEMS)
    return store


def ended(store: SqlStore) -> int:
    counts = store.count(WINDOW, 3)
    return ITEMS - counts["pending"] - counts["leased"]


def killed(url: str, after_items: int, and_seconds: float) -> int:
    """Run over a fresh ledger in a process that is killed some time after so many items ended; returns how many had."""
    with fresh(url) as store:
        ready, child_end = FORKS.Pipe()
        child = started(work_until_killed, url, child_end)
        assert ready.recv() == "ready"
        while ended(store) < after_items and child.is_alive():
            time.sleep(0.005)
        time.sleep(and_seconds)
        child.kill()
        child.join()
        return ended(store)


def check_kills(url: str) -> None:
    """Kill, go on, and compare with a run that nobody killed."""
    with fresh(url) as store:
        run_once(store)
        expected = outcome(store)
    rng = random.Random(20260203)
    points, lost, doubled = [], 0, 0
    for _ in range(KILLS):
        points.append(killed(url, rng.randrange(ITEMS - 10), rng.uniform(0, 0.005)))
        with SqlStore(url) as store:
            store.reopen(WINDOW, 3, ["leased"], utc_now())
            run_once(store)
            found = outcome(store)
        for name, rows in expected.items():
            lost += len(set(rows) - set(found[name]))
            doubled += len(found[name]) - len(set(found[name]))
        assert found == expected
    where = url.partition(":")[0]
    print(
        f"kill -9 ({where}): {KILLS} kills with {sorted(points)} of {ITEMS} items ended: {lost} lost, {doubled} doubled"
    )
    assert len(set(points)) > KILLS / 2, "the kills did not hit different points"
    assert sum(point < ITEMS for point in points) > KILLS / 2, "the runs had ended before they were killed"


@pytest.mark.timeout(900)
def test_a_killed_run_is_resumed_to_the_same_end_on_sqlite(tmp_path: Path) -> None:
    """20 kills at random points: after --resume, states, rows and failures equal those of a run nobody killed."""
    check_kills(f"sqlite:///{tmp_path}/fc.sqlite")


@pytest.mark.timeout(900)
def test_a_killed_run_is_resumed_to_the_same_end_on_postgresql() -> None:
    """The same on a server, which has to notice that its client is gone."""
    with postgresql() as url:
        check_kills(url)
