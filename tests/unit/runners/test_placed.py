"""Shifts are given out until nothing waits; what others hold and renew is left to them."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from datasmith.errors import ConfigError, StoreUnavailable
from datasmith.executors.base import Executor, Item, Result
from datasmith.executors.inline import InlineExecutor
from datasmith.executors.local import LocalExecutor
from datasmith.runners.base import Outcome
from datasmith.runners.loop import StageSummary
from datasmith.runners.placed import PlacedStage, check_ledger
from datasmith.settings import Settings
from datasmith.storage.base import Store
from datasmith.storage.sql import SqlStore
from tests.unit.runners.numbers import WINDOW, Numbers, entered, squared, with_lease

HERE = "here"


class Places(LocalExecutor):
    """This machine, as if it were three; counts what it was given."""

    def __init__(self) -> None:
        self.given: list[int] = []

    def places(self, needs: Sequence[str]) -> int:
        return 3

    async def map(
        self,
        function: Callable[[Item], Awaitable[Result]],
        items: Iterable[Item],
        *,
        n_concurrent: int,
        needs: Sequence[str] = (),
    ) -> list[Result]:
        self.given.append(n_concurrent)
        return await super().map(function, items, n_concurrent=n_concurrent)


async def decide(number: int) -> Outcome[int]:
    """Passed, but for 1 and 2."""
    if number == 1:
        return Outcome("refused", "one")
    if number == 2:
        raise ValueError(number)
    return squared(number)


class Work:
    """Shifts over one store; each is a worker of its own."""

    def __init__(self, store: Store, lose: int = 0) -> None:
        self.store = store
        self.begun = 0
        self.lose = lose

    async def __call__(self, _: str) -> StageSummary | None:
        self.begun += 1
        if self.begun <= self.lose:
            return None
        options = with_lease(60.0)
        return await Numbers(self.store, decide, options).run_stage()


def placed(
    store: Store,
    work: Callable[[str], Awaitable[object]],
    executor: Executor,
    repositories: Collection[str] | None = None,
) -> PlacedStage[str]:
    return PlacedStage(
        store, WINDOW, 3, executor, work=work, shift=HERE, needs=("docker",), show=lambda *_: None,
        repositories=repositories, lease_s=0.3, poll_s=0.01,
    )  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> SqlStore:
    found = SqlStore.at(tmp_path / "fc.sqlite")
    found.migrate()
    return found


def test_every_item_ends_and_is_counted(store: SqlStore) -> None:
    """The sum is that of a run without shifts."""
    entered(store, 20)
    summary = anyio.run(placed(store, Work(store), Places()).run_stage)
    assert (summary.passed, summary.refused, summary.failed, summary.pending) == (18, 1, 1, 0)


@pytest.mark.parametrize(("items", "shifts"), [(0, []), (1, [1]), (2, [2]), (20, [3])])
def test_no_more_shifts_than_places_or_items(store: SqlStore, items: int, shifts: list[int]) -> None:
    """And none at all where nothing waits."""
    entered(store, items)
    executor = Places()
    anyio.run(placed(store, Work(store), executor).run_stage)
    assert executor.given == shifts


def test_no_shift_is_given_out_for_other_repositories(store: SqlStore) -> None:
    """Neither for what waits there nor for what a dead worker held."""
    entered(store, 5)
    store.claim(WINDOW, 3, "elsewhere-1", 2, 0.0, datetime.now(UTC))
    executor = Places()
    summary = anyio.run(placed(store, Work(store), executor, {"x/y"}).run_stage)
    assert (summary.entered, executor.given) == (0, [])
    assert anyio.run(placed(store, Work(store), executor, {"a/b"}).run_stage).entered == 5


def test_what_a_dead_worker_held_is_worked_on_when_its_lease_ends(store: SqlStore) -> None:
    """On another machine nobody can see that it is dead."""
    entered(store, 5)
    assert len(store.claim(WINDOW, 3, "elsewhere-1", 5, 0.2, datetime.now(UTC))) == 5
    executor = Places()
    summary = anyio.run(placed(store, Work(store), executor).run_stage)
    assert (summary.passed + summary.refused + summary.failed, summary.pending) == (5, 0)
    assert executor.given == [3]


def test_what_somebody_alive_holds_is_left_to_them(store: SqlStore) -> None:
    """After as long as a dead worker's lease would have lasted, the stage ends, and says what still waits."""
    entered(store, 5)
    assert len(store.claim(WINDOW, 3, "elsewhere-1", 3, 3600.0, datetime.now(UTC))) == 3
    summary = anyio.run(placed(store, Work(store), Places()).run_stage)
    assert (summary.passed + summary.refused + summary.failed, summary.pending) == (2, 3)


def test_shifts_that_claim_nothing_are_not_given_out_for_ever(store: SqlStore) -> None:
    """The stage ends, and everything waits."""
    entered(store, 5)
    executor = Places()
    summary = anyio.run(placed(store, Work(store, lose=1000), executor).run_stage)
    assert (summary.pending, executor.given) == (5, [3])


def test_what_ends_a_shift_ends_the_stage(store: SqlStore) -> None:
    """The error itself, not a group of it."""
    entered(store, 5)

    async def broken(_: str) -> None:
        raise StoreUnavailable("gone")

    for executor in (Places(), InlineExecutor()):
        with pytest.raises(StoreUnavailable, match="gone"):
            anyio.run(placed(store, broken, executor).run_stage)


def test_another_ledger_is_refused(store: SqlStore) -> None:
    """A file that machines cannot share, and a store that knows nothing of the window."""
    with pytest.raises(ConfigError, match=r"machines cannot share a SQLite file.*DATABASE_URL=postgresql://"):
        check_ledger(store, Settings(database_url=""), WINDOW, 3, given_out_by="another-machine")
    with pytest.raises(ConfigError, match=rf"knows nothing of {WINDOW} at stage 3.*another-machine"):
        check_ledger(store, Settings(database_url="postgresql://x/y"), WINDOW, 3, given_out_by="another-machine")
    entered(store, 1)
    check_ledger(store, Settings(database_url="postgresql://x/y"), WINDOW, 3, given_out_by="another-machine")
