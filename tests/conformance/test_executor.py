"""What every Executor promises."""

import threading
from collections.abc import Iterator

import anyio
import pytest
from anyio import to_thread

from datasmith.errors import ConfigError
from datasmith.executors.base import Executor
from datasmith.executors.local import LocalExecutor, first_error

EXECUTORS = {"local": LocalExecutor}


@pytest.fixture(params=EXECUTORS)
def executor(request: pytest.FixtureRequest) -> Executor:
    made: Executor = EXECUTORS[request.param]()
    return made


def test_results_come_in_the_items_order(executor: Executor) -> None:
    """Also where later items end first."""

    async def backwards(number: int) -> int:
        await anyio.sleep((20 - number) / 1000)
        return number * number

    async def go() -> list[int]:
        return await executor.map(backwards, range(20), n_concurrent=7)

    assert anyio.run(go) == [number * number for number in range(20)]


@pytest.mark.parametrize("n_concurrent", [1, 3, 50])
def test_the_bound_is_kept_and_used(executor: Executor, n_concurrent: int) -> None:
    """Never more than `n_concurrent` under way at once, and as many as that where there are enough items."""
    under_way = 0
    seen = []

    async def count(_: int) -> None:
        nonlocal under_way
        under_way += 1
        seen.append(under_way)
        await anyio.sleep(0.01)
        under_way -= 1

    async def go() -> None:
        await executor.map(count, range(60), n_concurrent=n_concurrent)

    anyio.run(go)
    assert (len(seen), max(seen)) == (60, n_concurrent)


def test_nothing_to_do_is_an_empty_list(executor: Executor) -> None:
    """No items, no results."""

    async def go() -> list[None]:
        return await executor.map(anyio.sleep, [], n_concurrent=4)

    assert anyio.run(go) == []


def test_an_exception_cancels_the_others_and_is_raised(executor: Executor) -> None:
    """The exception itself, not a group of it; what was under way is cancelled and the rest never begun."""
    begun = []
    cancelled = []

    async def work(number: int) -> None:
        begun.append(number)
        if number == 2:
            await anyio.sleep(0.01)
            raise KeyError(number)
        try:
            await anyio.sleep(60)
        except anyio.get_cancelled_exc_class():
            cancelled.append(number)
            raise

    async def go() -> None:
        await executor.map(work, range(1000), n_concurrent=4)

    with pytest.raises(KeyError):
        anyio.run(go)
    assert (begun, sorted(cancelled)) == ([0, 1, 2, 3], [0, 1, 3])


def test_items_are_taken_when_there_is_room(executor: Executor) -> None:
    """A source that makes its items as they are asked for is never ahead of the work."""
    ended = 0
    ahead = []

    def source() -> Iterator[int]:
        for number in range(30):
            ahead.append(number - ended)
            yield number

    async def work(_: int) -> None:
        nonlocal ended
        await anyio.sleep(0.001)
        ended += 1

    async def go() -> None:
        await executor.map(work, source(), n_concurrent=4)

    anyio.run(go)
    assert max(ahead) <= 4


def test_a_bound_below_one_is_a_wrong_setting(executor: Executor) -> None:
    """Otherwise nothing would ever be done, without a word."""

    async def go() -> None:
        await executor.map(anyio.sleep, [0], n_concurrent=0)

    with pytest.raises(ConfigError, match="n-concurrent"):
        anyio.run(go)


def test_cancelling_from_outside_ends_it(executor: Executor) -> None:
    """A time limit around the call holds."""

    async def go() -> bool:
        with anyio.move_on_after(0.02) as scope:
            await executor.map(anyio.sleep, [60, 60], n_concurrent=2)
        return scope.cancelled_caught

    assert anyio.run(go)


def test_blocking_work_in_threads_runs_side_by_side(executor: Executor) -> None:
    """Four threads that wait for each other all arrive."""
    barrier = threading.Barrier(4, timeout=10)

    async def meet(_: int) -> int:
        return await to_thread.run_sync(barrier.wait)

    async def go() -> list[int]:
        return await executor.map(meet, range(4), n_concurrent=4)

    assert sorted(anyio.run(go)) == [0, 1, 2, 3]


def test_the_first_error_of_nested_groups_is_the_plain_one() -> None:
    """What cancelled its siblings, however deep it lies; a plain exception is itself."""
    plain = KeyError("x")
    assert first_error(ExceptionGroup("a", [ExceptionGroup("b", [plain]), ValueError()])) is plain
    assert first_error(plain) is plain
