"""How long a call is held up by what is noted of it: so much comes off."""

from __future__ import annotations

from time import perf_counter

from .capture import MOST_RECORDS, Recorder
from .describe import Describer
from .hush import Hush

KEPT_VALUES, KEPT_SAMPLES, PAUSED_SAMPLES = 300, 7, 15
"""So many are sent through a recorder, so often, to see how long that takes at least: a pause would count for each.

And so many that hold a call up, beside it.
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
        self._paused_s = _recording_s(recorder, MOST_RECORDS)
        self._keep_s = min(_keeping_s(recorder) for _ in range(KEPT_SAMPLES))
        hush.end()

    def of(self, recorder: Recorder) -> float:
        """What they took of all that a recorder has seen just now."""
        paused_s = min(self._paused_s, _recording_s(_recorder(), PAUSED_SAMPLES))
        return recorder.seen * self._keep_s + recorder.paused * paused_s


def _recorder() -> Recorder:
    return Recorder(Describer(0, thorough=True), again=True)


def _recording_s(recorder: Recorder, times: int) -> float:
    """Of a value that is described, beside looking at it and telling: the middle of some times."""
    found: list[float] = []
    for _ in range(times):
        started, before_s = perf_counter(), recorder.telling_s + recorder.looking_s
        recorder.keep(0, [0.5])
        found.append(perf_counter() - started - (recorder.telling_s + recorder.looking_s - before_s))
    return sorted(found)[times // 2]


def _keeping_s(recorder: Recorder) -> float:
    """Of one that is only counted, on the average: the recorder has all that it describes."""
    started = perf_counter()
    for _ in range(KEPT_VALUES):
        recorder.keep(0, None)
    return (perf_counter() - started) / KEPT_VALUES
