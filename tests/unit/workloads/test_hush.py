"""Nothing of the code under test runs while a launch's clock is stopped."""

import gc
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from datasmith import process
from datasmith.workloads.inside import hush as hush_module
from datasmith.workloads.inside.capture import Recorder
from datasmith.workloads.inside.describe import Describer
from datasmith.workloads.inside.fresh import undisturbed
from datasmith.workloads.inside.hush import Hush

REPOSITORY = Path(__file__).parents[3]
Ran = list[str]


def by_collector(ran: Ran) -> Callable[[], object]:
    """Runs when garbage has been collected."""

    def collected(phase: str, _info: dict[str, int]) -> None:
        ran.append(phase)

    gc.callbacks.append(collected)
    return lambda: gc.callbacks.remove(collected)


def by_signal(ran: Ran) -> Callable[[], object]:
    """Runs every millisecond, as a signal's handler."""
    before = signal.signal(signal.SIGALRM, lambda *_: ran.append("signal"))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)

    def undo() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)

    return undo


def by_profiler(ran: Ran) -> Callable[[], object]:
    """Runs with each call."""
    before = sys.getprofile()
    sys.setprofile(lambda *_: ran.append("call"))
    return lambda: sys.setprofile(before)


def by_monitor(ran: Ran) -> Callable[[], object]:
    """Runs with each call, as a tool's callback."""
    monitoring = getattr(sys, "monitoring")  # noqa: B009 - not there before Python 3.12
    tool = next(number for number in range(6) if monitoring.get_tool(number) is None)
    monitoring.use_tool_id(tool, "test")
    monitoring.register_callback(tool, monitoring.events.PY_START, lambda *_: ran.append("start"))
    monitoring.set_events(tool, monitoring.events.PY_START)
    return lambda: monitoring.free_tool_id(tool)


WAYS = [by_collector, by_signal, by_profiler, *([by_monitor] if hasattr(sys, "monitoring") else [])]


def busy() -> None:
    """What gives each of them its chance."""
    end = time.perf_counter() + 0.05
    while time.perf_counter() < end:
        kept = [[number] for number in range(2000)]
        assert len(kept) == 2000


def hold_off(way: Callable[[Ran], Callable[[], object]]) -> None:
    """See `test_what_waits_for_its_chance_runs_before_and_after`."""
    ran: Ran = []
    undo = way(ran)
    hush = Hush()
    busy()
    before = len(ran)
    hush.begin()
    held = len(ran)
    busy()
    after = len(ran)
    assert hush.end() == 0.0
    busy()
    again = len(ran)
    undo()
    assert before > 0
    assert after == held
    assert again > after


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_waits_for_its_chance_runs_before_and_after(way: Callable[[Ran], Callable[[], object]]) -> None:
    """The collector, a signal, a hook and a tool are all held off, and all come back; in a process of one thread."""
    program = f"from {__name__} import hold_off, {way.__name__}; hold_off({way.__name__})"
    done = process.run([sys.executable, "-c", program], cwd=REPOSITORY, timeout=60)
    assert done.ok, done.error_text


@contextmanager
def another_thread() -> Iterator[None]:
    """One that is busy, as far as it is let."""
    over = threading.Event()
    turns = [0]

    def work() -> None:
        while not over.is_set():
            turns[0] += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def hushed_s() -> float:
    """What a hush of 50 ms and more counts."""
    hush = Hush()
    hush.begin()
    busy()
    return hush.end()


def test_the_clock_goes_on_where_there_are_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can hold them off: what passes counts as long as one of them is there, and not otherwise."""
    monkeypatch.setattr(hush_module, "_current_frames", only_ours())
    assert hushed_s() == 0.0
    with another_thread():
        assert hushed_s() > 0.05
    assert hushed_s() == 0.0


def test_a_thread_that_ends_meanwhile_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was there, and could do its work."""
    monkeypatch.setattr(hush_module, "_current_frames", only_ours())
    hush = Hush()
    with another_thread():
        hush.begin()
        busy()
    assert hush.end() > 0.05


def test_describing_counts_where_there_are_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread could do there what was put off; without one, describing is left out."""
    monkeypatch.setattr(hush_module, "_current_frames", only_ours())
    values = [[float(number)] for number in range(20_000)]
    alone = Recorder(Describer(1))
    alone.add("values", values)
    assert alone.telling_s > 0.001
    shared = Recorder(Describer(1))
    with another_thread():
        shared.add("values", values)
    assert shared.telling_s <= 0.0


def only_ours() -> Callable[[], Mapping[int, object]]:
    """All frames, without those of the threads that the test run has for itself (this one is ours)."""
    theirs = set(sys._current_frames()) - {threading.get_ident()}
    return lambda: {ident: frame for ident, frame in sys._current_frames().items() if ident not in theirs}


class Fresh:
    """Inputs that were set up, and never called."""

    def __init__(self) -> None:
        self.hush = Hush()


def test_a_process_is_as_it_was_after_other_inputs() -> None:
    """The collector is on and no signal is blocked, also where an input cannot be set up."""
    before = gc.isenabled(), signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with pytest.raises(ValueError, match="no"), undisturbed(Fresh()) as inputs:  # type: ignore[arg-type]
        inputs.hush.begin()
        raise ValueError("no")
    assert (gc.isenabled(), signal.pthread_sigmask(signal.SIG_BLOCK, ())) == before


class Asked:
    """Makes its cells with the look that is wanted, and takes 20 ms for that."""

    __slots__ = ("cells", "looks")

    def __init__(self, wanted: int) -> None:
        self.looks = -wanted

    def __getattr__(self, name: str) -> object:
        if name == "cells":
            self.looks += 1
            if self.looks == 0:
                time.sleep(0.02)
                self.cells = [1.0]
                return self.cells
        raise AttributeError(name)


@pytest.mark.parametrize(("look", "beside"), [(1, "looking_s"), (2, "again_s")])
def test_work_that_waits_for_a_later_look_is_not_left_out(look: int, beside: str) -> None:
    """What is put off until somebody looks, or looks again, shows in that look, which is held against base's."""
    recorder = Recorder(Describer(1), again=True)
    recorder.add("a factor", Asked(look))
    assert getattr(recorder, beside) > 0.02 > recorder.looking_s + recorder.again_s - getattr(recorder, beside)


def test_the_collector_does_not_run_while_values_are_told() -> None:
    """A description takes thousands of lists; what the collector runs is not run then, and is on again later."""
    ran: Ran = []
    values = [[float(number)] for number in range(900)]
    undo = by_collector(ran)
    try:
        gc.collect()
        recorder = Recorder(Describer(1))
        looked = recorder._describer.look(values)
        recorder._hush.begin()
        ran.clear()
        assert recorder._describer.tell(looked)
        assert ran == []
        recorder._hush.end()
        assert gc.isenabled()
    finally:
        undo()
