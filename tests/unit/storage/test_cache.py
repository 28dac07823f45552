"""Results that are kept: found again, of the same type, and computed once."""

import asyncio
import functools
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith.errors import ConfigError, SchemaMismatch, StoreError
from datasmith.github import PR, Issue
from datasmith.storage.cache import cached, supabase_cached
from datasmith.storage.sql import SqlStore

PULL = PR(repository="astropy/astropy", issue_number=16222)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with SqlStore.at(tmp_path / "fc.sqlite") as opened:
        opened.migrate()
        yield opened


def in_a_loop(test: Callable[[SqlStore], Coroutine[None, None, None]]) -> Callable[[SqlStore], None]:
    """The test, run in an event loop of its own."""

    def run(store: SqlStore) -> None:
        asyncio.run(test(store))

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


class Counted:
    """Notes what a function is called with."""

    def __init__(self) -> None:
        self.calls: list[object] = []

    def __call__(self, *given: object) -> int:
        self.calls.append(given)
        return len(self.calls)


def same(value: object) -> object:
    """The argument."""
    return value


@pytest.mark.parametrize(
    "value", [PULL, (1, [2, {3}]), b"\x00", datetime(2026, 1, 1, tzinfo=UTC), None, {1: "a"}, 1.0, "", [], False]
)
def test_a_hit_has_the_type_of_the_miss(store: SqlStore, value: object) -> None:
    """Case 31: what is read from the store equals what was computed, and is of its type; also where that is nothing."""
    calls = Counted()

    @cached(store=store)
    def compute(_key: int) -> object:
        calls(value)
        return value

    first, second = compute(1), compute(1)
    assert (first, type(first)) == (second, type(second))
    assert second == value
    assert len(calls.calls) == 1


def test_arguments_decide_and_not_how_they_are_given(store: SqlStore) -> None:
    """Case 31: f(1), f(a=1) and the default are one call; g(1) and g(5) are two, and so are 1, 1.0 and True."""
    calls = Counted()

    @cached(store=store)
    def f(a: float, b: int = 2, *rest: int, **more: int) -> tuple[object, ...]:
        calls()
        return a, b, rest, tuple(more.items())

    assert f(1) == f(a=1) == f(1, 2) == f(b=2, a=1) == (1, 2, (), ())
    assert len(calls.calls) == 1
    assert {f(1, 2, 3), f(1, 2, x=3), f(1.0), f(True), f(5)} == {(1, 2, (3,), ()), (1, 2, (), (("x", 3),)), *f_of(1, 5)}
    assert len(calls.calls) == 6
    assert f(1, x=1, y=2) == f(1, y=2, x=1)


def f_of(*numbers: int) -> list[tuple[object, ...]]:
    """What f gives for one argument."""
    return [(number, 2, (), ()) for number in numbers]


def test_content_is_the_key_of_what_has_no_key(store: SqlStore) -> None:
    """Case 31: g(1) is 2 and g(5) is 10, each kept under a digest of its argument."""

    @cached(store=store)
    def g(number: int) -> int:
        return 2 * number

    assert [g(1), g(5), g(1), g(5)] == [2, 10, 2, 10]
    keys = {str(row["entity_key"]) for row in store.select("hook_cache")}
    assert len(keys) == 2
    assert all(key.startswith("sha256:") for key in keys)


def test_an_object_with_a_cache_key_is_known_by_it(store: SqlStore) -> None:
    """Case 31: the row has the pull request's key; an issue of the same number is somebody else."""
    calls = Counted()

    @cached(store=store, name="title")
    def title(item: Issue) -> str:
        calls(item)
        return item.title or "none"

    assert title(PULL) == title(PULL.model_copy(update={"title": "found out later"})) == "none"
    assert title(Issue(repository=PULL.repository, issue_number=PULL.issue_number, title="an issue")) == "an issue"
    rows = store.select("hook_cache")
    assert {(row["entity_key"], row["hook_name"]) for row in rows} == {("astropy/astropy:16222", "title")}
    assert len(rows) == len(calls.calls) == 2


def test_an_argument_that_cannot_be_told_apart_is_an_error(store: SqlStore) -> None:
    """Case 31: an object without key or content is refused before anything is computed."""
    calls = Counted()
    keep = cached(store=store, name="calls")(calls)
    with pytest.raises(StoreError, match="calls: an argument has no cache_key"):
        keep(object())
    assert calls.calls == []


def test_names_keep_functions_apart(store: SqlStore) -> None:
    """Case 31: one function under two names, functions of one name, and lambdas never read each other's results."""
    plus_one, plus_two = (cached(store=store)(added) for added in (lambda x: x + 1, lambda x: x + 2))
    twice, thrice = (cached(store=store)(multiplied(by)) for by in (2, 3))
    first, second = (cached(store=store, name=name)(Counted()) for name in "ab")
    assert [plus_one(1), plus_two(1), twice(1), thrice(1)] == [2, 3, 2, 3]
    assert [first(1), second(1), first(2), second(1)] == [1, 1, 2, 1]
    assert len({row["hook_name"] for row in store.select("hook_cache")}) == 6


def multiplied(by: int) -> Callable[[int], int]:
    """A function that differs from its siblings in what it captured."""

    def multiply(number: int) -> int:
        return by * number

    return multiply


def test_a_function_at_the_top_of_a_module_is_found_again_by_its_name(store: SqlStore) -> None:
    """The next process finds what this one kept."""
    assert cached(store=store)(same)(1) == 1
    assert [row["hook_name"] for row in store.select("hook_cache")] == [f"{__name__}.same"]


def test_an_object_without_a_name_needs_one() -> None:
    """The message says how."""
    with pytest.raises(ConfigError, match="name="):
        cached(Counted())
    with pytest.raises(ConfigError, match="name="):
        cached(functools.partial(same, 1))


@in_a_loop
async def test_async_functions_are_awaited_and_kept(store: SqlStore) -> None:
    """Case 31: the result is kept, not the coroutine; the cached function is async too, as is one of an object's."""
    calls = Counted()

    @cached(store=store)
    async def length(text: str) -> int:
        """How long."""
        await asyncio.sleep(0)
        calls(text)
        return len(text)

    class Module:
        async def __call__(self, text: str) -> int:
            return await length(text)

    module = cached(store=store, name="module")(Module())
    assert [await length("abc"), await length("abc"), await module("abc"), await module("abc")] == [3] * 4
    assert len(calls.calls) == 1
    assert inspect.iscoroutinefunction(length)
    assert (length.__name__, length.__doc__) == ("length", "How long.")


def test_a_hidden_coroutine_is_an_error(store: SqlStore) -> None:
    """A function that returns an awaitable without saying so would keep a coroutine."""

    class Hides:
        def __call__(self) -> Awaitable[int]:
            return asyncio.sleep(0, 1)

    with pytest.raises(ConfigError, match="async def"):
        cached(store=store, name="sneaky")(Hides())()


@pytest.mark.parametrize("result", [object(), [len], functools.partial(same)])
def test_a_result_that_cannot_come_back_is_an_error_when_it_is_kept(store: SqlStore, result: object) -> None:
    """Not another type at the second call: an error at the first, that names the function."""
    with pytest.raises(StoreError, match=r"odd: its result, .* cannot be stored"):
        cached(store=store, name="odd")(lambda: result)()
    assert store.select("hook_cache") == []


def test_a_failure_is_not_kept(store: SqlStore) -> None:
    """The next call tries again."""
    calls = Counted()

    @cached(store=store)
    def flaky() -> str:
        if calls() == 1:
            raise TimeoutError("once")
        return "well"

    with pytest.raises(TimeoutError):
        flaky()
    assert flaky() == flaky() == "well"
    assert len(calls.calls) == 2


def test_a_result_of_another_version_is_computed_again(store: SqlStore) -> None:
    """What cannot be read is no error and no answer."""
    keep = cached(store=store, name="old")(same)
    keep(1)
    (row,) = store.select("hook_cache")
    store.upsert("hook_cache", [{**row, "value": {"model": ["gone.away:Model", {}, {}, []]}}])
    assert keep(1) == 1
    assert store.select("hook_cache")[0]["value"] == 1


def test_an_outage_of_the_store_computes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Case 31: nothing is kept, nothing fails, the log says so; what could never be kept is an error all the same."""
    calls = Counted()
    caplog.set_level(logging.WARNING)
    (tmp_path / "file").write_text("")
    gone = SqlStore.at(tmp_path / "file" / "fc.sqlite")
    keep = cached(store=gone, name="out")(calls)
    assert [keep(1), keep(1)] == [1, 2]
    assert {"out: the result is not looked up", "out: the result is not kept"} <= {
        ":".join(record.getMessage().split(":")[:2]) for record in caplog.records
    }
    with pytest.raises(StoreError):
        cached(store=gone, name="odd")(object)()


def test_a_server_that_does_not_answer_computes() -> None:
    """Nobody listens at the address of the database."""
    with SqlStore("postgresql://nobody@127.0.0.1:1/none") as gone:
        assert cached(store=gone, name="out")(same)(3) == 3


def test_a_store_of_another_version_is_not_an_outage() -> None:
    """It would never be kept: somebody has to know."""
    with SqlStore() as empty, pytest.raises(SchemaMismatch):
        cached(store=empty, name="out")(same)(3)


def test_the_store_of_the_settings_is_opened_at_the_first_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decorating opens nothing; another data directory is another store."""
    calls = Counted()
    keep = supabase_cached(name="settings")(calls)
    for place, number in (("one", 1), ("two", 2), ("one", 1)):
        monkeypatch.setenv("FC_DATA_DIR", str(tmp_path / place))
        assert keep(0) == number
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]
    assert len(calls.calls) == 2


def test_calls_of_one_key_at_a_time_compute_once(store: SqlStore) -> None:
    """Sixteen threads ask for the same, while the first is still at work."""
    calls, asked = Counted(), threading.Barrier(16)

    @cached(store=store)
    def slow(key: str) -> list[str]:
        calls(key)
        threading.Event().wait(0.2)
        return [key]

    def ask(key: str) -> list[str]:
        asked.wait()
        return slow(key)

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, ["a", "b"] * 8))
    assert answers == [["a"], ["b"]] * 8
    assert len(calls.calls) == 2
    assert len({id(answer) for answer in answers}) == 16


@in_a_loop
async def test_tasks_that_ask_for_the_same_compute_once(store: SqlStore) -> None:
    """A hundred tasks, one computation, and an error is everybody's; what failed is tried again afterwards."""
    calls = Counted()

    @cached(store=store)
    async def slow(key: str) -> str:
        calls(key)
        await asyncio.sleep(0.05)
        if key == "bad":
            raise ValueError(key)
        return key

    assert await asyncio.gather(*(slow("a") for _ in range(100))) == ["a"] * 100
    failures = await asyncio.gather(*(slow("bad") for _ in range(5)), return_exceptions=True)
    assert [str(failure) for failure in failures] == ["bad"] * 5
    assert len(calls.calls) == 2


@in_a_loop
async def test_who_waits_goes_on_when_the_one_at_work_is_cancelled(store: SqlStore) -> None:
    """The first task is stopped in the middle: the second computes; a waiter that is stopped stops nobody else."""
    calls, started = Counted(), asyncio.Event()

    @cached(store=store)
    async def slow() -> int:
        number = calls()
        started.set()
        await asyncio.sleep(30 if number == 1 else 0.05)
        return number

    first = asyncio.create_task(slow())
    await started.wait()
    others = [asyncio.create_task(slow()) for _ in range(3)]
    await asyncio.sleep(0.05)
    others[0].cancel()
    first.cancel()
    ends = await asyncio.gather(first, *others, return_exceptions=True)
    assert [type(end) for end in ends] == [asyncio.CancelledError, asyncio.CancelledError, int, int]
    assert ends[2:] == [2, 2]


def test_a_function_that_asks_itself_is_told(store: SqlStore) -> None:
    """Recursion over other arguments works; over the same ones it would wait for ever."""

    @cached(store=store)
    def fibonacci(n: int) -> int:
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    @cached(store=store)
    def endless() -> int:
        return endless()

    assert fibonacci(30) == 832_040
    with pytest.raises(RecursionError):
        endless()
