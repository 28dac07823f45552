"""Operations of one's own, by name."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import cast

import pytest

from datasmith.errors import ConfigError, ModelUnavailable
from datasmith.github import PR, HookRegistry, render_problem_statement
from datasmith.storage.sql import SqlStore

PULL = PR(repository="astropy/astropy", issue_number=16222, body="We keep an lru_cache.")


@pytest.fixture
def store() -> Iterator[SqlStore]:
    """An empty store; and no hook is registered, before or after."""
    HookRegistry.clear()
    with SqlStore() as opened:
        opened.migrate()
        yield opened
    HookRegistry.clear()


class Module:
    """An object that is called, like a module of DSPy."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *args: object, **kwargs: object) -> tuple[object, ...]:
        self.calls += 1
        return (*args, *kwargs.values())


def test_the_second_call_of_a_hook_reads(store: SqlStore) -> None:
    """Case 30: the function is not called again for the same arguments; `force` computes again, and keeps that."""
    numbers = iter(range(10))
    HookRegistry.register("next", lambda pr: next(numbers), store=store)
    assert [HookRegistry.call("next", PULL) for _ in range(3)] == [0, 0, 0]
    assert HookRegistry.call("next", PULL, force=True) == 1
    assert HookRegistry.call("next", PULL) == 1
    (row,) = store.select("hook_cache")
    assert (row["entity_key"], row["hook_name"]) == ("astropy/astropy:16222", "next")


def test_unknown_hooks_are_named(store: SqlStore) -> None:
    """Case 30: the message says which there are; after `clear` there is none, and nothing kept is lost."""
    HookRegistry.register("first", lambda: 1, store=store)
    assert HookRegistry.call("first") == 1
    with pytest.raises(ConfigError, match=r"no hook 'second' \(registered: first\)"):
        HookRegistry.call("second")
    HookRegistry.clear()
    with pytest.raises(ConfigError, match="registered: none"):
        HookRegistry.call("first")
    assert len(store.select("hook_cache")) == 1
    with pytest.raises(ConfigError, match="needs a name"):
        HookRegistry.register("", lambda: 1)


def test_any_callable_is_a_hook(store: SqlStore) -> None:
    """Case 31: an object that is called; what register returns is the same hook as a function."""
    module = Module()
    direct = HookRegistry.register("module", module, store=store)
    assert HookRegistry.call("module", PULL, name="x") == direct(PULL, name="x") == (PULL, "x")
    assert module.calls == 1


def test_hooks_of_one_function_do_not_share(store: SqlStore) -> None:
    """Case 31: names keep results apart."""
    module = Module()
    for name in ("one", "two"):
        HookRegistry.register(name, module, store=store)
        assert HookRegistry.call(name, 1) == (1,)
    assert module.calls == 2


def test_async_hooks(store: SqlStore) -> None:
    """Case 31: what an async hook gives is awaited, twice, and computed once."""
    calls = []

    async def count(pr: PR) -> int:
        calls.append(pr)
        return len(calls)

    async def ask() -> int:
        return await cast("Awaitable[int]", HookRegistry.call("count", PULL))

    HookRegistry.register("count", count, store=store)
    assert (asyncio.run(ask()), asyncio.run(ask())) == (1, 1)


def test_a_statement_waits_for_its_extractor(store: SqlStore) -> None:
    """Case 25: while the extractor fails there is no statement, least of all of the raw body; later it is made."""
    answers: list[str | Exception] = [ModelUnavailable("no answer"), "The parser is slow."]

    def extract(_pr: PR) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    HookRegistry.register("extract", extract, store=store)
    HookRegistry.register("statement", statement, store=store)
    with pytest.raises(ModelUnavailable):
        HookRegistry.call("statement", PULL)
    assert store.select("hook_cache") == []
    made = str(HookRegistry.call("statement", PULL))
    assert "The parser is slow." in made
    assert "lru_cache" not in made
    assert {row["hook_name"] for row in store.select("hook_cache")} == {"extract", "statement"}


def statement(pr: PR) -> str:
    """A hook that asks another."""
    return render_problem_statement(pr, initial_observations=str(HookRegistry.call("extract", pr)))


def test_types_are_those_of_the_function(store: SqlStore) -> None:
    """Whoever uses types keeps them: the registered function has the signature of the given one."""

    def double(number: int) -> int:
        return 2 * number

    doubled: Callable[[int], int] = HookRegistry.register("double", double, store=store)
    assert doubled(4) == 8
    assert doubled.__name__ == "double"
