"""Nothing of the code under test runs while a launch's clock is stopped."""

import gc
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from datasmith.workloads.inside.capture import Recorder
from datasmith.workloads.inside.describe import Describer
from datasmith.workloads.inside.fresh import undisturbed
from datasmith.workloads.inside.hush import Hush

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


def by_thread(ran: Ran) -> Callable[[], object]:
    """Runs all the time."""
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            ran.append("turn")

    thread = threading.Thread(target=work)
    thread.start()

    def undo() -> None:
        over.set()
        thread.join()

    return undo


def by_monitor(ran: Ran) -> Callable[[], object]:
    """Runs with each call, as a tool's callback."""
    monitoring = getattr(sys, "monitoring")  # noqa: B009 - not there before Python 3.12
    tool = next(number for number in range(6) if monitoring.get_tool(number) is None)
    monitoring.use_tool_id(tool, "test")
    monitoring.register_callback(tool, monitoring.events.PY_START, lambda *_: ran.append("start"))
    monitoring.set_events(tool, monitoring.events.PY_START)
    return lambda: monitoring.free_tool_id(tool)


WAYS = [by_collector, by_signal, by_profiler, by_thread, *([by_monitor] if hasattr(sys, "monitoring") else [])]


def busy() -> None:
    """What gives each of them its chance."""
    end = time.perf_counter() + 0.05
    while time.perf_counter() < end:
        kept = [[number] for number in range(2000)]
        assert len(kept) == 2000


@pytest.fixture
def _as_it_was() -> Iterator[None]:
    """No test leaves the collector off."""
    yield
    gc.enable()


@pytest.mark.usefixtures("_as_it_was")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_waits_for_its_chance_runs_before_and_after(way: Callable[[Ran], Callable[[], object]]) -> None:
    """The collector, a signal, a hook, a tool and a thread are all held off, and all come back."""
    ran: Ran = []
    undo = way(ran)
    hush = Hush()
    try:
        busy()
        before = len(ran)
        hush.begin()
        held = len(ran)
        busy()
        after = len(ran)
        hush.end()
        busy()
        again = len(ran)
    finally:
        hush.end()
        undo()
    assert before > 0
    assert after == held
    assert again > after


class Fresh:
    """Inputs that were set up, and never called."""

    def __init__(self) -> None:
        self.hush = Hush()


def test_a_process_is_as_it_was_after_other_inputs() -> None:
    """The collector is on, threads take turns and no signal is blocked, also where an input cannot be set up."""
    before = gc.isenabled(), sys.getswitchinterval(), signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with pytest.raises(ValueError, match="no"), undisturbed(Fresh()) as inputs:  # type: ignore[arg-type]
        inputs.hush.begin()
        raise ValueError("no")
    assert (gc.isenabled(), sys.getswitchinterval(), signal.pthread_sigmask(signal.SIG_BLOCK, ())) == before


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
