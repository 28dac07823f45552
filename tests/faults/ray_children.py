"""Calls for Ray: shifts of a worker that opens the store itself, and calls that die or never end."""

import os
from dataclasses import dataclass
from pathlib import Path

import anyio

from datasmith.runners.abandoned import release_abandoned
from datasmith.runners.base import Outcome, default_worker
from datasmith.runners.loop import RunOptions, StageSummary
from datasmith.storage.sql import SqlStore
from tests.faults.ledger_children import trivial
from tests.unit.runners.numbers import WINDOW, Numbers

LEASE_S = 3.0


@dataclass(frozen=True)
class NumbersShift:
    """Where the ledger is, the stage, where process ids go, and whether workers take up what others left at once."""

    url: str
    stage: int
    place: Path
    releases: bool = True


async def slow(number: int) -> Outcome[int]:
    """What `trivial` says, so slowly that there is time to kill somebody."""
    await anyio.sleep(0.04)
    return await trivial(number)


async def work_numbers(shift: NumbersShift) -> StageSummary:
    """Work until nothing is left to claim."""
    (shift.place / f"{os.getpid()}.pid").touch()
    stage = type("Stage", (Numbers,), {"stage": shift.stage})
    options = RunOptions(worker=default_worker(), n_concurrent=4, lease_s=LEASE_S, stop_children=lambda: None)
    with SqlStore(shift.url) as store:
        if shift.releases:
            release_abandoned(store, WINDOW, shift.stage)
        summary: StageSummary = await stage(store, slow, options).run_stage()
        return summary


async def dies(place: Path) -> None:
    """Kills its own process, and counts how often."""
    (place / f"{os.getpid()}.died").touch()
    os._exit(1)


async def forever(place: Path) -> None:
    """Says which process it is, and never ends by itself; says when it was told to."""
    (place / f"{os.getpid()}.on").touch()
    try:
        await anyio.sleep(3600)
    finally:
        (place / f"{os.getpid()}.off").touch()
