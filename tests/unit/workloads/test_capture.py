"""What a benchmark computes is seen although it throws it away."""

import ctypes
import gc
import json
import random
import sys
import textwrap
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from asv_runner.benchmarks.time import TimeBenchmark
from pydantic import JsonValue

from datasmith.workloads.captured import apart
from datasmith.workloads.inside.capture import Recorder, capture
from datasmith.workloads.inside.describe import Describer
from datasmith.workloads.inside.labels import SET_UP
from datasmith.workloads.outputs import difference

from .test_described_containers import Graph

SUITE = """
import functools
import random

def work(n):
    return [i * i for i in range(n)]

def time_dropped():
    "Its value is dropped."
    work(3)
    total = 0
    for i in range(4):
        total += sum(work(i))
    kept: int = len(work(5))

def time_asked():
    for value in work(3):
        if work(value):
            assert work(1) == [0]

def time_passed():
    for turn in work(3):
        pass

def time_returned():
    return work(2)

def logged(function):
    @functools.wraps(function)
    def wrapper(*given):
        return function(*given)
    return wrapper

class Suite:
    params = [3, 5]

    def setup(self, n):
        self.data = [random.random() for _ in range(n)]

    @logged
    def time_sorted(self, n):
        self.data.sort()

    def time_argument(self, n):
        def inner():
            return 7
        inner()

def time_asked_later():
    for at in work(3):
        pass
    work(7)

def time_raises():
    raise ValueError("no")
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of benchmarks, with its source in a file."""
    path = tmp_path / "suite_of_test_capture.py"
    path.write_text(SUITE)
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, path.stem, module)
    exec(compile(SUITE, str(path), "exec"), vars(module))
    return module


def benchmark(module: ModuleType, name: str, owner: str = "", index: int | None = None) -> TimeBenchmark:
    instance = getattr(module, owner)() if owner else None
    function = getattr(instance or module, name)
    made = TimeBenchmark(name, function, [function, instance, module] if instance else [function, module])
    if index is not None:
        made.set_param_idx(index)
    made.do_setup()
    return made


def values(said: dict[str, object]) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for label, node in said["values"]:  # type: ignore[attr-defined]
        found.setdefault(label, []).append(node)
    return found


def test_values_that_a_benchmark_drops_are_seen(suite: ModuleType) -> None:
    """Of statements, assignments and loops, each at its line; no name in the suite tells that anybody looks."""
    names = set(vars(suite))
    found = values(capture(benchmark(suite, "time_dropped"), 1))
    lines = SUITE.splitlines()
    at = {text.strip(): f"line {number}" for number, text in enumerate(lines, 1)}
    assert found[at["work(3)"]] == [["seq", "", 3, None, [["int", "0"], ["int", "1"], ["int", "4"]], None]]
    assert found[at["total += sum(work(i))"]] == [["int", text] for text in ("0", "0", "1", "5")]
    assert found[at["kept: int = len(work(5))"]] == [["int", "5"]]
    assert found["returned value"] == [["none"]]
    assert set(vars(suite)) == names


def test_values_that_are_only_asked_for_are_seen(suite: ModuleType) -> None:
    """What a loop goes over, conditions, assertions."""
    found = values(capture(benchmark(suite, "time_asked"), 1))
    lines = SUITE.splitlines()
    at = {text.strip(): f"line {number}" for number, text in enumerate(lines, 1)}
    assert found[at["for value in work(3):"]][0][2] == 3  # type: ignore[index]
    assert [node[2] for node in found[at["if work(value):"]]] == [0, 1, 4]  # type: ignore[index]
    assert found[at["assert work(1) == [0]"]] == [["bool", True]] * 2


def test_a_loop_that_ends_early_is_seen(suite: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is called nothing can be told but how many turns there were; what the loop does may leave no trace."""

    def told(size: int) -> JsonValue:
        monkeypatch.setattr(suite, "work", lambda n: iter(range(size)) if n == 3 else [0])
        return capture(benchmark(suite, "time_passed"), 1)["values"]  # type: ignore[return-value]

    assert difference(told(3), told(3)) is None
    assert difference(told(3), told(2)) is not None


def test_what_is_returned_and_what_is_changed_is_seen(suite: ModuleType) -> None:
    """A decorated method sorts its own data in place: the same in each capture with one seed."""
    assert values(capture(benchmark(suite, "time_returned"), 1))["returned value"][0][2] == 2  # type: ignore[index]
    state = random.getstate()
    first = capture(benchmark(suite, "time_sorted", "Suite", 1), 1)
    again = capture(benchmark(suite, "time_sorted", "Suite", 1), 1)
    other = capture(benchmark(suite, "time_sorted", "Suite", 1), 2)
    random.setstate(state)
    assert len(values(first)["self.data"][0][4]) == 5  # type: ignore[index]
    assert difference(first["values"], again["values"]) is None  # type: ignore[arg-type]
    assert difference(first["values"], other["values"]) is not None  # type: ignore[arg-type]


def test_what_was_there_before_the_call_is_told_beside(suite: ModuleType) -> None:
    """What set-up made, and parameters: no output."""
    outputs, made = apart(capture(benchmark(suite, "time_sorted", "Suite", 1), 1)["values"])  # type: ignore[arg-type]
    assert SET_UP not in json.dumps(outputs)
    data: Any = made.pop(SET_UP + "self.data")
    assert data[2] == 5 and sorted(data[4]) != data[4]
    assert made == {SET_UP + "argument 0": ["int", "5"]}


@pytest.mark.parametrize("turns", [3, 300])
def test_turns_of_loops_take_no_value_the_place(suite: ModuleType, turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted beside; what comes after them is told as before."""
    monkeypatch.setattr(suite, "work", lambda n: range(turns) if n == 3 else [n])
    found = values(capture(benchmark(suite, "time_asked_later"), 1))
    at = SUITE.splitlines().index("    for at in work(3):") + 1
    assert found[f"turns in line {at}"] == [["int", str(turns)]]
    assert found[f"line {at + 2}"] == [["seq", "", 1, None, [["int", "7"]], None]]


def test_the_collector_is_off_in_a_call_that_is_compared(suite: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in asv's loop: code must not see by it which of the two it is in."""
    seen: list[bool] = []
    monkeypatch.setattr(suite, "work", lambda _n: seen.append(gc.isenabled()))
    assert "values" in capture(benchmark(suite, "time_returned"), 1)
    assert seen == [False] and gc.isenabled()


def test_edges_take_nothing_its_place(suite: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is seen further in has a budget of its own: what comes after it is told as it was."""
    rows: dict[int, dict[int, object]] = {number: {at: {} for at in range(20)} for number in range(900)}
    monkeypatch.setattr(suite, "work", lambda n: Graph(rows) if n == 3 else [n])  # type: ignore[arg-type]
    records, parts = apart(capture(benchmark(suite, "time_asked_later"), 1)["values"])  # type: ignore[arg-type]
    assert '["seq", "", 1, null, [["int", "7"]], null]' in json.dumps(records)
    assert [name.partition(":")[0] for name in parts] == ["further in"]


class Keeper:
    """Shows nothing but what it is asked for."""

    def __init__(self) -> None:
        self._rows = [3, 1, 2]
        self._kept: list[int] | None = None

    def ordered(self) -> list[int]:
        """The rows, kept in order for the next time."""
        self._kept = self._kept or sorted(self._rows)
        return self._kept


def test_a_cache_in_private_parts_is_no_output(suite: ModuleType) -> None:
    """What an arm keeps for itself is not held against it; where base changes something, the arm has to."""

    def told(keeps: bool) -> object:
        holder = SimpleNamespace(keeper=Keeper())
        recorder = Recorder(Describer(1))
        before = recorder.state(holder, ())
        recorder.add("returned value", holder.keeper.ordered() if keeps else [1, 2, 3])
        recorder.changes(before, recorder.state(holder, ()))
        return json.loads(json.dumps(recorder.finish()))

    assert "self.keeper (inside)" in [label for label, _ in told(True)]  # type: ignore[attr-defined]
    assert difference(told(False), told(True)) is None  # type: ignore[arg-type]
    assert difference(told(True), told(False)) is not None  # type: ignore[arg-type]
    assert difference(told(True), told(True)) is None  # type: ignore[arg-type]


def test_a_line_that_is_passed_again_has_a_value_of_its_own(suite: ModuleType) -> None:
    """Also where all that a call told is compared as one value: the same calls agree, no others do."""

    def whole(*seen: int) -> list[object]:
        recorder = Recorder(Describer(1))
        for value in seen:
            recorder.keep(8, value)
        return [["input 1", json.loads(json.dumps(recorder.whole()))]]

    assert difference(whole(1, 2, 3), whole(1, 2, 3)) is None  # type: ignore[arg-type]
    for other in ((1, 2, 4), (0, 2, 3), (1, 3, 3), (1, 2)):
        assert difference(whole(1, 2, 3), whole(*other)) is not None  # type: ignore[arg-type]


def test_numbers_are_described_later_and_in_their_place(suite: ModuleType) -> None:
    """They hold no call up; a list is described before it is changed, and after the numbers before it."""
    grows = [1.5]
    recorder = Recorder(Describer(1), again=True)
    seen = (1, -0.0, True, 2j, grows, None, "text", 10**40)
    for line, value in enumerate(seen):
        recorder.keep(line, value)
    assert (recorder.seen, len(recorder.paused)) == (8, 2)
    grows.append(2.5)
    at_once = Describer(1)
    values = [[1.5] if value is grows else value for value in seen]
    expected = [[f"line {line}", at_once.tell(at_once.look(value))] for line, value in enumerate(values)]
    assert recorder.finish() == [*expected, ["values", ["int", "8"]]]
    recorder.look_anew(tells=True)
    assert recorder.finish() == [["values", ["int", "0"]]]


def test_a_number_that_is_written_to_afterwards_is_told_as_it_was(suite: ModuleType) -> None:
    """Whoever gave it away may still fill it in through memory, when the clock has stopped."""
    given = float("1.1021")
    recorder = Recorder(Describer(1))
    recorder.keep(1, given)
    ctypes.c_double.from_address(id(given) + 16).value = 7.5
    assert given == 7.5
    assert recorder.finish()[0] == ["line 1", ["float", "1.1021"]]


def test_what_only_counts_is_not_kept(suite: ModuleType) -> None:
    """Where nothing is told nothing waits to be; the next call may be told."""
    recorder = Recorder(Describer(1))
    recorder.look_anew(tells=False)
    recorder.keep(1, 2.5)
    assert recorder.finish()[0] == ["line 1", []]
    recorder.look_anew(tells=True)
    recorder.keep(1, 2.5)
    assert recorder.finish()[0] == ["line 1", ["float", "2.5"]]


def test_a_number_of_a_kind_of_its_own_is_looked_at_at_once(suite: ModuleType) -> None:
    """Its code may do work that was put off."""

    class Late(int):
        def __repr__(self) -> str:
            return "late"

    recorder = Recorder(Describer(1))
    recorder.keep(1, Late(3))
    assert len(recorder.paused) == 1


def test_functions_inside_a_benchmark_stay_as_they_are(suite: ModuleType) -> None:
    """What they return is seen where they are called."""
    found = values(capture(benchmark(suite, "time_argument", "Suite", 0), 1))
    assert [["int", "7"]] in found.values()
    assert "argument 0" not in found


def test_a_call_that_raises_says_so(suite: ModuleType) -> None:
    """As a reason, not as a value."""
    assert capture(benchmark(suite, "time_raises"), 1) == {"failed": "ValueError: no"}


def test_what_is_sent_is_json(suite: ModuleType) -> None:
    """One line of it."""
    text = json.dumps(capture(benchmark(suite, "time_dropped"), 1))
    assert textwrap.shorten(text, 20)
    assert "\n" not in text


def test_work_that_is_put_off_is_not_done_again_with_a_second_look() -> None:
    """What a first look takes beyond a later one is that work; both see the same."""

    class Lazy:
        __slots__ = ("cells",)

        def __getattr__(self, name: str) -> object:
            if name != "cells":
                raise AttributeError(name)
            time.sleep(0.02)
            self.cells = [1.0, 2.0]
            return self.cells

    recorder = Recorder(Describer(1), again=True)
    recorder.add("returned value", Lazy())
    assert recorder.looking_s > 0.02 > 2 * recorder.again_s > 0
    plain = Recorder(Describer(1))
    plain.add("returned value", [1.0, 2.0])
    assert plain.again_s == 0
    both = Recorder(Describer(1), again=True)
    both.add("returned value", [1.0, 2.0])
    assert both.finish() == plain.finish()


def test_who_is_called_cannot_see_that_it_is_told(suite: ModuleType) -> None:
    """Until the call is over nothing is described, before it neither; a number is told as it was given."""
    given, holder = float("1.1021"), SimpleNamespace(rows=[1.0])
    recorder = Recorder(Describer(1), late=True)
    recorder.look_anew(tells=True)
    assert recorder.state(holder, ()) == {"self.rows": []}
    recorder.keep(1, [1.5])
    recorder.keep(2, given)
    holder.rows.append(2.0)
    ctypes.c_double.from_address(id(given) + 16).value = 7.5
    assert (recorder.records, recorder.paused, recorder.looking_s) == ([], [], 0.0)
    recorder.call_is_over()
    recorder.over({}, recorder.state(holder, ()))
    holder.rows.pop()
    recorder.over_late(recorder.state(holder, ()))
    labels = [record[0] for record in recorder.finish()]  # type: ignore[index]
    assert labels == ["line 1", "line 2", "self.rows", "values"]
    assert recorder.finish()[1] == ["line 2", ["float", "1.1021"]]
    recorder.look_anew(tells=False)
    recorder.keep(1, [1.5])
    recorder.call_is_over()
    assert recorder.finish() == [["line 1", []], ["values", ["int", "1"]]]
