"""A worker that sleeps past its lease ends nothing a second time."""

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from datasmith.storage.sql import SqlStore
from tests.conformance.stores import postgresql
from tests.faults.ledger_children import FORKS, started, stop_while_holding, work_until_all_is_done
from tests.unit.runners.numbers import WINDOW, entered

ITEMS = 2000
HELD = 50
LEASE_S = 1.0


def check_no_double_completion(url: str) -> None:
    """Four processes, one of them stopped while it holds 50 items until the others have ended everything."""
    with SqlStore(url) as store:
        store.migrate()
        entered(store, ITEMS)
        result, child_end = FORKS.Pipe()
        sleeper = started(stop_while_holding, url, HELD, LEASE_S, child_end)
        try:
            assert result.recv() == HELD
            workers = [started(work_until_all_is_done, url, f"worker {n}", LEASE_S) for n in range(3)]
            for worker in workers:
                worker.join()
            assert [worker.exitcode for worker in workers] == [0, 0, 0]
            assert sleeper.pid
            os.kill(sleeper.pid, signal.SIGCONT)
            taken = result.recv()
        finally:
            sleeper.kill()
            sleeper.join()
        states = Counter(item.state for item in store.stage_items(WINDOW, 3))
        ended = Counter(row["issue_number"] for row in store.select("build_attempts"))
        ended += Counter(row["item"] for row in store.select("runner_failures"))
    doubled = sum(number - 1 for number in ended.values()) + sum(taken)
    print(f"leases: 4 processes, {ITEMS} items, {HELD} held past the lease: {doubled} double completions ({url[:8]})")
    assert states == {"passed": ITEMS * 8 // 10, "refused": ITEMS // 10, "failed": ITEMS // 10}
    assert (doubled, len(ended), taken) == (0, ITEMS * 9 // 10, [False] * HELD)


@pytest.mark.timeout(120)
def test_no_item_ends_twice_on_sqlite(tmp_path: Path) -> None:
    """On one SQLite file."""
    check_no_double_completion(f"sqlite:///{tmp_path}/fc.sqlite")


@pytest.mark.timeout(120)
def test_no_item_ends_twice_on_postgresql(tmp_path: Path) -> None:
    """On a PostgreSQL server."""
    with postgresql(tmp_path) as url:
        check_no_double_completion(url)
