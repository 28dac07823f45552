"""What a launch between two marks calls a benchmark on: hundreds of inputs, each looked at, and none of them known."""

import sys
from collections.abc import Callable

import pytest
from asv_runner.benchmarks.time import TimeBenchmark

from datasmith.workloads.inside import clocked
from datasmith.workloads.inside.clocked import time_clocked
from datasmith.workloads.inside.foreign import Node
from datasmith.workloads.inside.fresh import TIMED_INPUTS

from .conftest import SUITE_NAME, Library

LATE = 987654321
"""What the host says to the first mark."""


def clocked_with(
    benchmark: TimeBenchmark, twist: int, what: str, count: int = 0, *, mark: Callable[[], object], late: int = LATE
) -> tuple[list[float], list[float], Node]:
    """Both marks are made by `mark`."""

    def ask() -> int:
        mark()
        return late

    return time_clocked(benchmark, twist, what, count, ask=ask, mark=lambda: mark() and None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "owner", "index"), [("time_seeded", "Suite", 0), ("time_computed", "Computed", None)])
def test_many_inputs_are_clocked_and_none_comes_again(
    library: Library, made: Callable[..., TimeBenchmark], name: str, owner: str, index: int | None
) -> None:
    """Between the two marks each call asks for something new: what a launch has kept does not help in it."""
    misses: list[int] = []
    benchmark = made(name, owner, index)
    seconds, teardowns, _ = clocked_with(benchmark, 12345, "texts", 40, mark=lambda: misses.append(library.misses))
    assert len(seconds) == len(teardowns) == 40 and min(*seconds, *teardowns) > 0
    assert len(misses) == 2 and misses[1] - misses[0] == 40


def test_numbers_of_the_code_are_clocked_as_often_as_there_are_others(
    library: Library, made: Callable[..., TimeBenchmark]
) -> None:
    """Of a number that stands in the code there are five others in a launch: in the next turn these come again."""
    misses: list[int] = []
    clocked_with(made("time_literal"), 12345, "texts", 40, mark=lambda: misses.append(library.misses))
    assert misses[1] - misses[0] == TIMED_INPUTS


def test_what_is_clocked_is_torn_down_with_its_own_parameters(made: Callable[..., TimeBenchmark]) -> None:
    """Each input, before the next is set up; the seconds of that are told."""
    benchmark = made("time_closed", "Closed", 0)
    seconds, teardowns, _ = clocked_with(benchmark, 12345, "texts", 8, mark=lambda: None)
    assert len(seconds) == len(teardowns) == 8
    assert len(benchmark.func.__self__.opened) == 1


def test_all_that_is_clocked_is_looked_at(made: Callable[..., TimeBenchmark]) -> None:
    """Nothing is described there, and yet work that was put off is done on each input, before the second mark."""
    from library import Lazy  # type: ignore[import-not-found]

    seen: list[tuple[int, int]] = []
    clocked_with(made("time_lazy"), 12345, "everything", 7, mark=lambda: seen.append((Lazy.done, Lazy.made)))
    (done, begun), (done_after, begun_after) = seen
    assert done_after - done == begun_after - begun >= 7 * 3000


def test_base_clocks_as_many_inputs_as_time_allows(
    made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no number is asked for: one at least, and no more than there may be."""
    monkeypatch.setattr(clocked, "TIMED_S", 0.0)
    assert len(clocked_with(made("time_seeded", "Suite", 0), 1, "texts", mark=lambda: None)[0]) == 1
    monkeypatch.setattr(clocked, "TIMED_S", 60.0)
    monkeypatch.setattr(clocked, "MOST_INPUTS", 12)
    assert len(clocked_with(made("time_seeded", "Suite", 0), 1, "texts", mark=lambda: None)[0]) == 12


def test_nothing_of_what_is_clocked_follows_from_what_was_known_before(
    library: Library, made: Callable[..., TimeBenchmark]
) -> None:
    """Two launches of the same number that are answered differently share no input but that of the warm-up."""
    misses: list[int] = []
    for late in (1, 2):
        clocked_with(
            made("time_seeded", "Suite", 0), 7, "texts", 20, mark=lambda: misses.append(library.misses), late=late
        )
    assert misses[3] - misses[2] == misses[1] - misses[0] == 20


Work = Callable[[object], object]


def told(made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch, work: Work, late: int = LATE) -> object:
    """What a launch between marks says that this work computes."""
    monkeypatch.setattr(sys.modules[SUITE_NAME], "work", work)
    return clocked_with(made("time_seeded", "Suite", 0), 12345, "texts", 40, mark=lambda: None, late=late)[2]


def test_what_some_of_the_calls_computed_is_told(
    made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a few that the host's answer draws: the same ones in each arm, and others in the next launch."""
    kept = told(made, monkeypatch, lambda given: [given])
    assert isinstance(kept, list)
    assert 3 <= len(kept) <= 15
    assert kept == told(made, monkeypatch, lambda given: [given])
    assert len({str(told(made, monkeypatch, lambda given: [given], late)) for late in range(5)}) == 5


def test_who_computes_nothing_after_a_few_calls_is_seen(
    made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has looked at what came of it, as it thinks; numbers are told as well as what holds them."""

    def until_call(last: int, *, wrapped: bool) -> Work:
        calls: list[object] = []

        def work(given: object) -> object:
            calls.append(given)
            result = given if len(calls) < last else 0.5
            return [result] if wrapped else result

        return work

    for wrapped in (True, False):
        honest = told(made, monkeypatch, until_call(10**9, wrapped=wrapped))
        assert honest != told(made, monkeypatch, until_call(15, wrapped=wrapped))


def test_what_a_call_changes_is_told_as_well(
    made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A benchmark's own attributes, of which nothing is returned."""

    def told_of(value: float) -> object:
        def changes(_given: object) -> None:
            benchmark.func.__self__.data[:] = [value, value]

        benchmark = made("time_computed", "Computed")
        monkeypatch.setattr(sys.modules[SUITE_NAME], "work", changes)
        return clocked_with(benchmark, 12345, "everything", 40, mark=lambda: None)[2]

    assert told_of(1.0) == told_of(1.0) != told_of(2.0)


def test_any_call_may_be_described_and_few_are() -> None:
    """Of two hundred, in each of 2,000 launches: the first ones often, and no stretch never."""
    times = dict.fromkeys(range(1, 201), 0)
    for seed in range(2000):
        drawn = clocked.Drawn(seed)
        for number in times:
            times[number] += drawn.takes(number)
    assert 4 < sum(times.values()) / 2000 < 8
    assert min(sum(times[at + step] for step in range(10)) for at in range(1, 191)) > 60
