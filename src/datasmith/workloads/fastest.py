"""A second clock: the fastest of many short samples, in base and in an arm; it is reported, and decides nothing.

A launch's median is what a call usually takes, and on a shared core that depends on who shares it. The fastest calls
are those that nobody disturbed: they find a change of 2 % in seconds where medians scatter by 20 %. They are also
easier to flatter than a median: code that is fast once in twenty calls would do. So no score is made of them.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from datasmith.docker.engine import Container
from datasmith.stats.lower_tail import FEWEST_BELOW, SHARE, TailRatio, tail_ratio
from datasmith.workloads.base import BASE, EXPERT, WARM_UP_ROUND, Measurement, Workload
from datasmith.workloads.calibrate import CALIBRATING, LaunchSize, short_samples
from datasmith.workloads.launch import Order, launch
from datasmith.workloads.summary import LEAST_FLOOR, generator

SECONDS, STEP_S, MOST_SECONDS = 20.0, 10.0, 50.0
"""Wall time after which the rounds of one workload are first looked at, and again, and after which they end."""
FEWEST_ROUNDS = 20
"""With fewer, the fastest launch alone rules the quantile, and its interval is too narrow where launches differ."""
PRECISE = LEAST_FLOOR
"""Half the width of an interval of ln ratio that ends the rounds: what lies so near to 1 is never called changed."""


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
    def half_width(self) -> float:
        """Half the interval of ln ratio; infinite where there is none."""
        return math.log(self.high / self.low) / 2 if self.low and self.high else math.inf

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
    """Launch a workload in two prepared arms, in turn and in random order, until its ratio is known precisely.

    After `seconds` and every ten seconds more it ends where its interval is ±0.5 % or less, after 50 in any case. How
    wide it is decides, not where it lies, so looking again and again calls nothing changed by chance.

    Raises:
        EngineUnavailable: the engine is gone.
    """
    arms = {BASE: base, EXPERT: arm}
    order = partial(Order, benchmark_dir, cpu=cpu)
    began = time.monotonic()
    size = _size(arms, workload, order)
    if isinstance(size, str):
        return Fastest(workload.id, reason=size)
    rounds = _Rounds(arms, workload, size, order, seed)
    seen = Fastest(workload.id)
    for limit in np.arange(seconds, max(seconds, MOST_SECONDS) + STEP_S / 2, STEP_S):
        failed = rounds.go_on(began + limit)
        if failed:
            return Fastest(workload.id, reason=failed)
        seen = rounds.ratio()
        if seen.half_width <= PRECISE:
            break
    return seen


def _size(arms: Mapping[str, Container], workload: Workload, order: Callable[..., Order]) -> LaunchSize | str:
    """How large launches are, by base's pace, after one of each arm that warms up; or why one gave no samples."""
    sizes = []
    for name in arms:
        warm = launch(arms[name], workload, CALIBRATING, order(arm=name, round=WARM_UP_ROUND))
        pace = warm.pace(workload)
        if pace is None:
            return f"{name}: {warm.measurement.reason}"
        sizes.append(short_samples(pace))
    return sizes[0]


class _Rounds:
    """The launches of each round that the host disturbed in no arm."""

    def __init__(
        self,
        arms: Mapping[str, Container],
        workload: Workload,
        size: LaunchSize,
        order: Callable[..., Order],
        seed: int,
    ) -> None:
        self._arms, self._workload, self._size, self._order, self._seed = arms, workload, size, order, seed
        self._turns = generator(seed, workload.id, "order of arms")
        self._number = 0
        self._found: list[dict[str, Measurement]] = []

    def go_on(self, end: float) -> str | None:
        """Make rounds until the clock shows `end`; why a launch gave no samples."""
        while time.monotonic() < end:
            made: dict[str, Measurement] = {}
            for name in self._turns.permutation(list(self._arms)):
                order = self._order(arm=name, round=self._number)
                made[name] = launch(self._arms[name], self._workload, self._size, order).measurement
                if made[name].reason:
                    return f"{name}: {made[name].reason}"
            self._found += [] if any(one.noisy for one in made.values()) else [made]
            self._number += 1
        return None

    def ratio(self) -> Fastest:
        """What the rounds say so far."""
        workload, rounds = self._workload.id, len(self._found)
        if rounds < FEWEST_ROUNDS:
            why = f"{rounds} undisturbed rounds are fewer than {FEWEST_ROUNDS}"
            return Fastest(workload, rounds=rounds, reason=why)
        samples = [[np.array(one[name].samples) for one in self._found] for name in self._arms]
        fewest = min(sum(map(len, one)) for one in samples)
        if fewest * SHARE < FEWEST_BELOW:
            return Fastest(workload, rounds=rounds, reason=f"{fewest} samples are too few: its calls are too long")
        seen: TailRatio = tail_ratio(samples[0], samples[1], rng=generator(self._seed, workload, "fastest"))
        return Fastest(workload, seen.ratio, seen.low, seen.high, seen.n)
