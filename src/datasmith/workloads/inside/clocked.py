"""Call a benchmark on many inputs that are new to the process, between two marks: so long it takes by the host's clock.

What is claimed of each is told; nothing is described and nothing prepared in that time, so that beside what is claimed
there is little that could hide any work. Nobody claims that tearing down is fast, so that is told apart. What a few of
the calls computed, which nobody can know beforehand, is described after the second mark: as it is then, so that what a
later call has written over is seen.
"""

from __future__ import annotations

from operator import itemgetter
from random import Random
from time import perf_counter, sleep

from .capture import Recorder, watched_call
from .fresh import TIMED_INPUTS, TIMED_S, Inputs, NothingToMove, describer, undisturbed, warm
from .report import TYPE_CHECKING
from .seeds import derived

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .foreign import Node
    from .fresh import Input
    from .suite import Benchmark

MOST_INPUTS = 2000
HEARD_S = 5e-4
"""After a mark there is a pause of so long, in which the host can note it, on the same core, too."""
MOST_KEPT = 3
"""Calls whose values are kept: memory for so many more has to be there."""


def time_clocked(
    benchmark: Benchmark, twist: int, what: str, count: int = 0, *, mark: Callable[[], None]
) -> tuple[list[float], list[float], Node]:
    """Seconds of setting each input up and calling the benchmark on it, with looks at what came of it; of tearing down.

    And what some of the calls computed. `count`: on so many inputs; 0: on as many as TIMED_S allows. `mark`: called
    before the first of them, and after the last.
    """
    if type(benchmark).__name__ == "TimerawBenchmark":
        raise NothingToMove("its code runs in a process of its own")
    with undisturbed(Inputs(benchmark, what)) as inputs:
        warm(inputs, benchmark, twist)
        made = list(_prepared(inputs, twist))
        heard(mark)
        drawn = _Drawn(derived(twist, "kept"))
        seconds, teardowns = _timed(inputs, benchmark, made, count, drawn)
        heard(mark)
        return seconds, teardowns, drawn.told()


def heard(mark: Callable[[], None]) -> None:
    """Let the host note a mark."""
    mark()
    sleep(HEARD_S)


def _prepared(inputs: Inputs, twist: int) -> Iterator[tuple[Input, Recorder]]:
    for number in range(1, TIMED_INPUTS + 1):
        recorder = Recorder(describer(twist), tells=False)
        yield inputs.prepare(twist, number, recorder), recorder


class _Drawn:
    """A few of all calls, drawn as they come; each is as likely as any other to be among them."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random
        self._kept: list[tuple[int, Callable[[], Node]]] = []
        self._offered = 0

    def offer(self, seen: Callable[[], Node]) -> None:
        """One more call."""
        self._offered += 1
        at = int(self._random() * self._offered)
        if len(self._kept) < MOST_KEPT:
            self._kept.append((self._offered, seen))
        elif at < MOST_KEPT:
            self._kept[at] = (self._offered, seen)

    def told(self) -> Node:
        """What those that are left computed."""
        return [[f"call {number}", seen()] for number, seen in sorted(self._kept, key=itemgetter(0))]


def _timed(
    inputs: Inputs, benchmark: Benchmark, made: list[tuple[Input, Recorder]], count: int, drawn: _Drawn
) -> tuple[list[float], list[float]]:
    """In each turn every input once, with other values."""
    seconds: list[float] = []
    teardowns: list[float] = []
    started = perf_counter()
    for number in range(count or MOST_INPUTS):
        turn, at = divmod(number, len(made))
        one, recorder = made[at]
        teardowns.append(inputs.leave())
        setup_s = inputs.enter(one, turn)
        seconds.append(setup_s + watched_call(benchmark, recorder, inputs.hush))
        drawn.offer(recorder.later())
        recorder.look_anew()
        if not count and perf_counter() - started > TIMED_S:
            break
    return seconds, teardowns
