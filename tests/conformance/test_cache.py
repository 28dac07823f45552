"""What every Store keeps of a function's results."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from datasmith.github import PR
from datasmith.storage.base import Store
from datasmith.storage.cache import cached
from tests.conformance.stores import open_store

RESULTS: list[object] = [
    PR(repository="o/r", issue_number=1, merged_at=datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), labels=("a",)),
    {"b": 1, "a": (2.0, 1e22, float("inf")), 3: {None, True}},
    2**80,
    "\x00 \ud800 ü 😀",
    b"\x00\xff",
    None,
    "",
]


@pytest.fixture(scope="module", params=["file", "memory", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(request.param, tmp_path_factory.mktemp("store")) as opened:
        yield opened


@pytest.mark.parametrize("number", range(len(RESULTS)))
def test_a_result_comes_back_as_it_was(store: Store, number: int) -> None:
    """Case 31: the database changes neither value nor type; a second call does not compute."""
    calls = []

    @cached(store=store, name="result")
    def result(number: int) -> object:
        calls.append(number)
        return RESULTS[number]

    first, second = result(number), result(number)
    assert (second, type(second)) == (first, type(first))
    assert second == RESULTS[number]
    assert calls == [number]


def test_one_row_for_each_key(store: Store) -> None:
    """Entity, hook and arguments are the key: keeping again replaces."""
    value = PR(repository="o/r", issue_number=1)
    for name in ("title", "title", "length"):
        cached(store=store, name=name)(lambda pr: pr.title)(value)
    rows = [row for row in store.select("hook_cache", {"entity_key": "o/r:1"}) if row["hook_name"] != "result"]
    assert sorted(str(row["hook_name"]) for row in rows) == ["length", "title"]
