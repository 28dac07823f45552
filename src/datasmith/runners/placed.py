"""A stage whose items are worked on elsewhere: shifts are given out to places until nothing waits any more.

A shift is one worker's turn at the stage: it claims items until none is left. Who works on an item, and whether its
answer still counts, is decided by the ledger's leases and fences alone; a shift that is lost is simply given out again.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from functools import partial
from socket import gethostname
from typing import Generic, TypeVar

import anyio
from anyio import to_thread

from datasmith.errors import ConfigError
from datasmith.executors.base import Executor
from datasmith.executors.local import first_error
from datasmith.runners.abandoned import release_abandoned
from datasmith.runners.agenda import is_of
from datasmith.runners.loop import LEASE_S, StageSummary
from datasmith.settings import Settings
from datasmith.storage.base import ItemState, Row, Store, utc_now

Shift = TypeVar("Shift")

POLL_S = 1.0
"""How often the ledger is looked at while others work."""
Counts = dict[ItemState, int]


class PlacedStage(Generic[Shift]):
    """One stage of a window, done by `work(shift)` wherever `executor` finds the tags in `needs`.

    `show(done, total)` is told of progress. Only items of `repositories` ("owner/repo") count, where they are given.
    """

    def __init__(
        self,
        store: Store,
        window: str,
        stage: int,
        executor: Executor,
        *,
        work: Callable[[Shift], Awaitable[object]],
        shift: Shift,
        needs: Sequence[str],
        show: Callable[[int, int], None],
        repositories: Collection[str] | None = None,
        lease_s: float = LEASE_S,
        poll_s: float = POLL_S,
    ) -> None:
        self._store = store
        self._window = window
        self._stage = stage
        self._executor = executor
        self._work = work
        self._shift = shift
        self._needs = needs
        self._show = show
        self._repositories = repositories
        self._lease_s = lease_s
        self._poll_s = poll_s

    async def run_stage(self) -> StageSummary:
        """Give out shifts until nothing waits, or what waits is held by others who live.

        Raises:
            ConfigError: no place has the tags.
            DatasmithError: what ended a shift, or that its process died again and again.
        """
        started = anyio.current_time()
        before = now = await self._counts()
        while await self._can_be_claimed():
            earlier = now
            try:
                await self._give_out(before)
            except BaseExceptionGroup as several:
                raise first_error(several) from several
            now = await self._counts()
            if now == earlier:
                break  # nobody claimed what waits: it is not for us
        now = await self._counts()
        self._show(_open(before) - _open(now), _open(before))
        passed, refused, failed = (now[state] - before[state] for state in ("passed", "refused", "failed"))
        return StageSummary(self._stage, passed, refused, failed, _open(now), anyio.current_time() - started)

    async def _give_out(self, before: Counts) -> None:
        """One shift for each place, but not more than items wait; returns when all of them have ended."""
        waiting = _open(await self._counts())
        n = max(1, min(waiting, self._executor.places(self._needs)))
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, before)
            await self._executor.map(self._work, [self._shift] * n, n_concurrent=n, needs=self._needs)
            group.cancel_scope.cancel()

    async def _watch(self, before: Counts) -> None:
        total = _open(before)
        while True:
            self._show(total - _open(await self._counts()), total)
            await anyio.sleep(self._poll_s)

    async def _can_be_claimed(self) -> bool:
        """Wait until an item is free; False where all have ended, or those left are renewed by somebody else.

        A dead worker's leases have run out after `lease_s`; whoever still has some then is alive.
        """
        deadline = anyio.current_time() + 1.1 * self._lease_s
        while True:
            await to_thread.run_sync(release_abandoned, self._store, self._window, self._stage)
            counts = await self._counts()
            if counts["pending"] or await self._has_run_out():
                return True
            if not counts["leased"] or anyio.current_time() > deadline:
                return False
            await anyio.sleep(self._poll_s)

    async def _has_run_out(self) -> bool:
        where: Row = {"window": self._window, "stage": self._stage, "state": "leased"}
        rows = await to_thread.run_sync(self._store.select, "stage_items", where)
        ends = [row["lease_until"] for row in rows if is_of(str(row["item"]), self._repositories)]
        return any(isinstance(end, datetime) and end <= utc_now() for end in ends)

    async def _counts(self) -> Counts:
        count = partial(self._store.count, self._window, self._stage, repositories=self._repositories)
        return await to_thread.run_sync(count)


def _open(counts: Counts) -> int:
    """Items that are not in a final state."""
    return counts["pending"] + counts["leased"]


def check_ledger(store: Store, settings: Settings, window: str, stage: int, *, given_out_by: str) -> None:
    """Refuse to work on another ledger than that of the machine which gives out the shift.

    Raises:
        ConfigError: this machine's settings name another store, or a file that machines cannot share.
    """
    here = gethostname()
    if here != given_out_by and not settings.database_url.startswith("postgres"):
        raise ConfigError(
            f"machines cannot share a SQLite file, and {here} is told of no other store "
            "(example: DATABASE_URL=postgresql://fc@db.example.org/fc on every node, before ray start)"
        )
    if not any(store.count(window, stage).values()):
        raise ConfigError(
            f"the store of {here} knows nothing of {window} at stage {stage}: it is another one than that of "
            f"{given_out_by} (example: the same DATABASE_URL on every node, before ray start)"
        )
