"""A stage for tests: its items are numbers, and how each ends is a function given to it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime

from datasmith.runners.base import BaseRunner, Outcome
from datasmith.runners.loop import RunOptions
from datasmith.storage.base import ItemKind, Store

WINDOW = "2026-02-01..2026-03-01"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
OPTIONS = RunOptions(worker="one", n_concurrent=4, outage_pauses_s=(0.0, 0.0), stop_children=lambda: None)
Decide = Callable[[int], Awaitable[Outcome[int]]]


class Numbers(BaseRunner[int, int]):
    """Item "a/b:7" is the number 7."""

    stage = 3

    def __init__(self, store: Store, decide: Decide, options: RunOptions = OPTIONS) -> None:
        super().__init__(store, WINDOW, options)
        self._decide = decide

    async def load(self, name: str) -> int:
        return int(name.partition(":")[2])

    def identify(self, item: int) -> tuple[str, ItemKind]:
        return f"a/b:{item}", "pull_request"

    async def process(self, item: int) -> Outcome[int]:
        return await self._decide(item)


def entered(store: Store, n: int, stage: int = 3) -> Store:
    """The store, with items 0 to n-1 waiting."""
    store.enter(WINDOW, stage, [(f"a/b:{number}", "pull_request") for number in range(n)], NOW)
    return store


def squared(number: int) -> Outcome[int]:
    """Passed, with one row that is kept."""
    key = {"owner": "a", "repo": "b", "sha": str(number)}
    return Outcome("passed", result=number * number, rows=(("packages", {**key, "log": str(number * number)}),))


def with_lease(lease_s: float) -> RunOptions:
    """The options, with another lease."""
    return replace(OPTIONS, lease_s=lease_s)
