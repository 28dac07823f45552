"""How long a call is held up by what is noted of it: so much comes off."""

from __future__ import annotations

from bisect import bisect_right
from time import perf_counter

from . import OWN
from .capture import MOST_RECORDS, Recorder
from .describe import Describer
from .hush import Hush

__builtins__ = OWN

KEPT_VALUES, KEPT_SAMPLES, PAUSED_SAMPLES = 300, 7, 15
"""So many are sent through a recorder, so often, to see how long that takes at least: a pause would count for each.

And so many that hold a call up, beside it.
"""
LARGE, PARTS, LARGE_SAMPLES = (100, 400), (100, 900), 7
"""A value of which so many are described holds a call up for longer, as caches are cold then: as long as a list with so
many parts does, which is held up so often.
"""


class Pauses:
    """Seconds that it takes a recorder to take a value, and to prepare for describing it: they come off each call.

    Describing itself is done while the clock stands still. They are found out before any code of the arm runs, which
    could make it look as if they were long: beside five hundred threads they are. A core is not always as fast, so once
    more beside each call: what is less counts.
    """

    def __init__(self) -> None:
        hush = Hush()
        hush.begin()
        recorder = _recorder()
        small_s = _paused_s(recorder, [0.5], MOST_RECORDS)
        self._keep_s = min(_keeping_s(recorder) for _ in range(KEPT_SAMPLES))
        large = [[number + 0.5 for number in range(parts)] for parts in PARTS]
        self._paused_s = [small_s, *(_paused_s(_recorder(), value, LARGE_SAMPLES) for value in large)]
        self._state_s = [_state_s(value) for value in ([0.5], *large)]
        hush.end()

    def of(self, recorder: Recorder) -> float:
        """What they took of all that a recorder has seen just now."""
        pace = min(1.0, _paused_s(_recorder(), [0.5], PAUSED_SAMPLES) / self._paused_s[0])
        sizes = [0, *(bisect_right(LARGE, size) for size in recorder.paused)]
        paused_s = sum(self._paused_s[size] for size in sizes[1:]) + recorder.states * self._state_s[max(sizes)]
        return recorder.seen * self._keep_s + pace * paused_s


def _recorder() -> Recorder:
    return Recorder(Describer(0, thorough=True), again=True)


def _paused_s(recorder: Recorder, value: object, times: int) -> float:
    """Of a value that is described, beside looking at it and telling: the middle of some times."""
    found: list[float] = []
    for _ in range(times):
        started, before_s = perf_counter(), recorder.telling_s + recorder.looking_s
        recorder.keep(0, value)
        found.append(perf_counter() - started - (recorder.telling_s + recorder.looking_s - before_s))
    return sorted(found)[times // 2]


def _state_s(value: object) -> float:
    """Of finding what a call can change, where that is nothing, when such a value was described: the middle again."""
    found: list[float] = []
    for _ in range(LARGE_SAMPLES):
        recorder = _recorder()
        recorder.keep(0, value)
        started = perf_counter()
        recorder.state(None, ())
        found.append(perf_counter() - started)
    return sorted(found)[LARGE_SAMPLES // 2]


def _keeping_s(recorder: Recorder) -> float:
    """Of one that is only counted, on the average: the recorder has all that it describes."""
    started = perf_counter()
    for _ in range(KEPT_VALUES):
        recorder.keep(0, None)
    return (perf_counter() - started) / KEPT_VALUES
