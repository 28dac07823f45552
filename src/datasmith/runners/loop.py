"""The machinery under a stage: leases taken and kept, answers written in batches, nothing left under way."""

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TypeVar

import anyio
from anyio import to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from datasmith.errors import (
    EngineUnavailable,
    ForgeUnavailable,
    IndexUnavailable,
    ModelUnavailable,
    RateLimited,
    SchemaMismatch,
    StoreError,
    StoreUnavailable,
)
from datasmith.executors.base import Executor
from datasmith.executors.local import LocalExecutor, first_error
from datasmith.process import kill_descendants
from datasmith.redact import redact
from datasmith.runners.secrets import without_secrets
from datasmith.storage.base import STAGES, ItemState, Row, StageItem, Store, Verdict, utc_now

OUTAGES = (EngineUnavailable, IndexUnavailable, StoreUnavailable, ForgeUnavailable, RateLimited, ModelUnavailable)
"""Errors that say nothing about the item: it is tried again, and if that does not help the stage stops."""

BATCH = 1024
"""At most this many items are claimed, and this many answers written, in one transaction."""
GATHER_S = 0.1
"""Where items end faster than a transaction each would allow, at least so long is between the beginnings of two: a
killed process then decides that much again."""
QUICK = 100
"""This many items a second are fast: below it every answer is written at once."""

LEASE_S = 120.0
"""How long a worker may be silent before its items are given to others."""

Answer = TypeVar("Answer")

Progress = Callable[[int, int, str], None]
"""Called before the first item and for each that ended: how many have, how many there were, the item and its state."""


def one_line(error: BaseException, clean: Callable[[str], str] = redact) -> str:
    """An exception as a reason: its class and message, without secrets, on one line of at most 300 characters."""
    return " ".join(clean(f"{type(error).__name__}: {error}").split())[:300]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a stage is run.

    A worker's name must differ between processes. A lease lasts `lease_s` and is renewed while its item is under
    way; that of a killed process ends by itself. After each outage an item waits for the next of `outage_pauses_s`;
    when they are used up the stage stops. `stop_children` ends the programs that items have started: it is called
    when the stage has to stop, until the threads that wait for them have returned. What is written about an item
    goes through `redact`. What waits of other repositories ("owner/repo") than `repositories` is left to other runs;
    None is any.
    """

    worker: str
    n_concurrent: int = 8
    lease_s: float = LEASE_S
    outage_pauses_s: tuple[float, ...] = (1.0, 10.0)
    progress: Progress | None = None
    executor: Executor = field(default_factory=LocalExecutor)
    now: Callable[[], datetime] = utc_now
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    stop_children: Callable[[], None] = kill_descendants
    redact: Callable[[str], str] = redact
    repositories: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class StageSummary:
    """What a run did with the items that waited at a stage; `pending` are those that wait there now."""

    stage: int
    passed: int
    refused: int
    failed: int
    pending: int
    seconds: float

    @property
    def entered(self) -> int:
        """Every item is counted in exactly one state."""
        return self.passed + self.refused + self.failed + self.pending

    @property
    def all_failed(self) -> bool:
        """True where items ended, and none with an answer: the stage itself is broken."""
        return self.failed > 0 and self.passed + self.refused == 0


class Loop:
    """One run of a stage over the items that `claim(n)` leases; `attempt` turns each into a verdict.

    `attempt` may raise one of OUTAGES and nothing else.
    """

    def __init__(
        self,
        store: Store,
        window: str,
        stage: int,
        options: RunOptions,
        *,
        claim: Callable[[int], list[StageItem]],
        attempt: Callable[[StageItem], Awaitable[Verdict]],
    ) -> None:
        self.ended: dict[str, ItemState] = {}
        self._store = store
        self._window = window
        self._stage = stage
        self._options = options
        self._claim = claim
        self._attempt = attempt
        self._held: dict[str, StageItem] = {}
        self._waiting: deque[StageItem] = deque()
        self._total = 0
        self._under_way = 0
        self._plenty = False
        self._lately: deque[float] = deque(maxlen=BATCH)

    async def run(self, total: int) -> None:
        """Work until nothing is left to claim.

        Raises one of OUTAGES where it lasted. However the run ends, what is under way then is pending again.
        """
        # What follows belongs to the running event loop. Items may fill the default thread pool: the loop's own
        # calls of the store must not wait behind them.
        self._threads = anyio.CapacityLimiter(4)
        self._claiming = anyio.Lock()
        self._stopping = anyio.Event()
        self._outbox: MemoryObjectSendStream[Verdict]
        self._outbox, inbox = anyio.create_memory_object_stream[Verdict](BATCH)
        self._total = total
        self._started = self._options.now()
        self._shown = anyio.current_time()
        reason, state = "interrupted", "stopped"
        try:
            await self._note_progress("running")
            if self._options.progress and total:
                self._options.progress(0, total, "")
            await self._work_and_watch(inbox)
            state = "finished"
        except BaseExceptionGroup as several:
            error = first_error(several)
            reason = one_line(error, self._options.redact)
            raise error from several
        finally:
            with anyio.CancelScope(shield=True):
                await self._wind_up(inbox, reason, state)

    async def _work_and_watch(self, inbox: MemoryObjectReceiveStream[Verdict]) -> None:
        """Everything in one group of tasks: Ctrl-C and any error reach each of them at once."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._renew)
            group.start_soon(self._stop_children)
            group.start_soon(self._fill_slots)
            group.start_soon(self._write, inbox, group.cancel_scope)

    async def _fill_slots(self) -> None:
        slots = range(self._options.n_concurrent)
        async with self._outbox:
            await self._options.executor.map(self._work, slots, n_concurrent=len(slots))

    async def _work(self, _slot: int) -> None:
        """Take one item after another until there are none."""
        try:
            while (leased := await self._next()) is not None:
                self._under_way += 1
                try:
                    verdict = await self._through_outages(leased)
                finally:
                    self._under_way -= 1
                await self._post(without_secrets(verdict, self._options.redact))
        except BaseException:
            self._stopping.set()
            raise

    async def _post(self, verdict: Verdict) -> None:
        """Hand a verdict to the writer; waits where the writer is a batch behind."""
        try:
            self._outbox.send_nowait(verdict)
        except anyio.WouldBlock:
            await self._outbox.send(verdict)

    async def _through_outages(self, leased: StageItem) -> Verdict:
        for pause_s in self._options.outage_pauses_s:
            try:
                return await self._attempt(leased)
            except OUTAGES:
                await self._options.sleep(pause_s)
        return await self._attempt(leased)

    async def _next(self) -> StageItem | None:
        """An item under our lease.

        As many are claimed at once as ended in the last second, or as slots are free: what takes minutes is never
        kept from other workers, what takes milliseconds costs no transaction of its own, and is claimed before the
        last ones are used up, while the other slots work.
        """
        if self._waiting and (self._claiming.locked() or not self._runs_low()):
            return self._waiting.popleft()
        mine = self._waiting.popleft() if self._waiting else None
        async with self._claiming:
            if not self._waiting or self._runs_low():
                wanted = max(1 + self._claiming.statistics().tasks_waiting, self._rate())
                claimed = await self._in_thread(partial(self._claim, wanted))
                self._held |= {item.item: item for item in claimed}
                self._waiting.extend(claimed)
                self._plenty = len(claimed) == wanted
            return mine or (self._waiting.popleft() if self._waiting else None)

    def _runs_low(self) -> bool:
        """True where what waits here is gone in a quarter of a second, and there was more of it."""
        return self._plenty and len(self._waiting) <= self._rate() // 4

    def _rate(self) -> int:
        """Items that ended in the last second, at most a batch."""
        second_ago = anyio.current_time() - 1.0
        while self._lately and self._lately[0] <= second_ago:
            self._lately.popleft()
        return len(self._lately)

    async def _write(self, inbox: MemoryObjectReceiveStream[Verdict], whole: anyio.CancelScope) -> None:
        """Write verdicts as they come: all that wait while the last batch was written go into the next."""
        began = -GATHER_S
        async for first in inbox:
            with anyio.CancelScope(shield=True):
                if self._rate() >= QUICK:
                    await anyio.sleep(max(0.0, began + GATHER_S - anyio.current_time()))
                began = anyio.current_time()
                await self._settle([first, *_waiting_in(inbox)])
        whole.cancel()

    async def _settle(self, verdicts: Sequence[Verdict]) -> None:
        for verdict, holds in await self._in_thread(partial(self._commit, verdicts)):
            self._held.pop(verdict.item.item, None)
            if holds and verdict.state != "pending":
                self.ended[verdict.item.item] = verdict.state
                self._lately.append(anyio.current_time())
                if self._options.progress:
                    self._options.progress(len(self.ended), self._total, f"{verdict.item.item} {verdict.state}")
        if anyio.current_time() - self._shown >= 1.0:
            await self._note_progress("running")

    def _commit(self, verdicts: Sequence[Verdict]) -> list[tuple[Verdict, bool]]:
        """Store verdicts in one transaction; one that the database refuses fails alone."""
        try:
            held = self._store.finish_many(verdicts, self._options.now())
        except (StoreUnavailable, SchemaMismatch):
            raise
        except StoreError as error:
            if len(verdicts) > 1:
                return [pair for verdict in verdicts for pair in self._commit([verdict])]
            verdicts = [Verdict(verdicts[0].item, "failed", one_line(error, self._options.redact))]
            held = self._store.finish_many(verdicts, self._options.now())
        return list(zip(verdicts, held, strict=True))

    async def _renew(self) -> None:
        """Keep our leases while their items are under way, and say that we live."""
        while True:
            await anyio.sleep(self._options.lease_s / 3)
            held = list(self._held.values())
            await self._in_thread(partial(self._store.renew, held, self._options.lease_s, self._options.now()))
            await self._note_progress("running")

    async def _stop_children(self) -> None:
        """When the run stops early, end the programs that its items wait for: a thread cannot be cancelled."""
        try:
            await self._stopping.wait()
        finally:
            with anyio.CancelScope(shield=True):
                while self._under_way:
                    self._options.stop_children()
                    await anyio.sleep(0.1)

    async def _wind_up(self, inbox: MemoryObjectReceiveStream[Verdict], reason: str, state: str) -> None:
        """Write the answers that still wait and give back the rest; without a store, leases end by themselves."""
        with suppress(StoreUnavailable):
            await self._settle(_waiting_in(inbox))
            await self._settle([Verdict(item, "pending", reason) for item in self._held.values()])
            await self._note_progress(state)
        inbox.close()
        self._outbox.close()

    async def _note_progress(self, state: str) -> None:
        self._shown = anyio.current_time()
        counts = Counter(self.ended.values())
        name, worker = STAGES[self._stage], self._options.worker
        row: Row = {
            "runner_id": f"{name}:{self._window}:{worker}",
            "name": name,
            "window": self._window,
            "stage": self._stage,
            "worker": worker,
            "total": self._total,
            "completed": len(self.ended),
            "passed": counts["passed"],
            "refused": counts["refused"],
            "failed": counts["failed"],
            "state": state,
            "started_at": self._started,
            "updated_at": self._options.now(),
        }
        await self._in_thread(partial(self._store.upsert, "runner_progress", [row]))

    async def _in_thread(self, call: Callable[[], Answer]) -> Answer:
        return await to_thread.run_sync(call, limiter=self._threads)


def _waiting_in(inbox: MemoryObjectReceiveStream[Verdict]) -> list[Verdict]:
    """The verdicts that can be had without waiting, at most a batch of them."""
    found: list[Verdict] = []
    with suppress(anyio.WouldBlock, anyio.EndOfStream):
        while len(found) < BATCH:
            found.append(inbox.receive_nowait())
    return found
