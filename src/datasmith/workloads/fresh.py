"""Is a speed-up one of the code, or of the suite's own inputs? Decided from launches on inputs that nobody knew.

A submission can store what it computed in earlier calls, compute beforehand what the suite will ask for, write the
answers down, or put its work off until somebody looks at the result. All of these are fast on the suite's inputs in the
rounds, and none in launches that time each of several other inputs once, together with a look at the result.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median, stdev

from datasmith.workloads.base import BASE, EXPERT, Measurement

FRESH_ROUND = -4
"""Round of a launch on other inputs than the suite's."""
FRESH_LAUNCHES = 6
"""Launches of an arm whose first one does not show its speed-up; as many as a ratio needs, and one."""
KEPT = 0.5
"""A claim is believed that keeps this share of its ln ratio on fresh inputs."""
ALLOWANCE_S = 2e-5
"""Taken off an arm's calls before they are judged: a single call on inputs never seen costs a few microseconds more.

Calls that take base less than this are not judged at all.
"""
MOST_TELLING = 0.5
"""Telling may take this share of base's call; beyond it the scatter of telling would hide the call."""
MEDIAN_ERROR = 2.0 * 1.25
"""Two standard errors of a median, per standard deviation over the root of n."""


def fresh_ratios(measurements: Iterable[Measurement], arm: str) -> list[float]:
    """ln(t_base / t_arm) of each pair of launches on fresh inputs, in the order in which they were made."""
    return [math.log(base / other) for base, other in zip(*_both(measurements, arm), strict=False)]


def _lenient(measurements: Iterable[Measurement], arm: str) -> list[float]:
    """The same with the allowance taken off the arm's seconds."""
    pairs = zip(*_both(measurements, arm), strict=False)
    return [math.log(base / max(other - ALLOWANCE_S, ALLOWANCE_S / 100)) for base, other in pairs]


def _both(measurements: Iterable[Measurement], arm: str) -> tuple[list[float], list[float]]:
    times: Mapping[str, list[float]] = {BASE: [], arm: []}
    for launch in measurements:
        if launch.round == FRESH_ROUND and launch.arm in times and launch.samples:
            times[launch.arm].append(median(launch.samples))
    return times[BASE], times[arm]


def looks_stored(measurements: Sequence[Measurement], arm: str, claimed: float) -> bool:
    """True where the launches seen so far keep less than half of a claimed ln ratio: worth a few launches more."""
    ratios = _lenient(measurements, arm)
    return bool(ratios) and median(ratios) < KEPT * claimed


def is_stored(measurements: Sequence[Measurement], arm: str, claimed: float, expert_claimed: float) -> bool:
    """True where a speed-up certainly is one of the suite's own inputs, and the expert's there is not one as well.

    `claimed`, `expert_claimed`: ln ratios in the rounds; the expert's is 0 where it may be noise. A cache that merged
    code has, too, is a good one.
    """
    ratios = _lenient(measurements, arm)
    if claimed <= 0 or len(ratios) < FRESH_LAUNCHES - 1 or not looks_stored(measurements, arm, claimed):
        return False
    if median(ratios) + MEDIAN_ERROR * stdev(ratios) / math.sqrt(len(ratios)) >= KEPT * claimed:
        return False
    return not (expert_claimed > 0 and looks_stored(measurements, EXPERT, expert_claimed))


def telling_s(samples: Sequence[float], calls: Sequence[float]) -> float | None:
    """Seconds that base needs to tell what a call computed; None where they are too many to be taken off another arm's.

    `samples`: calls with telling; `calls`: the same ones alone.
    """
    told, alone = median(sample - call for sample, call in zip(samples, calls, strict=True)), median(calls)
    return told if told <= MOST_TELLING * alone else None


def fresh_samples(samples: Sequence[float], calls: Sequence[float], told_s: float | None) -> tuple[float, ...]:
    """Seconds per call of an arm: with telling, less what base needs for that; alone where that is not known."""
    return tuple(calls) if told_s is None else tuple(max(sample - told_s, 1e-9) for sample in samples)
