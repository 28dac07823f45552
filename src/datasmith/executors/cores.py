"""Cores as a resource: whoever measures holds one core alone."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio

from datasmith.errors import ConfigError


def usable_cores() -> tuple[int, ...]:
    """Core numbers this process may run on, ascending."""
    return tuple(sorted(os.sched_getaffinity(0)))


class CorePool:
    """Hands out each core to one holder at a time; waiting is first come, first served."""

    def __init__(self, cores: Sequence[int]) -> None:
        """Hold these core numbers; one given twice counts once.

        Raises:
            ConfigError: there is none: whoever waited for one would wait for ever.
        """
        self._free = sorted(set(cores), reverse=True)
        if not self._free:
            raise ConfigError("no core to measure on (example: taskset -c 0,1 fc-data ...)")
        self._slots = anyio.Semaphore(len(self._free))

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[int]:
        """Wait for a free core and keep it for the body."""
        async with self._slots:
            core = self._free.pop()
            try:
                yield core
            finally:
                self._free.append(core)
