"""kill -9 of a worker on a Ray cluster loses nothing and does nothing twice: Ray places work, the ledger remembers."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from datasmith.errors import DatasmithError
from datasmith.executors.ray import RETRIES, RayExecutor
from datasmith.pipeline import NEEDS
from datasmith.runners.loop import StageSummary
from datasmith.runners.placed import PlacedStage
from datasmith.storage.base import Store
from datasmith.storage.sql import SqlStore
from tests.conformance.stores import postgresql
from tests.faults.ray_children import LEASE_S, NumbersShift, dies, work_numbers
from tests.support.ray_cluster import ROOT, RayCluster
from tests.unit.runners.numbers import WINDOW, entered

ITEMS = 200
KILLS = 2
pytestmark = pytest.mark.timeout(400)


def has_passed(store: Store, stage: int, n: int) -> bool:
    return store.count(WINDOW, stage)["passed"] >= n


def kill_some(place: Path, store: Store, stage: int) -> None:
    """Kill a worker that holds items, twice over the stage."""
    for kill in range(1, KILLS + 1):
        wait_until(partial(has_passed, store, stage, ITEMS * kill // 4))
        victim = 0
        while not victim:
            rows = store.select("stage_items", {"stage": stage, "state": "leased"})
            held = [int(str(row["worker"]).rpartition("-")[2]) for row in rows]
            victim = next((pid for pid in held if Path(f"/proc/{pid}").exists()), 0)
        os.kill(victim, signal.SIGKILL)
        (place / f"{victim}.killed").touch()


def run_stage(cluster: RayExecutor, store: Store, shift: NumbersShift) -> StageSummary:
    """The stage through shifts, with the kills in its middle."""
    placed = PlacedStage(
        store, WINDOW, shift.stage, cluster, work=work_numbers, shift=shift, needs=NEEDS[shift.stage],
        show=lambda *_: None, lease_s=LEASE_S, poll_s=0.1,
    )  # fmt: skip

    async def go() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(to_thread.run_sync, kill_some, shift.place, store, shift.stage)
            summaries.append(await placed.run_stage())

    summaries: list[StageSummary] = []
    anyio.run(go)
    return summaries[0]


@pytest.mark.parametrize(("stage", "releases"), [(4, False), (5, True)])
def test_killed_workers_cost_no_item(ray_cluster: RayCluster, tmp_path: Path, stage: int, releases: bool) -> None:
    """Two kills in each of stages 4 and 5 over one PostgreSQL: every item ends once.

    Where nobody looks after the dead of this machine, their items come back when their leases run out.
    """
    executor = RayExecutor(ray_cluster.address)
    with postgresql() as url, SqlStore(url) as store:
        store.migrate()
        entered(store, ITEMS, stage)
        summary = run_stage(executor, store, NumbersShift(url, stage, tmp_path, releases))
        states = Counter(row.state for row in store.stage_items(WINDOW, stage))
        built = Counter(row["issue_number"] for row in store.select("build_attempts"))
        failures = Counter(row["item"] for row in store.select("runner_failures"))
    executor.close()
    expected = {number for number in range(ITEMS) if number % 10 not in {1, 2}}
    lost = len(expected - set(built)) + (ITEMS - sum(states[name] for name in ("passed", "refused", "failed")))
    doubled = sum(count - 1 for count in [*built.values(), *failures.values()])
    killed, workers = (len(list(tmp_path.glob(kind))) for kind in ("*.killed", "*.pid"))
    print(
        f"kill -9 on Ray, stage {stage}: {killed} of {workers} workers killed, {ITEMS} items in "
        f"{summary.seconds:.1f} s: {lost} lost, {doubled} doubled"
    )
    assert (lost, doubled, killed) == (0, 0, KILLS)
    assert (summary.passed, summary.refused, summary.failed, summary.pending) == (ITEMS * 8 // 10, 20, 20, 0)
    assert states == {"passed": ITEMS * 8 // 10, "refused": 20, "failed": 20}


def test_a_call_that_kills_its_process_is_given_up(ray_cluster: RayCluster, tmp_path: Path) -> None:
    """After three more attempts, with an error that says so; nothing is repeated for ever."""
    executor = RayExecutor(ray_cluster.address)

    async def go() -> None:
        await executor.map(dies, [tmp_path], n_concurrent=1)

    with pytest.raises(DatasmithError, match=f"lost {RETRIES + 1} times"):
        anyio.run(go)
    executor.close()
    assert len(list(tmp_path.glob("*.died"))) == RETRIES + 1


DRIVER = """
import sys
from pathlib import Path
import anyio
from datasmith.cli.stopping import stop_code, terminable
from datasmith.executors.ray import RayExecutor
from tests.faults.ray_children import forever

async def go():
    place = Path(sys.argv[2])
    await RayExecutor(sys.argv[1]).map(forever, [place, place], n_concurrent=2, needs=("docker",))

with terminable():
    try:
        anyio.run(go)
    finally:
        sys.exit(stop_code())
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_goes_on_without_its_driver(ray_cluster: RayCluster, tmp_path: Path, how: signal.Signals) -> None:
    """Ctrl-C and SIGTERM end the calls before the driver; where it is killed, their processes are gone soon."""
    words = [sys.executable, "-c", DRIVER, ray_cluster.address, str(tmp_path)]
    env = {**os.environ, **ray_cluster.variables, "PYTHONPATH": str(ROOT)}
    driver = subprocess.Popen(words, env=env, stderr=subprocess.DEVNULL)
    wait_until(lambda: len(list(tmp_path.glob("*.on"))) == 2)
    started = time.monotonic()
    driver.send_signal(how)
    assert driver.wait(timeout=60) == (-how if how == signal.SIGKILL else 128 + how)
    stopped_s = time.monotonic() - started
    told = len(list(tmp_path.glob("*.off")))
    workers = [Path(f"/proc/{file.stem}") for file in tmp_path.glob("*.on")]
    wait_until(lambda: not any(worker.exists() for worker in workers))
    gone_s = time.monotonic() - started
    print(f"{how.name} to a driver on Ray: it ended after {stopped_s:.1f} s, its workers after {gone_s:.1f} s")
    assert told == 2 or how == signal.SIGKILL


def wait_until(holds: Callable[[], bool]) -> None:
    """Up to two minutes."""
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)
