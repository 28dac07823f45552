"""Call a benchmark on many inputs that are new to the process, between two marks: so long it takes by the host's clock.

The host says what the inputs follow from when the first mark has come. So nothing of them can be computed before, with
whatever of our own numbers a submission finds in this process; what it computes of them then takes time between the
marks. What is claimed of each is told; but for the rewriting of code and a few calls, which nobody can know beforehand,
nothing is described or prepared in that time, so that beside what is claimed there is little that could hide any work.
Nobody claims that tearing down is fast, so that is told apart.
"""

from __future__ import annotations

from random import Random
from time import perf_counter, sleep

from . import OWN
from .capture import Recorder, describer, watched_call
from .fresh import TIMED_INPUTS, TIMED_S, Inputs, NothingToMove, told_late, undisturbed, warm
from .report import TYPE_CHECKING
from .seeds import derived
from .suite import is_raw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .foreign import Node
    from .fresh import Input
    from .suite import Benchmark

__builtins__ = OWN

MOST_INPUTS = 2000
HEARD_S = 5e-4
"""After a mark there is a pause of so long, in which the host can note it, on the same core, too."""
EARLY = 8
"""The first call that is described is one of so many."""


def time_clocked(
    benchmark: Benchmark, twist: int, what: str, count: int = 0, *, ask: Callable[[], int], mark: Callable[[], None]
) -> tuple[list[float], list[float], Node]:
    """Seconds of setting each input up and calling the benchmark on it, with looks at what came of it; of tearing down.

    And what some of the calls computed. `count`: on so many inputs; 0: on as many as TIMED_S allows. `ask`: makes the
    mark before the first of them, and gives what they follow from; `mark`: called after the last.
    """
    if is_raw(benchmark):
        raise NothingToMove("its code runs in a process of its own")
    with undisturbed(Inputs(benchmark, what)) as inputs:
        warm(inputs, benchmark, twist)
        late = ask()
        made = list(_prepared(inputs, late))
        times = _timed(inputs, benchmark, made, count, Drawn(derived(late, "described")))
        heard(mark)
        return times


def heard(mark: Callable[[], None]) -> None:
    """Let the host note a mark."""
    mark()
    sleep(HEARD_S)


def _prepared(inputs: Inputs, twist: int) -> Iterator[tuple[Input, Recorder]]:
    for number in range(1, TIMED_INPUTS + 1):
        recorder = Recorder(describer(twist), late=True)
        yield inputs.prepare(twist, number, recorder), recorder


class Drawn:
    """Which calls are described: the more there were, the further from them, so that there is no end to it.

    Nothing tells beforehand which is the next one, to which the last one says nothing.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random
        self._next = 1 + int(self._random() * EARLY)

    def takes(self, number: int) -> bool:
        """Whether this call, counted from 1, is one of them; each is asked for once, in order."""
        if number < self._next:
            return False
        self._next += 1 + int(self._random() * 2 * number)
        return True


def _timed(
    inputs: Inputs, benchmark: Benchmark, made: list[tuple[Input, Recorder]], count: int, drawn: Drawn
) -> tuple[list[float], list[float], Node]:
    """In each turn every input once, with other values."""
    seconds: list[float] = []
    teardowns: list[float] = []
    values: Node = []
    started = perf_counter()
    for number in range(count or MOST_INPUTS):
        turn, at = divmod(number, len(made))
        one, recorder = made[at]
        tells = drawn.takes(number + 1)
        recorder.look_anew(tells=tells)
        teardowns.append(inputs.leave())
        setup_s = inputs.enter(one, turn)
        seconds.append(setup_s + watched_call(benchmark, recorder, inputs.hush))
        if tells:
            teardowns[-1] += inputs.leave()
            values += told_late(inputs, benchmark, one, recorder, f"call {number + 1}", turn)
        if not count and perf_counter() - started > TIMED_S:
            break
    return seconds, teardowns, values
