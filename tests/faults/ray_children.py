"""A shift for tests: a worker on a node opens the store itself, works on what it can claim, and leaves its pid."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from datasmith.runners.base import Outcome, default_worker
from datasmith.runners.loop import RunOptions
from datasmith.storage.sql import SqlStore
from tests.faults.ledger_children import trivial
from tests.unit.runners.numbers import Numbers


@dataclass(frozen=True)
class NumbersShift:
    """Where the ledger is, the stage, and where process ids go."""

    url: str
    stage: int
    place: Path


async def slow(number: int) -> Outcome[int]:
    """What `trivial` says, so slowly that there is time to kill somebody."""
    await anyio.sleep(0.02)
    return await trivial(number)


async def work_numbers(shift: NumbersShift) -> int:
    """How many items this shift ended; goes on while others hold items, whose lease may run out."""
    (shift.place / f"{os.getpid()}.pid").touch()
    stage = type("Stage", (Numbers,), {"stage": shift.stage})
    options = RunOptions(worker=default_worker(), n_concurrent=4, lease_s=3.0, stop_children=lambda: None)
    done = 0
    with SqlStore(shift.url) as store:
        while any(store.count("2026-02-01..2026-03-01", shift.stage)[state] for state in ("pending", "leased")):
            summary = await stage(store, slow, replace(options)).run_stage()
            done += summary.passed + summary.refused + summary.failed
            await anyio.sleep(0.1)
    return done
