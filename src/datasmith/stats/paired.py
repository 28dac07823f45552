"""The paired estimate: from the log ratios of a workload's rounds to a ratio, its interval and its p-value."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from datasmith.errors import ConfigError

Floats = NDArray[np.float64]

RESAMPLES = 2000
"""Resamples where several bootstraps are added up: the ends of a 95 % interval rest on 50 of them each."""


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


def estimate(log_ratios: Floats, *, confidence: float = 0.95) -> PairedEstimate:
    """Estimate a ratio from one log ratio ln(t_base / t_arm) per round.

    The round is the unit: samples within a process share its luck (addresses, hash seeds, the core's state), so their
    scatter says nothing about the next launch. Fewer than two rounds have no interval; the caller must not ask.

    Raises:
        ConfigError: as of `interval`.
    """
    data = checked(log_ratios)
    low, high = _ends(data, confidence)
    ratio = float(np.exp(middle(data)))
    return PairedEstimate(ratio=ratio, low=low, high=high, p=_sign_flip_p(data), n=len(data))


def interval(log_ratios: Floats, *, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of the ratio alone, without the test.

    Its ends lie between order statistics of the rounds (Hettmansperger and Sheather 1986, Statistics & Probability
    Letters 4:75): how often two of these hold the median is known exactly, whatever the noise, and between the pair
    that holds it often enough and the next narrower one is interpolated. In simulation (normal, Laplace, t3,
    exponential and lognormal noise, 6 to 96 rounds) a 95 % interval covers in 94 to 96 % of cases, where how many
    rounds there are was not decided by how wide it was: see `expected_half_width`. Of fewer than six rounds no two hold
    the median that often: their range does in 93.75 % of cases for five, 87.5 % for four.

    Raises:
        ConfigError: fewer than two rounds, a value that is not finite, or `confidence` is not between 0 and 1.
    """
    return _ends(checked(log_ratios), confidence)


def _ends(data: Floats, confidence: float) -> tuple[float, float]:
    data = np.sort(data)
    at, share = _place(len(data), confidence)
    low, high = (ends[at] + share * (ends[at + 1] - ends[at]) for ends in (data, data[::-1]))
    return float(np.exp(low)), float(np.exp(high))


def expected_half_width(log_ratios: Floats, *, confidence: float = 0.95) -> float:
    """Half of the interval, as a share, that normal noise which scatters as these rounds do has on average.

    This is what a stopping rule may look at. One that waits for the interval itself to be narrow ends when its ends
    happen to lie close together, and then it misses more often: in up to 9 % of cases instead of 5. How far all rounds
    are from their median, on average, says little of where their median happens to lie.

    Raises:
        ConfigError: as of `interval`.
    """
    data = checked(log_ratios)
    scatter = float(np.abs(data - middle(data)).sum()) / (len(data) - 1)
    return NormalDist().inv_cdf(1.0 - _tail(confidence)) * math.pi / 2.0 * scatter / math.sqrt(len(data))


def _tail(confidence: float) -> float:
    """The share beyond each end."""
    if not 0.0 < confidence < 1.0:
        raise ConfigError(f"confidence: {confidence} must lie between 0 and 1 (example: 0.95)")
    return (1.0 - confidence) / 2.0


@lru_cache(maxsize=256)
def _place(rounds: int, confidence: float) -> tuple[int, float]:
    """The rank (from 0) of the last order statistic that is far enough out, and the share of the way to the next one.

    That the median is below the order statistic of a rank, or above its mirror image, has a binomial chance.
    """
    tail = _tail(confidence)
    outside, left_out = 0, 0.0
    while left_out + (step := math.comb(rounds, outside) / 2**rounds) <= tail:
        outside, left_out = outside + 1, left_out + step
    if not outside:
        return 0, 0.0
    short = (tail - left_out) / step
    return outside - 1, (rounds - outside) * short / (outside + (rounds - 2 * outside) * short)


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


def middle(data: Floats) -> float:
    """The median. numpy's, which takes any array by any axis, is ten times as slow for a dozen numbers."""
    ordered = np.sort(data)
    return float((ordered[(len(data) - 1) // 2] + ordered[len(data) // 2]) / 2.0)


def resampled_medians(data: Floats, rng: np.random.Generator, resamples: int = RESAMPLES) -> Floats:
    """The medians of `resamples` draws, with replacement, of as many rounds as there are.

    Which of the sorted rounds lie in the middle of a draw has a known distribution, so only that is drawn. The
    same draw of the negated rounds gives the negated medians: which arm is named first makes no difference.
    """
    if middle(data) < 0.0:
        return -resampled_medians(-data, rng, resamples)
    ordered = np.sort(data)
    low, high, ends = _middles(len(data))
    drawn = np.searchsorted(ends, rng.random(resamples), side="right")
    medians: Floats = (ordered[low[drawn]] + ordered[high[drawn]]) / 2.0
    return medians


@lru_cache(maxsize=256)
def _middles(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Pairs of ranks (from 0) that can be the two in the middle of n draws out of n; up to where, of 0 to 1, each goes.

    That is as far beyond the last one as it is likely; the last pair goes to 1.

    With an odd n both are the same one. Else, for i < j, half of the draws is i at most, with at least one i, and the
    other half is j or more, with at least one j; what is left of the chance of i belongs to the pair (i, i).
    """
    half = (n + 1) // 2
    at_most = np.arange(n + 1) / n
    reached = np.array([math.fsum(_binomial(n, k, share) for k in range(half, n + 1)) for share in at_most])
    alone = np.diff(reached)
    if n % 2:
        ranks = np.arange(n)
        return ranks, ranks, np.cumsum(alone)[:-1]
    below = np.diff(at_most**half)
    above = np.diff(at_most**half)[::-1]
    pairs = np.triu(math.comb(n, half) * np.outer(below, above), 1)
    np.fill_diagonal(pairs, np.maximum(alone - pairs.sum(1), 0.0))
    low, high = np.nonzero(pairs)
    return low, high, np.cumsum(pairs[low, high])[:-1]


def _binomial(n: int, k: int, share: float) -> float:
    return math.comb(n, k) * share**k * (1.0 - share) ** (n - k)


def sign_flip_p(log_ratios: Floats) -> float:
    """Two-sided p of "no effect": under it each round's log ratio could as well have had the other sign.

    The statistic is the sum of signed ranks of |d|. A plain sum has the same power where noise is Gaussian (95 %
    of it, to be exact), but launch noise has heavy tails: one hiccup of 30 % would hide eleven rounds that agree on
    2 %. p is exact: all 2**R patterns of signs are counted, by adding one round after the other to the distribution of
    the sum. Its smallest value is 2 / 2**R.
    """
    return _sign_flip_p(checked(log_ratios))


def _sign_flip_p(data: Floats) -> float:
    values: list[float] = data.tolist()
    signs = [(value > 0.0) - (value < 0.0) for value in values]
    ranks = _doubled_ranks([abs(value) for value in values])
    seen = abs(sum(sign * rank for sign, rank in zip(signs, ranks, strict=True)))
    return _chance_of(tuple(sorted(rank for rank in ranks if rank)), seen)


@lru_cache(maxsize=4096)
def _chance_of(ranks: tuple[int, ...], seen: int) -> float:
    """That the sum of signed ranks is as far from zero as `seen`, or farther."""
    chances = _chances(ranks)
    as_far = np.abs(2 * np.arange(len(chances)) - (len(chances) - 1)) >= seen
    return min(1.0, float(chances[as_far].sum()))


@lru_cache(maxsize=256)
def _chances(ranks: tuple[int, ...]) -> Floats:
    """How likely each sum of some of the ranks is, from 0 to that of all, where each is as likely in it as not."""
    chances = np.zeros(sum(ranks) + 1)
    chances[0] = 1.0
    for rank in ranks:
        chances /= 2.0
        chances[rank:] += chances[:-rank].copy()
    chances.flags.writeable = False
    return chances


def _doubled_ranks(sizes: Sequence[float]) -> list[int]:
    """Twice the ranks from 1, ties sharing their mean rank; a size of zero ranks 0, as it has no sign."""
    ordered = sorted(sizes)
    return [bisect_left(ordered, size) + 1 + bisect_right(ordered, size) if size else 0 for size in sizes]
