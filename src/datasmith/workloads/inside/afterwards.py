"""Calls after those that are timed: results may be kept, and each value of an input counts.

An answer that is stored under a part of its question is right as long as no two questions share that part: all values
of other inputs are others. So there are some that differ in one value alone.
"""

from __future__ import annotations

from random import Random
from time import perf_counter

from . import OWN
from .capture import Recorder, describer, watched_call
from .report import TYPE_CHECKING
from .seeds import derived

if TYPE_CHECKING:
    from .foreign import Node
    from .fresh import Input, Inputs
    from .later import Held
    from .suite import Benchmark

__builtins__ = OWN

LATER_S, MOST_LATER = 0.1, 200
"""Calls that could write over what an earlier one gave: for so long, and so many at most."""
ALIKE = 4
"""Inputs that are one in all values but one."""


def afterwards(inputs: Inputs, benchmark: Benchmark, twist: int, held: Held) -> Node:
    """Records of calls that nobody times, on inputs of the first one's sizes."""
    recorder = Recorder(describer(twist))
    one = inputs.prepare(twist, 1, recorder, counts=True)
    called = _alike(inputs, benchmark, one, recorder, Random(derived(twist, "alike")))
    plain = inputs.prepare(twist, 1, None)
    started = perf_counter()
    for turn in range(1, MOST_LATER):
        try:
            _call(inputs, benchmark, plain, turn)
        except Exception:  # A faster arm comes to turns that base has no time for: what fails there nobody asked.
            break
        if perf_counter() - started > LATER_S:
            break
    return [*called, ["input 1 after later calls", held.compared()]]


def _call(inputs: Inputs, benchmark: Benchmark, made: Input, turn: int) -> None:
    inputs.enter(made, turn)
    inputs.hush.end()
    benchmark.func(*benchmark._build_params())  # type: ignore[attr-defined]


def _alike(inputs: Inputs, benchmark: Benchmark, one: Input, recorder: Recorder, drawn: Random) -> Node:
    """What comes of inputs that differ from another in one value; nothing where no values are computed."""
    found: Node = []
    for number in range(ALIKE):
        try:
            inputs.enter(one, MOST_LATER, drawn.random() if number else None)
            recorder.look_anew(tells=True, deep=number == 0)
            watched_call(benchmark, recorder, inputs.hush)
            found += recorder.told(f"alike {number}")
        except Exception as error:  # Such an input may be none: numbers that were in order are not.
            found.append([f"alike {number}", ["skip", "it raises " + type(error).__name__]])
        inputs.leave()
        if not one.values:
            break
    return found
