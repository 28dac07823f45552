"""The paired estimate: from the log ratios of a workload's rounds to a ratio, its interval and its p-value."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from datasmith.errors import ConfigError

Floats = NDArray[np.float64]

RESAMPLES = 2000
"""Bootstrap resamples: the ends of a 95 % interval rest on 50 of them each."""
EXACT_ROUNDS = 16
"""Up to this many rounds every one of the 2**R sign patterns is looked at."""
FLIPS = 20_000
"""Random sign patterns above that."""
_CHUNK = 1 << 14


@dataclass(frozen=True, slots=True)
class PairedEstimate:
    """ratio = exp(median of d), its interval [low, high], the two-sided permutation p, and n rounds."""

    ratio: float
    low: float
    high: float
    p: float
    n: int

    @property
    def half_width(self) -> float:
        """Half of the interval as a share of the ratio: 0.02 reads "plus or minus 2 %"."""
        return (self.high - self.low) / (2.0 * self.ratio)


def estimate(log_ratios: Floats, *, confidence: float = 0.95, rng: np.random.Generator) -> PairedEstimate:
    """Estimate a ratio from one log ratio ln(t_base / t_arm) per round.

    The round is the unit of the bootstrap: samples within a process share its luck (addresses, hash seeds, the
    core's state), so their scatter says nothing about the next launch. Fewer than two rounds have no interval; the
    caller must not ask.

    Raises:
        ConfigError: fewer than two rounds, or a value that is not finite.
    """
    data = checked(log_ratios)
    low, high = interval(data, confidence=confidence, rng=rng)
    ratio = float(np.exp(np.median(data)))
    return PairedEstimate(ratio=ratio, low=low, high=high, p=sign_flip_p(data, rng=rng), n=len(data))


def interval(log_ratios: Floats, *, confidence: float = 0.95, rng: np.random.Generator) -> tuple[float, float]:
    """The interval of the ratio alone, without the test: what a stopping rule may look at.

    Raises:
        ConfigError: fewer than two rounds, or a value that is not finite.
    """
    data = checked(log_ratios)
    low, high = np.quantile(resampled_medians(data, rng), tails(confidence, len(data)))
    return float(np.exp(low)), float(np.exp(high))


def checked(log_ratios: Floats) -> Floats:
    """The values as a one-dimensional array of at least two finite numbers.

    Raises:
        ConfigError: they are not; a missing round is left out by the caller, never written as NaN.
    """
    data = np.asarray(log_ratios, dtype=np.float64)
    if data.ndim != 1 or len(data) < 2:
        raise ConfigError(f"log_ratios: needs one value per round and two rounds or more, got shape {data.shape}")
    if not np.isfinite(data).all():
        raise ConfigError("log_ratios: every value must be finite (a missing round is left out, not NaN)")
    return data


def resampled_medians(data: Floats, rng: np.random.Generator, resamples: int = RESAMPLES) -> Floats:
    """The medians of `resamples` draws, with replacement, of as many rounds as there are."""
    picks = rng.integers(0, len(data), size=(resamples, len(data)))
    medians: Floats = np.median(data[picks], axis=1)
    return medians


def sign_flip_p(log_ratios: Floats, *, rng: np.random.Generator) -> float:
    """Two-sided p of "no effect": under it each round's log ratio could as well have had the other sign.

    The statistic is the sum of signed ranks of |d|. A plain sum has the same power where noise is Gaussian (95 %
    of it, to be exact), but launch noise has heavy tails: one hiccup of 30 % would hide eleven rounds that agree on
    2 %. Ranks are multiples of one half, so sums compare exactly. All 2**R patterns up to 16 rounds (the smallest p is
    2 / 2**R), random ones above with (hits + 1) / (draws + 1).
    """
    data = checked(log_ratios)
    ranks = _ranks(np.abs(data))
    seen = abs(float(np.sum(np.sign(data) * ranks)))
    if len(data) <= EXACT_ROUNDS:
        return _exact_hits(ranks, seen) / float(2 ** len(data))
    hits = sum(_random_hits(ranks, seen, rng, min(_CHUNK, FLIPS - start)) for start in range(0, FLIPS, _CHUNK))
    return (hits + 1) / (FLIPS + 1)


def tails(confidence: float, rounds: int) -> list[float]:
    """Where to cut the resampled medians: a little outside the nominal quantiles.

    A resample of n values scatters by sqrt((n - 1) / n) too little; cutting at sqrt(n / (n - 1)) times the normal
    deviate gives that back. In simulation (normal, Laplace and t3 noise, 8 to 24 rounds) the 95 % interval then
    covers in 93.5 to 96 % of cases.

    Raises:
        ConfigError: `confidence` does not lie between 0 and 1.
    """
    if not 0.0 < confidence < 1.0:
        raise ConfigError(f"confidence: {confidence} must lie between 0 and 1 (example: 0.95)")
    normal = NormalDist()
    outside = normal.cdf(-normal.inv_cdf((1.0 + confidence) / 2.0) * math.sqrt(rounds / (rounds - 1)))
    return [outside, 1.0 - outside]


def _ranks(sizes: Floats) -> Floats:
    """Ranks from 1, ties sharing their mean rank; a size of zero ranks 0, as it has no sign."""
    _, inverse, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2.0)[inverse]
    return ranks * (sizes > 0)


def _exact_hits(ranks: Floats, seen: float) -> int:
    total, hits = 2 ** len(ranks), 0
    bits = np.arange(len(ranks))
    for start in range(0, total, _CHUNK):
        patterns = np.arange(start, min(start + _CHUNK, total))[:, None] >> bits & 1
        hits += int(np.count_nonzero(np.abs((2.0 * patterns - 1.0) @ ranks) >= seen))
    return hits


def _random_hits(ranks: Floats, seen: float, rng: np.random.Generator, draws: int) -> int:
    signs = 2.0 * rng.integers(0, 2, size=(draws, len(ranks))) - 1.0
    return int(np.count_nonzero(np.abs(signs @ ranks) >= seen))
