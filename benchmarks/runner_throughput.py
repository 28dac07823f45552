"""How many items a stage gets through in a second: 5 ms of awaited work and one stored row each, 64 side by side.

On SQLite and, where it is installed, on PostgreSQL. Usage: python -m benchmarks.runner_throughput [items]
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
from tests.conformance.stores import PROGRAMS, postgresql

from datasmith.runners.base import BaseRunner, Outcome
from datasmith.runners.loop import RunOptions
from datasmith.storage.base import ItemKind, Row, Store, utc_now
from datasmith.storage.sql import SqlStore

WINDOW = "2026-02-01..2026-03-01"
N_CONCURRENT = 64
WORK_S = 0.005


class Waits(BaseRunner[str, None]):
    """A stage whose items wait, then store one row."""

    stage = 3

    async def load(self, name: str) -> str:
        """The name is the item."""
        return name

    def identify(self, item: str) -> tuple[str, ItemKind]:
        """The item is its name."""
        return item, "pull_request"

    async def process(self, item: str) -> Outcome[None]:
        """Wait, and give one row."""
        await asyncio.sleep(WORK_S)  # not anyio.sleep, which takes as much cpu time as all of our own
        number = int(item.partition(":")[2])
        row: Row = {"owner": "a", "repo": "b", "issue_number": number, "is_performance_commit": True, "reason": "rule"}
        return Outcome("passed", rows=(("pull_requests", row),))


async def through_the_ledger(runner: Waits, names: list[str]) -> None:
    """What fc-data does: the items wait in the ledger."""
    runner.store.enter(WINDOW, 3, [(name, "pull_request") for name in names], utc_now())
    summary = await runner.run_stage()
    assert summary.passed == len(names)


async def given(runner: Waits, names: list[str]) -> None:
    """What a script does: `await runner.run(items)`."""
    assert len(await runner.run(names)) == len(names)


@contextmanager
def store_on(kind: str, folder: Path) -> Iterator[Store]:
    """A fresh store: a SQLite file, or a PostgreSQL server on loopback."""
    if kind == "SQLite":
        with SqlStore.at(folder / "fc.sqlite") as store:
            store.migrate()
            yield store
        return
    with postgresql(folder) as url, SqlStore(url) as store:
        store.migrate()
        yield store


def measured(kind: str, way: Callable[[Waits, list[str]], Awaitable[None]], n_items: int) -> tuple[float, float]:
    """(items per second, items per second of this process's cpu time) on a fresh store."""
    with tempfile.TemporaryDirectory() as folder, store_on(kind, Path(folder)) as store:
        runner = Waits(store, WINDOW, RunOptions(worker="benchmark", n_concurrent=N_CONCURRENT))
        cpu, started = time.process_time(), time.perf_counter()
        anyio.run(way, runner, [f"a/b:{number}" for number in range(n_items)])
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        assert len(store.select("pull_requests")) == n_items
        assert store.count(WINDOW, 4)["pending"] == n_items
        return n_items / seconds, n_items / cpu


def main() -> None:
    """Print both rates on each store, and the bound that the waiting alone sets."""
    n_items = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print(f"bound by waiting                      {N_CONCURRENT / WORK_S:8,.0f} items/s")
    for kind in ("SQLite", "PostgreSQL") if PROGRAMS else ("SQLite",):
        for title, way in (("run_stage (from ledger)", through_the_ledger), ("run(items)", given)):
            rate, by_cpu = measured(kind, way, n_items)
            print(f"{kind:<11}{title:<24}   {rate:8,.0f} items/s   target 5,000   ({by_cpu:,.0f} a second of our cpu)")
    print("fc-data 0.2.2                              171 items/s   (measured on another 2-core machine)")


if __name__ == "__main__":
    main()
