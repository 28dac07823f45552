"""A second clock: the fastest of many short samples, in base and in an arm; it is reported, and decides nothing.

A launch's median is what a call usually takes, and on a shared core that depends on who shares it. The fastest calls
are those that nobody disturbed: they find a change of 2 % in seconds where medians scatter by 20 %. They are also
easier to flatter than a median: code that is fast once in twenty calls would do. So no score is made of them.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from datasmith.docker.engine import Container
from datasmith.stats.lower_tail import FEWEST_BELOW, SHARE, TailRatio, tail_ratio
from datasmith.workloads.base import BASE, EXPERT, WARM_UP_ROUND, Measurement, Workload
from datasmith.workloads.calibrate import CALIBRATING, short_samples
from datasmith.workloads.launch import Order, launch
from datasmith.workloads.summary import LEAST_FLOOR, generator

SECONDS = 20.0
"""Wall time that the rounds of one workload may take; the last one is ended."""
FEWEST_ROUNDS = 20
"""With fewer, the fastest launch alone rules the quantile, and its interval is too narrow where launches differ; rounds
go on beyond the seconds for them, as long as MOST_SECONDS."""
MOST_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Fastest:
    """The ratio base / arm of the fastest samples and its interval, from so many rounds; or why there is none."""

    workload: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    rounds: int = 0
    reason: str | None = None

    @property
    def changed(self) -> bool:
        """True where the whole interval lies further from 1 than any measurement is trusted."""
        if self.low is None or self.high is None:
            return False
        return math.log(self.low) > LEAST_FLOOR or math.log(self.high) < -LEAST_FLOOR


def fastest(
    base: Container,
    arm: Container,
    workload: Workload,
    *,
    benchmark_dir: str,
    seconds: float = SECONDS,
    cpu: int | None = None,
    seed: int = 0,
) -> Fastest:
    """Launch a workload in two prepared arms, in turn and in random order, for so many seconds.

    Raises:
        EngineUnavailable: the engine is gone.
    """
    arms = {BASE: base, EXPERT: arm}
    found = _rounds(arms, workload, benchmark_dir, seconds=seconds, cpu=cpu, seed=seed)
    if isinstance(found, str):
        return Fastest(workload.id, reason=found)
    if len(found) < FEWEST_ROUNDS:
        why = f"{len(found)} undisturbed rounds are fewer than {FEWEST_ROUNDS}"
        return Fastest(workload.id, rounds=len(found), reason=why)
    samples = [[np.array(one[name].samples) for one in found] for name in arms]
    fewest = min(sum(map(len, rounds)) for rounds in samples)
    if fewest * SHARE < FEWEST_BELOW:
        return Fastest(workload.id, rounds=len(found), reason=f"{fewest} samples are too few: its calls are too long")
    seen: TailRatio = tail_ratio(samples[0], samples[1], rng=generator(seed, workload.id, "fastest"))
    return Fastest(workload.id, seen.ratio, seen.low, seen.high, seen.n)


def _rounds(
    arms: Mapping[str, Container], workload: Workload, benchmark_dir: str, *, seconds: float, cpu: int | None, seed: int
) -> list[dict[str, Measurement]] | str:
    """The launches of each round that the host disturbed in no arm; or why a launch gave no samples."""
    began = time.monotonic()
    pace = None
    for name in arms:
        warm = launch(arms[name], workload, CALIBRATING, Order(benchmark_dir, name, WARM_UP_ROUND, cpu))
        if warm.reply is None:
            return f"{name}: {warm.measurement.reason}"
        pace = pace or warm.pace(workload)
    assert pace is not None
    size, order = short_samples(pace), generator(seed, workload.id, "order of arms")
    found: list[dict[str, Measurement]] = []
    number = 0
    while (spent := time.monotonic() - began) < seconds or (len(found) < FEWEST_ROUNDS and spent < MOST_SECONDS):
        made: dict[str, Measurement] = {}
        for name in order.permutation(list(arms)):
            made[name] = launch(arms[name], workload, size, Order(benchmark_dir, name, number, cpu)).measurement
            if made[name].reason:
                return f"{name}: {made[name].reason}"
        found += [] if any(one.noisy for one in made.values()) else [made]
        number += 1
    return found
