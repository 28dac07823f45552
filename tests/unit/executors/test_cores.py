"""Cores as a resource."""

import os

import anyio
import pytest

from datasmith.errors import ConfigError
from datasmith.executors.cores import CorePool, usable_cores


def test_the_usable_cores_are_those_of_this_process() -> None:
    """In order, and never none."""
    assert usable_cores() == tuple(sorted(os.sched_getaffinity(0))) and usable_cores()


def test_nobody_shares_a_core() -> None:
    """With more holders than cores each core has one holder at a time, and all get their turn."""
    held: set[int] = set()
    most, turns = 0, 0

    async def work(pool: CorePool) -> None:
        nonlocal most, turns
        async with pool.hold() as core:
            assert core not in held
            held.add(core)
            most, turns = max(most, len(held)), turns + 1
            await anyio.sleep(0.001)
            held.remove(core)

    async def main() -> None:
        pool = CorePool([4, 7, 4])
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(work, pool)

    anyio.run(main)
    assert (most, turns) == (2, 10)


def test_a_core_comes_back_after_an_error() -> None:
    """Also where the holder is cancelled; the lowest core is given first."""

    async def main() -> list[int]:
        pool = CorePool([1])
        with pytest.raises(RuntimeError):
            async with pool.hold():
                raise RuntimeError
        with anyio.move_on_after(0.001):
            async with pool.hold():
                await anyio.sleep_forever()
        async with pool.hold() as core:
            return [core]

    assert anyio.run(main) == [1]


def test_no_cores_is_an_error_at_once() -> None:
    """Not a wait that never ends."""
    with pytest.raises(ConfigError, match="no core"):
        CorePool([])
