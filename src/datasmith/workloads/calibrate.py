"""How many calls one launch makes: decided on the host, from base's warm-up launch alone."""

from dataclasses import dataclass

from datasmith.workloads.base import Workload

SHORTEST_S = 0.1
"""A launch times calls for at least this long where its calls are short."""
LONGEST_S = 1.0
"""... and for no longer than this, however long its set-up takes, unless a single call does."""
OVERHEAD_FACTOR = 0.6
"""Seconds timed per second of start-up, unless a plan says otherwise.

Launches differ by about as much as the samples of one launch do. Many short launches then give a narrower interval than
few long ones in the same wall time: best are launches of about four to eight samples.
"""
LONG_FACTOR = 2.5
LONG_S = 5.0
"""The same of long launches: with the warm-ups and what is disturbed, less than half of the time is then overhead."""
MOST_SAMPLES = 30
FEWEST_SAMPLES = 3
"""... of calls that are not slow: their median leaves out a cold first one and a hiccup."""
SLOW_SAMPLE_S = 0.3
VERY_SLOW_SAMPLE_S = 1.0
SHORT_SAMPLE_S = 0.0005
"""Short enough to lie between two disturbances of a shared core, and a thousand times what reading the clock takes."""
MOST_SHORT_SAMPLES = 400
"""A launch has two samples of a call this slow, and one where it takes longer still."""


@dataclass(frozen=True, slots=True)
class LaunchSize:
    """asv_runner's number and repeat for one launch, and its warm-up time in seconds."""

    number: int
    repeat: int
    warmup_s: float

    @property
    def calls(self) -> int:
        """Timed calls of the launch."""
        return self.number * self.repeat


CALIBRATING = LaunchSize(number=0, repeat=0, warmup_s=0.0)
"""Asks the launch to find out for itself: only the discarded warm-up launch does."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What a warm-up launch showed: seconds per call, before each sample (setup), and outside asv_runner's loop.

    own_number, own_repeat, own_warmup_s: the benchmark's attributes after setup (0, 0, negative: it leaves the choice).
    """

    call_s: float
    setup_s: float
    overhead_s: float
    own_number: int
    own_repeat: int
    own_warmup_s: float


def launch_size(
    workload: Workload, pace: Pace, *, per_overhead: float = OVERHEAD_FACTOR, longest_s: float = LONGEST_S
) -> LaunchSize:
    """Calls per sample and samples per launch; `per_overhead` seconds timed per second of start-up, up to `longest_s`.

    Every arm makes the calls that base's pace asks for: a submission has no say in how often it is called, and a
    cost paid once per process weighs the same in every arm. By default a launch has no untimed warm-up: the median
    of its samples does not see a cold first one, and what is not timed is overhead; a benchmark's own warmup_time,
    number and repeat are honoured. Where it gives its repeat alone, and a launch is to time calls for longer than it
    takes to start, each of these samples is as long as that needs.
    """
    timed_s = min(longest_s, max(SHORTEST_S, per_overhead * pace.overhead_s))
    call_s = max(pace.call_s, 1e-9)
    fills = bool(pace.own_repeat) and per_overhead > 1.0
    samples = pace.own_repeat if fills else MOST_SAMPLES
    number = pace.own_number or max(1, round(_sample_s(workload, pace, timed_s, samples) / call_s))
    repeat = pace.own_repeat or _repeat(call_s * number, pace.setup_s, timed_s)
    return LaunchSize(number, repeat, max(0.0, pace.own_warmup_s))


def short_samples(pace: Pace) -> LaunchSize:
    """As many short samples as fill SHORTEST_S: some of them run undisturbed where no long one does.

    A benchmark's own number and repeat are honoured; a sample is no shorter than its setup, which cools caches.
    """
    call_s = max(pace.call_s, 1e-9)
    wanted_s = max(SHORT_SAMPLE_S, min(pace.setup_s, SHORTEST_S / FEWEST_SAMPLES))
    number = pace.own_number or max(1, round(wanted_s / call_s))
    repeat = pace.own_repeat or _filling(number * call_s, pace.setup_s, SHORTEST_S, MOST_SHORT_SAMPLES)
    return LaunchSize(number, repeat, max(0.0, pace.own_warmup_s))


def slowed_down(size: LaunchSize, base_call_s: float, call_s: float, limit_s: float) -> LaunchSize:
    """Fewer calls for an arm that is so much slower than base that it would run into the time limit."""
    if call_s * size.calls <= max(10.0 * base_call_s * size.calls, limit_s / 4.0):
        return size
    repeat = max(1, int(limit_s / 4.0 / (call_s * size.number)))
    number = size.number if repeat > 1 else max(1, min(size.number, int(limit_s / 4.0 / call_s)))
    return LaunchSize(number, min(size.repeat, repeat), size.warmup_s)


def _sample_s(workload: Workload, pace: Pace, timed_s: float, samples: int) -> float:
    """Seconds one of `samples` should take: asv's sample_time; longer for fewer, and so that setup does not rule."""
    longest = timed_s / FEWEST_SAMPLES
    return max(workload.sample_time_s, timed_s / samples, min(pace.setup_s, longest))


def _repeat(sample_s: float, setup_s: float, timed_s: float) -> int:
    """Samples of a launch: enough to fill its time, of which setup may take as much again."""
    if sample_s >= SLOW_SAMPLE_S:
        return 1 if sample_s >= VERY_SLOW_SAMPLE_S else 2
    return _filling(sample_s, setup_s, timed_s, MOST_SAMPLES)


def _filling(sample_s: float, setup_s: float, timed_s: float, most: int) -> int:
    return min(most, max(FEWEST_SAMPLES, round(2.0 * timed_s / (sample_s + max(sample_s, setup_s)))))
