"""Calls that nobody times: results may be kept, each value of an input counts, and what is to be written is there."""

import functools
import json
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from asv_runner.benchmarks.time import TimeBenchmark

from datasmith.workloads.captured import Capture, Merged, apart, unlike
from datasmith.workloads.inside import fresh
from datasmith.workloads.inside.capture import capture
from datasmith.workloads.inside.later import MOST_BYTES, MOST_HELD, Held
from datasmith.workloads.inside.moves import APART, Draw, Moves
from datasmith.workloads.inside.pauses import Pauses
from datasmith.workloads.outputs import Difference, difference

from .conftest import Library, outputs
from .test_described_containers import Graph

time_fresh = functools.partial(fresh.time_fresh, pauses=Pauses())


def _unlike(ours: list[object], theirs: list[object]) -> Difference | None:
    return difference(ours, theirs)  # type: ignore[arg-type]


def _written_over(values: list[object]) -> list[object]:
    """What the record of a launch says of each value after a later call."""
    last: Any = values[-1]
    label, (_, _, parts, _) = last
    assert label == "input 1 after later calls"
    return [node[0] for _, node in parts]


@pytest.mark.parametrize("many", [1, 20])
def test_a_result_that_a_later_call_writes_over_is_told(
    library: Library, made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    """Each call alone gives what base does; where base hands out the same list each time, so may others.

    `many` lists for each size, in turn: the later calls are of the first one's sizes.
    """
    shared: dict[object, list[list[object]]] = {}

    def fill(*given: object) -> list[object]:
        ring = shared.setdefault(given, [[] for _ in range(many)])
        ring.append(ring.pop(0))
        ring[-1][:] = [*given, len(library.asked)]
        return ring[-1]

    monkeypatch.setattr(library, "computed", lambda *given: [*given, len(library.asked)])
    _, ours = time_fresh(made("time_literal"), 5, "everything", 3)
    library.asked.clear()
    monkeypatch.setattr(library, "computed", fill)
    _, theirs = time_fresh(made("time_literal"), 5, "everything", 3)
    assert (_written_over(ours), _written_over(theirs)) == (["text", "text"], ["skip", "text"])
    assert _unlike(ours[:-1], theirs[:-1]) is None
    unlike = _unlike(ours, theirs)
    assert unlike is not None and unlike.expected == "as it was" and "later calls write over it" in unlike.found
    assert _unlike(theirs, ours) is None


def test_a_call_that_leaves_time_for_one_input_is_called_afterwards_too(
    made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless it takes base long; an arm does what base did, however long it takes itself."""
    monkeypatch.setattr(fresh, "TIMED_S", 0.0)
    told = [time_fresh(made("time_literal"), 5, "everything", *count)[1] for count in ((), (1,))]
    monkeypatch.setattr(fresh, "SLOW_S", 0.0)
    arm: Any = time_fresh(made("time_literal"), 5, "everything", 1)[1]
    assert told[0] == told[1] == arm
    assert [label for label, _ in arm] == ["input 1", "alike 0", "input 1 after later calls"]
    slow = time_fresh(made("time_literal"), 5, "everything")[1]
    assert slow == time_fresh(made("time_literal"), 5, "everything", 1, later=False)[1] == arm[:1]


@pytest.mark.parametrize(
    "given",
    [
        lambda *_: 1.5,
        lambda *_: iter([1.5]),
        lambda *_: memoryview(bytearray(8)),
        lambda *_: numpy.frombuffer(bytearray(16)),
        lambda *_: numpy.float64(1.5),
        lambda *_: sqlite3.connect(":memory:"),
        lambda *_: None,
    ],
)
def test_nothing_that_has_to_be_given_back_is_held(
    library: Library, made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch, given: Callable[..., object]
) -> None:
    """A view of memory that the suite closes afterwards; what nobody can write to is told as it was."""
    monkeypatch.setattr(library, "computed", given)
    monkeypatch.setattr(Held, "describe", lambda held: held_so_far.extend(held._values))
    held_so_far: list[tuple[str, object]] = []
    monkeypatch.setattr(Held, "compared", lambda _held: ["none"])
    time_fresh(made("time_literal"), 5, "everything", 2)
    assert [value for _, value in held_so_far] == [None, None]


def test_bytes_that_are_filled_anew_are_no_bytes(
    library: Library, made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A buffer that each call fills, and a view of it, are told from bytes of their own."""
    buffer = bytearray(8)

    def filled(*given: object) -> bytearray:
        buffer[:] = hash((given, len(library.asked))).to_bytes(8, "little", signed=True)
        return buffer

    told = {}
    for name, give in {
        "bytes": lambda *given: bytes(filled(*given)),
        "buffer": filled,
        "view": lambda *given: memoryview(filled(*given)),
    }.items():
        library.asked.clear()
        monkeypatch.setattr(library, "computed", give)
        told[name] = time_fresh(made("time_literal"), 5, "everything", 2)[1]
    assert _unlike(told["bytes"], told["bytes"]) is None
    assert _unlike(told["bytes"][:-1], told["buffer"][:-1]) is None
    assert _unlike(told["bytes"], told["buffer"]) is not None
    assert _unlike(told["bytes"], told["view"]) is not None


def test_arrays_that_lie_in_others_are_held_and_no_more_than_some(
    library: Library, made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of a table that is filled anew each time is such a result; a very large one is left alone."""
    held = Held(1)
    table = numpy.zeros(40)
    held.take("a", table[3:10], ["array"])
    held.take("b", numpy.zeros(MOST_BYTES // 8 + 1), ["array"])
    for _ in range(MOST_HELD - 2):
        held.take("c", [1], ["seq"])
    assert [label for label, _ in held._values][:3] == ["a, value 1", "b, value 2", "c, value 3"]
    assert held._values[1][1] is None
    held.describe()
    table[5] = 1.0
    told: Any = held.compared()
    assert [node[0] for _, node in told[2]] == ["skip", "text", *["text"] * (MOST_HELD - 2)]


def test_of_many_values_those_that_are_held_are_drawn() -> None:
    """Any of them, in each launch others, and in one the same for base and an arm."""

    def held_of(seed: int) -> list[int]:
        held = Held(seed)
        for number in range(1, 101):
            held.take("a", [number], ["seq"])
        assert [label for label, _ in held._values] == [f"a, value {value[0]}" for _, value in held._values]  # type: ignore[index]
        return [value[0] for _, value in held._values]  # type: ignore[index]

    assert held_of(5) == held_of(5) != held_of(6)
    assert len(set(held_of(5))) == MOST_HELD
    often = Counter(number for seed in range(400) for number in held_of(seed))
    assert min(often[number] for number in range(1, 101)) > 30


def test_an_attribute_that_is_added_later_writes_nothing_over() -> None:
    """As a cached property does."""
    held, result = Held(1), SimpleNamespace(value=1.5)
    held.take("a", result, ["object"])
    held.describe()
    result.area = 3.0
    told: Any = held.compared()
    assert told[2][0][1][0] == "text"


def test_signals_reach_the_calls_that_nobody_times(library: Library, made: Callable[..., TimeBenchmark]) -> None:
    """What is kept from running before the clock does is kept no longer."""
    masks = []
    library.computed = lambda *_: masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, []))  # type: ignore[assignment]
    time_fresh(made("time_literal"), 5, "everything", 2)
    assert len(masks) > 10
    assert not any(signal.SIGALRM in mask for mask in masks)


def test_what_a_suite_fills_itself_is_its_own(made: Callable[..., TimeBenchmark]) -> None:
    """The next input's is another list."""
    _, values = time_fresh(made("time_filled", "Filled"), 5, "everything", 2)
    assert set(_written_over(values)) == {"text"}


def test_an_answer_that_is_stored_under_a_part_of_its_question_is_wrong(
    library: Library, made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All values of two inputs are others, so that nothing was ever found under such a key, but for these inputs."""
    monkeypatch.setattr(library, "computed", lambda *rows: sum(rows))
    _, ours = time_fresh(made("time_sum", "Table"), 5, "everything", 2)
    monkeypatch.setattr(library, "computed", lambda *rows: kept.setdefault(rows[:2], sum(rows)))
    kept: dict[tuple[object, ...], object] = {}
    _, theirs = time_fresh(made("time_sum", "Table"), 5, "everything", 2)
    ours, theirs = outputs(ours), outputs(theirs)
    labels = [label for label, _ in ours]
    assert labels == ["input 1", "input 2", *(f"alike {at}" for at in range(4)), "input 1 after later calls"]
    assert _unlike(ours[:3], theirs[:3]) is None
    unlike = _unlike(ours, theirs)
    assert unlike is not None and unlike.path.startswith("alike ")


def test_what_takes_long_to_see_is_seen_of_one_input(
    library: Library, made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the first of those that are alike; the nodes of the graph are the same."""

    def told(weight: float) -> Capture:
        monkeypatch.setattr(library, "computed", lambda *_: Graph({1: {2: weight}}))
        records: Any = time_fresh(made("time_sum", "Table"), 5, "everything", 2)[1]
        values, parts = apart(records)
        return Capture(values, parts=parts)

    ours, other = told(0.5), told(0.7)
    assert unlike(ours, told(0.5), Merged()) is None
    found = unlike(ours, other, Merged())
    assert found is not None and found.path.startswith("further in: alike 0")
    assert unlike(ours, other, Merged((told(0.6),))) is None, "it may be another one each time"


@pytest.mark.parametrize("but", [0.0, 0.5, 0.999])
def test_one_value_is_another_and_all_others_are_the_same(but: float) -> None:
    """Of lists and single numbers, and one number of an array; seeds stay. How many there are is known by then."""
    moves = Moves(Draw(5, 1))

    def values(turn: int, but: float | None = None) -> list[float]:
        moves.begin(turn, but)
        table = moves.value(numpy.ones(6))
        assert isinstance(table, numpy.ndarray)
        made: Any = [*moves.value([1.5, 2.5]), moves.value(3.5), moves.seed(7), *table]  # type: ignore[misc]
        return [float(value) for value in made]

    first = values(3)
    moves.begin()
    other, again = values(3, but), values(3)
    assert moves.values == 4
    assert again == first
    changed = [(ours, theirs) for ours, theirs in zip(first, other, strict=True) if ours != theirs]
    assert [theirs / ours for ours, theirs in changed] == [pytest.approx(APART)]


def test_files_that_are_not_written_are_missed(library: Library, made: Callable[..., TimeBenchmark]) -> None:
    """A benchmark that writes gives nothing back: on the suite's own inputs, and on others."""

    def told() -> tuple[list[object], list[object]]:
        kept: Any = capture(made("time_written"), 1)["values"]
        return kept, time_fresh(made("time_written"), 5, "everything", 2)[1]

    ours, again = told(), told()
    library.writes = False
    for mine, same, other in zip(ours, again, told(), strict=True):
        assert '["written", ' in json.dumps(mine)
        assert _unlike(mine, same) is None
        unlike = _unlike(mine, other)
        assert unlike is not None and "files" in unlike.path
        assert _unlike(other, mine) is None
