"""What every Executor promises."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from datasmith.errors import ConfigError
from datasmith.executors.base import Executor
from datasmith.executors.executors import EXECUTORS, check_executor, open_executor
from datasmith.executors.local import first_error
from datasmith.settings import Settings
from tests.conformance.placed import Job, backwards, broken, broken_at_two, counted, meets

pytestmark = pytest.mark.timeout(300)
SIDE_BY_SIDE = {"local", "ray"}


@pytest.fixture(scope="module", params=EXECUTORS)
def named(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Executor]]:
    """Each executor with its name; Ray with three processes that have started."""
    name = str(request.param)
    address = request.getfixturevalue("ray_cluster").address if name == "ray" else ""
    executor = open_executor(name, Settings(ray_address=address))
    if name == "ray":
        place = tmp_path_factory.mktemp("ray")

        async def start() -> None:
            await executor.map(meets, [Job(number, place) for number in range(3)], n_concurrent=3)

        anyio.run(start)
    yield name, executor
    executor.close()


@pytest.fixture
def executor(named: tuple[str, Executor]) -> Executor:
    return named[1]


@pytest.fixture
def jobs(tmp_path: Path) -> list[Job]:
    return [Job(number, tmp_path) for number in range(8)]


def test_results_come_in_the_items_order(executor: Executor, jobs: list[Job]) -> None:
    """Also where later items end first."""

    async def go() -> list[int]:
        return await executor.map(backwards, jobs, n_concurrent=3)

    assert anyio.run(go) == [job.number**2 for job in jobs]


@pytest.mark.parametrize("n_concurrent", [1, 3])
def test_the_bound_is_kept_and_used(
    named: tuple[str, Executor], jobs: list[Job], tmp_path: Path, n_concurrent: int
) -> None:
    """Never more than `n_concurrent` under way at once; as many as that where items run side by side at all."""
    name, executor = named
    at_once = n_concurrent if name in SIDE_BY_SIDE else 1

    async def go() -> None:
        await executor.map(counted, [replace(job, at_once=at_once) for job in jobs], n_concurrent=n_concurrent)

    anyio.run(go)
    seen = [int(file.read_text()) for file in tmp_path.glob("*.seen")]
    assert (len(seen), max(seen)) == (8, at_once)


def test_nothing_to_do_is_an_empty_list(executor: Executor) -> None:
    """No items, no results."""

    async def go() -> list[int]:
        return await executor.map(backwards, [], n_concurrent=4)

    assert anyio.run(go) == []


def test_an_exception_is_raised_itself(executor: Executor, jobs: list[Job]) -> None:
    """Not a group of it, and nothing that wraps it."""

    async def go() -> None:
        await executor.map(broken, jobs, n_concurrent=2)

    with pytest.raises(KeyError) as raised:
        anyio.run(go)
    assert type(raised.value) is KeyError and raised.value.args[0] in {0, 1}


def test_an_exception_cancels_the_others(named: tuple[str, Executor], jobs: list[Job], tmp_path: Path) -> None:
    """What is under way is cancelled and has ended when the exception arrives; the rest is never begun."""
    name, executor = named
    if name not in SIDE_BY_SIDE:
        jobs = jobs[2:]

    async def go() -> None:
        await executor.map(broken_at_two if name in SIDE_BY_SIDE else broken, jobs, n_concurrent=3)

    with pytest.raises(KeyError):
        anyio.run(go)
    assert sorted(file.name for file in tmp_path.glob("*.cancelled")) == (
        ["0.cancelled", "1.cancelled"] if name in SIDE_BY_SIDE else []
    )
    assert not list(tmp_path.glob("*.on")) and not list(tmp_path.glob("3.*"))


def test_items_are_taken_when_there_is_room(executor: Executor, jobs: list[Job], tmp_path: Path) -> None:
    """A source that makes its items as they are asked for is never ahead of the work."""
    ahead = []

    def source() -> Iterator[Job]:
        for job in jobs:
            ahead.append(job.number - len(list(tmp_path.glob("*.off"))))
            yield job

    async def go() -> None:
        await executor.map(counted, source(), n_concurrent=3)

    anyio.run(go)
    assert max(ahead) <= 3


def test_a_bound_below_one_is_a_wrong_setting(executor: Executor, jobs: list[Job]) -> None:
    """Otherwise nothing would ever be done, without a word."""

    async def go() -> None:
        await executor.map(backwards, jobs, n_concurrent=0)

    with pytest.raises(ConfigError, match="n-concurrent"):
        anyio.run(go)


def test_cancelling_from_outside_ends_it(executor: Executor, jobs: list[Job], tmp_path: Path) -> None:
    """A time limit around the call holds, and the work has ended when it returns."""

    def begun() -> None:
        while not list(tmp_path.glob("*.on")):
            time.sleep(0.01)

    async def go() -> bool:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:

                async def stop() -> None:
                    await to_thread.run_sync(begun)
                    scope.cancel()

                group.start_soon(stop)
                await executor.map(broken_at_two, jobs[:2], n_concurrent=2)
        return scope.cancelled_caught

    assert anyio.run(go)
    assert not list(tmp_path.glob("*.on"))


def test_blocking_work_in_threads_runs_side_by_side(named: tuple[str, Executor], jobs: list[Job]) -> None:
    """Three that wait for each other all arrive."""
    name, executor = named
    together = jobs[:3] if name in SIDE_BY_SIDE else []

    async def go() -> list[int]:
        return await executor.map(meets, together, n_concurrent=3)

    assert anyio.run(go) == [job.number for job in together]


def test_there_is_a_place(executor: Executor) -> None:
    """Without tags every executor has one."""
    assert executor.places(()) >= 1


def test_an_unknown_executor_is_named() -> None:
    """With those there are; a module that does not exist is told, too, and Ray needs an address."""
    for name in ("slurm", "no_such_module:open"):
        with pytest.raises(ConfigError, match=rf"--executor {name}.*example: --executor local"):
            open_executor(name, Settings())
    assert check_executor("local") == "local"
    with pytest.raises(ConfigError, match="FC_RAY_ADDRESS"):
        open_executor("ray", Settings())


def test_the_first_error_of_nested_groups_is_the_plain_one() -> None:
    """What cancelled its siblings, however deep it lies; a plain exception is itself."""
    plain = KeyError("x")
    assert first_error(ExceptionGroup("a", [ExceptionGroup("b", [plain]), ValueError()])) is plain
    assert first_error(plain) is plain
