"""Call a benchmark on many inputs that are new to the process, between two marks: so long it takes by the host's clock.

What is claimed of each is told; nothing is described and nothing prepared in that time, so that beside what is claimed
there is little that could hide any work. Nobody claims that tearing down is fast, so that is told apart.
"""

from __future__ import annotations

from time import perf_counter, sleep

from .capture import Recorder, watched_call
from .fresh import TIMED_INPUTS, TIMED_S, Inputs, NothingToMove, describer, undisturbed, warm
from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .fresh import Input
    from .suite import Benchmark

MOST_INPUTS = 2000
HEARD_S = 5e-4
"""After a mark there is a pause of so long, in which the host can note it, on the same core, too."""


def time_clocked(
    benchmark: Benchmark, twist: int, what: str, count: int = 0, *, mark: Callable[[], None]
) -> tuple[list[float], list[float]]:
    """Seconds of setting each input up and calling the benchmark on it, with looks at what came of it; of tearing down.

    `count`: on so many; 0: on as many as TIMED_S allows. `mark`: called before the first of them, and after the last.
    """
    if type(benchmark).__name__ == "TimerawBenchmark":
        raise NothingToMove("its code runs in a process of its own")
    with undisturbed(Inputs(benchmark, what)) as inputs:
        warm(inputs, benchmark, twist)
        made = list(_prepared(inputs, twist))
        heard(mark)
        times = _timed(inputs, benchmark, made, count)
        heard(mark)
        return times


def heard(mark: Callable[[], None]) -> None:
    """Let the host note a mark."""
    mark()
    sleep(HEARD_S)


def _prepared(inputs: Inputs, twist: int) -> Iterator[tuple[Input, Recorder]]:
    for number in range(1, TIMED_INPUTS + 1):
        recorder = Recorder(describer(twist), tells=False)
        yield inputs.prepare(twist, number, recorder), recorder


def _timed(
    inputs: Inputs, benchmark: Benchmark, made: list[tuple[Input, Recorder]], count: int
) -> tuple[list[float], list[float]]:
    """In each turn every input once, with other values."""
    seconds: list[float] = []
    teardowns: list[float] = []
    started = perf_counter()
    for number in range(count or MOST_INPUTS):
        turn, at = divmod(number, len(made))
        one, recorder = made[at]
        recorder.look_anew()
        teardowns.append(inputs.leave())
        setup_s = inputs.enter(one, turn)
        seconds.append(setup_s + watched_call(benchmark, recorder, inputs.hush))
        if not count and perf_counter() - started > TIMED_S:
            break
    return seconds, teardowns
