"""How fast code is where nothing slows it down: the ratio of a low quantile of all samples, with its interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datasmith.errors import ConfigError
from datasmith.stats.paired import RESAMPLES

Floats = NDArray[np.float64]

SHARE = 0.05
"""The quantile: of samples of which a fifth or more ran undisturbed, it is one of those."""
FEWEST_BELOW = 5
"""With fewer samples below it the quantile is hardly more than the smallest value, and its interval is not known."""


@dataclass(frozen=True, slots=True)
class TailRatio:
    """Quantile of base / quantile of the other, > 1 where the other is faster; its interval [low, high]; n rounds."""

    ratio: float
    low: float
    high: float
    n: int


def tail_ratio(
    base: Sequence[Floats],
    other: Sequence[Floats],
    *,
    rng: np.random.Generator,
    share: float = SHARE,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> TailRatio:
    """The ratio of the `share` quantiles of two arms' samples, of all rounds together.

    base, other: one array of positive samples per round; their lengths may differ. A virtual core whose sibling
    belongs to somebody else runs at one of two speeds, for milliseconds to half a second at a time. The median of a
    launch is then a draw from two values; the low quantile is the same one each time. The round is the unit of the
    bootstrap, and both arms lose the same rounds in a resample; scatter is widened by sqrt(n / (n - 1)), as in
    `bootstrap.hierarchical`.

    Raises:
        ConfigError: the arms have not the same two rounds or more, a sample is not positive, or there are so few
            samples that less than `FEWEST_BELOW` of them lie below the quantile.
    """
    if len(base) != len(other) or len(base) < 2:
        raise ConfigError(f"samples: needs the same two rounds or more of both arms, got {len(base)} and {len(other)}")
    arms = [_Pool.of(rounds, share) for rounds in (base, other)]
    rounds = len(base)
    every = np.ones(rounds, dtype=np.int64)
    centre = arms[0].quantile(every, share) - arms[1].quantile(every, share)
    off = np.empty(resamples)
    for at in range(resamples):
        drawn = np.bincount(rng.integers(0, rounds, rounds), minlength=rounds)
        off[at] = arms[0].quantile(drawn, share) - arms[1].quantile(drawn, share) - centre
    tails = [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0]
    low, high = centre + math.sqrt(rounds / (rounds - 1)) * np.quantile(off, tails)
    return TailRatio(math.exp(centre), math.exp(low), math.exp(high), rounds)


@dataclass(frozen=True, slots=True)
class _Pool:
    """All samples of an arm as logarithms, smallest first, and the round that each is of."""

    logs: Floats
    rounds: NDArray[np.intp]

    @classmethod
    def of(cls, samples: Sequence[Floats], share: float) -> "_Pool":
        values = np.concatenate([np.asarray(one, dtype=np.float64) for one in samples])
        if not (np.isfinite(values).all() and (values > 0.0).all()):
            raise ConfigError("samples: every one must be a positive finite number of seconds")
        if len(values) * share < FEWEST_BELOW:
            raise ConfigError(f"samples: {len(values)} are too few for a quantile of {share:g} (at least "
                              f"{math.ceil(FEWEST_BELOW / share)})")  # fmt: skip
        order = np.argsort(values, kind="stable")
        return cls(np.log(values[order]), np.repeat(np.arange(len(samples)), [len(one) for one in samples])[order])

    def quantile(self, weights: NDArray[np.int64], share: float) -> float:
        """The smallest value that has, with those below it, `share` of the weight; `weights`: of each round."""
        reached = np.cumsum(weights[self.rounds])
        return float(self.logs[np.searchsorted(reached, share * reached[-1])])
