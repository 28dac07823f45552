"""Calls too short to be looked at singly: the first on each new input is compared, and what is stored of it shows."""

import functools
import itertools
import sys
from collections.abc import Callable

import pytest
from asv_runner.benchmarks.time import TimeBenchmark

from datasmith.workloads.inside.fresh import TIMED_INPUTS, NothingToMove
from datasmith.workloads.inside.short import CALLS_AGAIN, SAMPLES_AGAIN, time_short

from .conftest import SUITE_NAME, Library, outputs
from .test_fresh_inputs import WITH_NUMBERS

MANY = CALLS_AGAIN * SAMPLES_AGAIN
CALLS = 2 + MANY
"""On each new input: the first, many, and one after another setting up; many also before it, on one that is known."""


@pytest.mark.parametrize(
    ("name", "owner", "index", "own"), [*WITH_NUMBERS, ("time_computed", "Computed", None, (0.5,))]
)
def test_short_calls_are_made_on_one_new_input_after_the_other(
    library: Library, made: Callable[..., TimeBenchmark], name: str, owner: str, index: int | None, own: tuple[int, ...]
) -> None:
    """The first on each is the first at all; what is called is warm from those on the input before."""
    times, values = time_short(made(name, owner, index), 12345, "everything")
    runs = [(given, len(list(calls))) for given, calls in itertools.groupby(library.asked)]
    inputs = [given for given, _ in runs]
    assert own not in inputs and len(set(inputs)) == 1 + TIMED_INPUTS
    assert set(inputs[::2]) == {inputs[0]} and len(inputs) == 2 * TIMED_INPUTS
    assert len(times.calls) == len(outputs(values)) == TIMED_INPUTS
    assert [calls for _, calls in runs] == [MANY, CALLS] * TIMED_INPUTS


@pytest.mark.parametrize("name", ["time_global", "time_kept", "time_told", "time_slot"])
def test_an_input_may_lie_anywhere(library: Library, made: Callable[..., TimeBenchmark], name: str) -> None:
    """In a global of the module, in the class's own container, in the library, in a slot: no call meets it early."""
    times, _ = time_short(made(name, "Elsewhere"), 77, "everything", 3)
    runs = [(given, len(list(calls))) for given, calls in itertools.groupby(library.asked)]
    assert len(times.calls) == 3
    assert [calls for _, calls in runs] == [MANY, CALLS] * 3
    assert len({given for given, _ in runs}) == 4


@pytest.mark.parametrize("entries", [1, None])
def test_what_is_stored_shows_in_the_first_call(
    library: Library, made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch, entries: int | None
) -> None:
    """It computes; later ones do not, nor that after another setting up: the last answer may be all that is kept."""
    stored = functools.lru_cache(entries)(lambda *given: sum(range(100_000)) + len(given))
    monkeypatch.setattr(library, "computed", stored)
    times, _ = time_short(made("time_literal"), 5, "everything", 3)
    assert len(times.calls) == 3
    for first, later, again in zip(times.looked, times.calls, times.again, strict=True):
        assert first > 5 * later and first > 5 * again


def test_what_the_first_calls_give_is_told(made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch) -> None:
    """A stale answer differs, also where only the first call on a single input gives it."""

    def told(stale_at: int) -> object:
        benchmark = made("time_seeded", "Suite", 0)
        asked: list[object] = []

        def work(given: object) -> object:
            if given not in asked:
                asked.append(given)
            return [asked[0] if len(asked) == stale_at else given]

        monkeypatch.setattr(sys.modules[SUITE_NAME], "work", work)
        return time_short(benchmark, 5, "everything", 3)[1]

    honest = told(0)
    assert told(0) == honest
    assert all(told(number) != honest for number in (2, 3, 4))


def test_what_the_first_calls_change_is_told(
    made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A benchmark's own attributes, beside what they are when the same input is set up once more."""

    def told(value: float) -> str:
        def changes(_given: object) -> None:
            benchmark.func.__self__.data[:] = [value, value]

        benchmark = made("time_computed", "Computed")
        monkeypatch.setattr(sys.modules[SUITE_NAME], "work", changes)
        return str(time_short(benchmark, 5, "everything", 3)[1])

    assert told(1.0) == told(1.0) != told(2.0)
    assert "self.data" in told(1.0)


def test_nothing_is_looked_at_before_the_first_call_is_over(made: Callable[..., TimeBenchmark]) -> None:
    """Two calls in one benchmark follow one another as they do in the rounds: a look in between would be seen."""
    from library import Lazy  # type: ignore[import-not-found]

    seen: list[int] = []
    benchmark = made("time_lazy_twice", "Twice")
    benchmark.func.__self__.seen = lambda: seen.append(Lazy.done)
    Lazy.done = 0
    time_short(benchmark, 5, "everything", 1)
    assert seen[: MANY + 1] == [0] * (MANY + 1), "neither before the first call nor in it"
    assert seen[MANY + 1] > 0, "and then it is looked at"


def test_what_cannot_be_called_again_is_not_timed_so(made: Callable[..., TimeBenchmark]) -> None:
    """A benchmark that wants one call for each setup; one without numbers has no other inputs."""
    with pytest.raises(NothingToMove):
        time_short(made("time_once", "Once"), 5, "everything")
    with pytest.raises(NothingToMove):
        time_short(made("time_nothing"), 5, "everything")
