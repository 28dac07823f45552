"""What every stage is made of: two questions to answer; the rest is answered here, once, for all of them.

A stage says what an item is (`load`) and how it ends (`process`). `process` does not write to the store: it returns
rows, which are stored in the same transaction as the item's state, so that a killed run leaves both or neither.
"""

import os
import socket
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Generic, Literal, TypeVar

import anyio
from anyio import to_thread
from anyio.lowlevel import checkpoint_if_cancelled

from datasmith.executors.local import first_error
from datasmith.runners.agenda import COSTLY, is_of
from datasmith.runners.loop import OUTAGES, Loop, RunOptions, StageSummary, one_line
from datasmith.storage.base import STAGES, Entry, ItemKind, Row, StageItem, Store, Value, Verdict

Item = TypeVar("Item")
Result = TypeVar("Result")

TRACEBACK_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Result]):
    """How an item ended: a decision, the reason for it (a refusal needs one), and what is stored together with it.

    `rows` are (table, row) pairs; `entries` are ledger entries beside the item's own next stage.
    """

    state: Literal["passed", "refused"]
    reason: str = ""
    result: Result | None = None
    rows: tuple[tuple[str, Mapping[str, Value]], ...] = ()
    entries: tuple[Entry, ...] = ()

    def __post_init__(self) -> None:
        if self.state == "refused" and not self.reason:
            raise ValueError("a refusal needs a reason")


def default_worker() -> str:
    """This process's name in the ledger: host and process id."""
    return f"{socket.gethostname()}-{os.getpid()}"


class BaseRunner(ABC, Generic[Item, Result]):
    """A stage over the ledger of one window."""

    stage: ClassVar[int]
    """Number of the stage, a key of STAGES."""

    def __init__(self, store: Store, window: str, options: RunOptions | None = None) -> None:
        self.store = store
        self.window = window
        self.options = options or RunOptions(worker=default_worker())

    @property
    def name(self) -> str:
        """The stage's name, as in STAGES."""
        return STAGES[self.stage]

    @abstractmethod
    async def load(self, name: str) -> Item:
        """The item with this name in the ledger ("owner/repo" or "owner/repo:n")."""

    @abstractmethod
    async def process(self, item: Item) -> Outcome[Result]:
        """Decide on one item; blocking work goes through `anyio.to_thread`.

        An exception fails this item only. One of OUTAGES fails nothing: the item is tried again, then given back.
        """

    @abstractmethod
    def identify(self, item: Item) -> tuple[str, ItemKind]:
        """The item's name and kind in the ledger."""

    def next_entries(self, leased: StageItem, /) -> tuple[Entry, ...]:
        """Where an item goes that passed: the next stage, where there is one for its kind.

        What that one had decided it decides anew, unless that takes hours.
        """
        last, following = 2 if leased.kind == "repository" else max(STAGES), self.stage + 1
        entry = Entry(following, leased.item, leased.kind, anew=following != COSTLY)
        return (entry,) if self.stage < last else ()

    async def pending(self) -> list[Item]:
        """The items that wait at this stage; only looks."""
        rows = await to_thread.run_sync(self.store.stage_items, self.window, self.stage)
        return [
            await self.load(row.item)
            for row in rows
            if row.state == "pending" and is_of(row.item, self.options.repositories)
        ]

    async def run_stage(self) -> StageSummary:
        """Work through everything that waits at this stage; items fail one by one, never the run.

        Raises one of OUTAGES that lasted. Then, and on cancellation, what is under way is pending again.
        """
        started = anyio.current_time()
        waiting = await self._waiting()
        loop = self._loop(self._claim, partial(self._attempt, find=self.load, keep=None))
        await loop.run(waiting)
        states = list(loop.ended.values())
        return StageSummary(
            stage=self.stage,
            passed=states.count("passed"),
            refused=states.count("refused"),
            failed=states.count("failed"),
            pending=await self._waiting(),
            seconds=anyio.current_time() - started,
        )

    async def run(self, items: Sequence[Item]) -> list[Result | None]:
        """Process just these items, whatever the ledger says of them; results in their order, None for a failure.

        An item that another worker holds is left to it, and is None here. Raises as `run_stage` does.
        """
        given = {self.identify(item): item for item in items}
        results: dict[str, Result | None] = {}
        by_name = {name: item for (name, _), item in given.items()}

        async def find(name: str) -> Item:
            return by_name[name]

        claim = partial(self._take, deque(given))
        loop = self._loop(claim, partial(self._attempt, find=find, keep=results))
        await loop.run(len(given))
        answered = {name: results.get(name) for name, state in loop.ended.items() if state != "failed"}
        return [answered.get(self.identify(item)[0]) for item in items]

    def _loop(
        self, claim: Callable[[int], list[StageItem]], attempt: Callable[[StageItem], Awaitable[Verdict]]
    ) -> Loop:
        return Loop(self.store, self.window, self.stage, self.options, claim=claim, attempt=attempt)

    async def _waiting(self) -> int:
        """Items that are not in a final state, those under a lease included."""
        count = partial(self.store.count, self.window, self.stage, repositories=self.options.repositories)
        counts = await to_thread.run_sync(count)
        return counts["pending"] + counts["leased"]

    def _claim(self, n: int) -> list[StageItem]:
        told = self.options
        return self.store.claim(
            self.window, self.stage, told.worker, n, told.lease_s, told.now(), repositories=told.repositories
        )

    def _take(self, names: deque[tuple[str, ItemKind]], n: int) -> list[StageItem]:
        """Lease the next of the given items; ones that somebody else holds are passed over."""
        options = self.options
        leased: list[StageItem] = []
        while names and not leased:
            chosen = [names.popleft() for _ in range(min(n, len(names)))]
            leased = self.store.take(self.window, self.stage, chosen, options.worker, options.lease_s, options.now())
        return leased

    async def _attempt(
        self, leased: StageItem, *, find: Callable[[str], Awaitable[Item]], keep: dict[str, Result | None] | None
    ) -> Verdict:
        """The verdict on one item. An answer that comes after the run was cancelled is not one: its programs died."""
        try:
            outcome = await self.process(await find(leased.item))
        except OUTAGES:
            await checkpoint_if_cancelled()
            raise
        except Exception as raised:
            await checkpoint_if_cancelled()
            error = first_error(raised)
            if isinstance(error, OUTAGES):
                raise error from raised
            return self._failure(leased, error)
        await checkpoint_if_cancelled()
        if keep is not None:
            keep[leased.item] = outcome.result
        follows = self.next_entries(leased) if outcome.state == "passed" else ()
        return Verdict(leased, outcome.state, outcome.reason, outcome.rows, outcome.entries + follows)

    def _failure(self, leased: StageItem, error: BaseException) -> Verdict:
        """A failed item, with its traceback for whoever looks for the cause."""
        reason = one_line(error, self.options.redact)
        row: Row = {
            "runner_id": f"{self.name}:{self.window}:{self.options.worker}",
            "window": self.window,
            "stage": self.stage,
            "item": leased.item,
            "reason": reason,
            "traceback": self.options.redact("".join(traceback.format_exception(error)))[-TRACEBACK_CHARS:],
            "failed_at": self.options.now(),
        }
        return Verdict(leased, "failed", reason, (("runner_failures", row),))
