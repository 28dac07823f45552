"""kill -9 of a worker on a Ray cluster loses nothing and does nothing twice: Ray places work, the ledger remembers."""

import os
import signal
import time
from collections import Counter
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from datasmith.errors import ConfigError
from datasmith.executors.ray import RayExecutor
from datasmith.pipeline import NEEDS
from datasmith.storage.base import Store
from datasmith.storage.sql import SqlStore
from tests.conformance.stores import postgresql
from tests.faults.ray_children import NumbersShift, work_numbers
from tests.support.ray_cluster import two_nodes
from tests.unit.runners.numbers import WINDOW, entered

ITEMS = 200
pytestmark = pytest.mark.timeout(400)


def kill_one(place: Path, store: Store, stage: int) -> int:
    """Kill a worker in the middle of the stage; returns its process id."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        counts = store.count(WINDOW, stage)
        if counts["passed"] > ITEMS // 10 and counts["leased"]:
            victim = int(min(place.glob("*.pid"), key=lambda file: file.stat().st_mtime).stem)
            os.kill(victim, signal.SIGKILL)
            return victim
        time.sleep(0.02)
    raise TimeoutError("the stage never got under way")


def check_stage(cluster: RayExecutor, url: str, stage: int, place: Path) -> int:
    """Run the stage with a kill in its middle; returns how many processes worked on it."""
    place.mkdir()
    with SqlStore(url) as store:
        store.migrate()
        entered(store, ITEMS, stage)
        shifts = [NumbersShift(url, stage, place)] * cluster.places(NEEDS[stage])

        async def go() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(to_thread.run_sync, kill_one, place, store, stage)
                await cluster.map(work_numbers, shifts, n_concurrent=len(shifts), needs=NEEDS[stage])

        anyio.run(go)
        rows = store.stage_items(WINDOW, stage)
        states = Counter(row.state for row in rows)
        built = [row["issue_number"] for row in store.select("build_attempts")]
        failures = [row["item"] for row in store.select("runner_failures", {"stage": stage})]
    assert states == {"passed": ITEMS * 8 // 10, "refused": ITEMS // 10, "failed": ITEMS // 10}
    assert len(failures) == len(set(failures)) == ITEMS // 10
    assert Counter(built) == {n: stage - 3 for n in range(ITEMS) if n % 10 not in {1, 2}}
    return len(list(place.glob("*.pid")))


def test_a_killed_worker_costs_no_item(tmp_path: Path) -> None:
    """Stages 4 and 5 on two nodes over one PostgreSQL: a worker of each is killed, and every item ends once."""
    with postgresql(tmp_path) as url, two_nodes() as cluster:
        workers = {stage: check_stage(cluster, url, stage, tmp_path / str(stage)) for stage in (4, 5)}
        with pytest.raises(ConfigError, match="no node of the Ray cluster has the tag gpu"):
            cluster.places(("gpu",))
    print(f"ray: stages 4 and 5, {ITEMS} items each, a worker of each killed: 0 lost, 0 doubled ({workers} processes)")
    assert workers[4] >= 3 and workers[5] >= 2
