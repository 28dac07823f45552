"""Processes that work on a ledger until they are killed, stopped or done."""

import os
import signal
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import anyio
from anyio import to_thread

from datasmith import process
from datasmith.runners.base import Outcome
from datasmith.runners.loop import RunOptions, StageSummary
from datasmith.storage.base import Row, Store, utc_now
from datasmith.storage.sql import SqlStore
from tests.unit.runners.numbers import OPTIONS, WINDOW, Numbers

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["tests.faults.ledger_children", "tests.faults.stage_children"])


async def trivial(number: int) -> Outcome[int]:
    """Passed, refused or broken, after a moment; what ends well leaves a row that nothing else would replace."""
    await anyio.sleep(0.002)
    if number % 10 == 1:
        return Outcome("refused", f"{number} ends with 1")
    if number % 10 == 2:
        raise ValueError(number)
    row: Row = {"owner": "a", "repo": "b", "issue_number": number, "ok": True}
    return Outcome("passed", rows=(("build_attempts", row),))


async def unhurried(number: int) -> Outcome[int]:
    """As `trivial`, slowly enough that each answer is written at once."""
    await anyio.sleep(0.045)
    return await trivial(number)


def run_once(store: Store, worker: str = "one", lease_s: float = 60.0) -> StageSummary:
    """One run over what waits in the store."""
    options = RunOptions(worker=worker, n_concurrent=4, lease_s=lease_s, stop_children=lambda: None)
    return anyio.run(Numbers(store, trivial, options).run_stage)


def outcome(store: Store) -> dict[str, list[str]]:
    """What a run leaves, without times and counters of attempts: equal for equal work, however often it was killed."""
    rows = store.stage_items(WINDOW)
    return {
        "items": [f"{row.stage} {row.item} {row.state} {row.reason}" for row in rows],
        "rows": sorted(str(row["issue_number"]) for row in store.select("build_attempts")),
        "failures": sorted(str(row["item"]) for row in store.select("runner_failures")),
    }


def work_until_killed(url: str, ready: Connection) -> None:
    """Says when it begins."""
    with SqlStore(url) as store:
        store.check()
        ready.send("ready")
        anyio.run(Numbers(store, unhurried, OPTIONS).run_stage)


def work_until_all_is_done(url: str, worker: str, lease_s: float) -> None:
    """Goes on as long as anybody holds an item: its lease may run out."""
    with SqlStore(url) as store:
        while any(store.count(WINDOW, 3)[state] for state in ("pending", "leased")):
            run_once(store, worker, lease_s)
            time.sleep(0.05)


def stop_while_holding(url: str, n: int, lease_s: float, result: Connection) -> None:
    """Claims items, says so, stops like a suspended machine, and when it is woken up hands in its answers."""
    with SqlStore(url) as store:
        held = store.claim(WINDOW, 3, "sleeper", n, lease_s, utc_now())
        result.send(len(held))
        os.kill(os.getpid(), signal.SIGSTOP)
        result.send([store.finish(item, "refused", "by the sleeper", utc_now()) for item in held])


async def sleeps(number: int) -> Outcome[int]:
    """Wait for a program that writes its process id and takes a minute; what it says then is a refusal."""
    script = f"echo $$ > {number}.pid; exec sleep 60"
    done = await to_thread.run_sync(lambda: process.run(["sh", "-c", script]))
    return Outcome("refused", f"the program ended with {done.rc}")


def work_until_interrupted(path: Path) -> None:
    """Four programs at once, in the directory of the store."""
    os.chdir(path.parent)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a test that runs in the background inherits none
    with SqlStore.at(path) as store:
        anyio.run(Numbers(store, sleeps, RunOptions(worker="one", n_concurrent=4)).run_stage)


def started(target: object, *words: object) -> BaseProcess:
    """A child process that runs `target`."""
    child = FORKS.Process(target=target, args=words)  # type: ignore[arg-type]
    child.start()
    return child
