"""Time calls that take less than a look at what they compute: the first on each new input, and later ones.

Nothing but the suite's own setup comes before the first one, and nothing is looked at before it is over: who is called
cannot tell it from the calls that are timed in the rounds. What all of them give is compared.
"""

from __future__ import annotations

from time import perf_counter

from . import OWN
from .capture import Recorder, describer, state_now
from .fresh import TIMED_INPUTS, TIMED_S, Inputs, NothingToMove, Times, told_late, undisturbed
from .report import TYPE_CHECKING
from .suite import is_raw

if TYPE_CHECKING:
    from .foreign import Node
    from .fresh import Input
    from .suite import Benchmark

__builtins__ = OWN

CALLS_AGAIN, SAMPLES_AGAIN = 10, 7
"""Calls on an input that was seen before: so many in a row, so often."""


def time_short(benchmark: Benchmark, twist: int, what: str, count: int = 0) -> tuple[Times, Node]:
    """How long the first call on each new input takes, and later ones, which find what is kept of it; what it gives.

    All code is rewritten beforehand, twice: the first call's gives what it computes, that of later ones is as it was.
    The first one finds code cold, and of some more than of other. So does the one after the same input was set up once
    more: what it takes beyond a later one is no work that was stored. `count`: on so many; 0: on as many as TIMED_S
    allows.
    """
    own = getattr(benchmark, "number", 0)
    if is_raw(benchmark) or 0 < own <= CALLS_AGAIN * SAMPLES_AGAIN:
        raise NothingToMove("it is not to be called so often on the same input")
    with undisturbed(Inputs(benchmark, what)) as inputs:
        return _time_short(inputs, benchmark, twist, count)


def _time_short(inputs: Inputs, benchmark: Benchmark, twist: int, count: int) -> tuple[Times, Node]:
    known = inputs.prepare(twist, 0, None)
    others = [_Short(inputs, twist, number) for number in range(1, 1 + (count or TIMED_INPUTS))]
    times = Times()
    values: Node = []
    started = perf_counter()
    for number, each in enumerate(others, 1):
        _warm(inputs, benchmark, known)
        values += each.visit(inputs, benchmark, times, f"input {number}")
        if not count and perf_counter() - started > TIMED_S:
            break
    return times, values


def _warm(inputs: Inputs, benchmark: Benchmark, known: Input) -> None:
    """Call the benchmark again and again: nothing but the setup of what comes next makes code cold then."""
    inputs.enter(known)
    inputs.hush.end()
    _later_s(benchmark)


class _Short:
    """One input, ready to be set up with code that gives what it computes, and with code as it was."""

    def __init__(self, inputs: Inputs, twist: int, number: int) -> None:
        self._recorder = Recorder(describer(twist), late=True)
        self._plain: Input = inputs.prepare(twist, number, None)
        self._giving: Input = inputs.prepare(twist, number, self._recorder)

    def visit(self, inputs: Inputs, benchmark: Benchmark, times: Times, label: str) -> Node:
        """Set the input up, call the benchmark and tell what came of it; then on and on, and once when set up anew."""
        setup_s, first_s = self._first(inputs, benchmark)
        self._recorder.call_is_over()
        self._recorder.over({}, state_now(benchmark, self._recorder))
        told = told_late(inputs, benchmark, self._giving, self._recorder, label)
        self._plain.put_code()
        inputs.hush.end()
        later_s = _later_s(benchmark)
        self._recorder.look_anew(tells=False)
        _, again_s = self._first(inputs, benchmark)
        times.add(setup_s, first_s, first_s - later_s, again_s - later_s)
        return told

    def _first(self, inputs: Inputs, benchmark: Benchmark) -> tuple[float, float]:
        """Seconds of setting the input up, and of a call at once, whose values the recorder holds."""
        setup_s = inputs.enter(self._giving)
        given, call = benchmark._build_params(), benchmark.func  # type: ignore[attr-defined]
        shared_s, started = inputs.hush.end(), perf_counter()
        returned = call(*given)
        seconds = perf_counter() - started + shared_s
        self._recorder.add("returned value", returned)
        return setup_s, seconds


def _later_s(benchmark: Benchmark) -> float:
    """Seconds of one of many calls."""
    return min(_calls_s(benchmark, CALLS_AGAIN) for _ in range(SAMPLES_AGAIN)) / CALLS_AGAIN


def _calls_s(benchmark: Benchmark, calls: int) -> float:
    """Seconds of some calls."""
    given, call = benchmark._build_params(), benchmark.func  # type: ignore[attr-defined]
    started = perf_counter()
    for _ in range(calls):
        call(*given)
    return perf_counter() - started
