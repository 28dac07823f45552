"""The parts of a bootstrap on three levels: medians of redrawn rounds, and means of redrawn groups."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from datasmith.stats.student import t_quantile

Floats = NDArray[np.float64]

RESAMPLES = 1000
FEWEST_GROUPS = 6
"""Of fewer values even the range from the least to the greatest holds the middle of what they are drawn from in less
than 95 %: in 1 - 2^(1 - n) of cases."""


def pooled_medians(cells: Sequence[Sequence[float]], size: int, rng: np.random.Generator) -> Floats:
    """`size` medians of each cell's values redrawn with replacement, as (cells, size).

    Cells of equal length share their draws: values that stand at one place belong to one round. The bootstrap is
    balanced: over all draws each place is drawn equally often.
    """
    found = np.empty((len(cells), size))
    same: dict[int, list[int]] = {}
    for at, cell in enumerate(cells):
        same.setdefault(len(cell), []).append(at)
    for length, mine in sorted(same.items()):
        places = rng.permutation(np.tile(np.arange(length), size)).reshape(size, length)
        found[mine] = _medians(np.array([cells[at] for at in mine], dtype=np.float64), places)
    return found


def _medians(values: Floats, places: NDArray[np.intp]) -> Floats:
    """The medians of each row's values at each draw's places, without sorting each draw.

    A draw holds each place so many times; walking through a row's values in their order and adding up how often each
    was drawn, the median is where half of the draw is passed.
    """
    size, length = places.shape
    times = np.zeros((length, size), dtype=np.int16)
    np.add.at(times, (places.ravel(), np.repeat(np.arange(size), length)), 1)
    order = np.argsort(values, axis=1)
    passed, lower, upper = (np.zeros((len(values), size), dtype=np.int16) for _ in range(3))
    for rank in range(length):
        passed += times[order[:, rank]]
        lower += passed <= (length - 1) // 2
        upper += passed <= length // 2
    row, ordered = np.arange(len(values))[:, None], np.take_along_axis(values, order, axis=1)
    found: Floats = (ordered[row, lower] + ordered[row, upper]) / 2.0
    return found


class Resampler:
    """Draws groups with replacement, and for each drawn one a redraw of what is inside it.

    It is given, for each of `groups` groups, `redraws` values of the group (rows), each from another redraw of its
    inside. The same draws serve every column of values, so that ratios and differences of their means are joint.
    """

    def __init__(self, groups: int, redraws: int, *, seed: int, resamples: int = RESAMPLES) -> None:
        rng = np.random.default_rng([seed, groups])
        self._groups = groups
        drawn = rng.integers(0, groups, size=(resamples, groups))
        self._at = drawn * redraws + rng.integers(0, redraws, size=(resamples, groups))

    def means(self, values: Floats) -> Floats:
        """The mean over groups in each resample, from values (groups, redraws)."""
        found: Floats = np.take(values.ravel(), self._at).mean(axis=1)
        return found

    def ends(self, values: Floats, confidence: float = 0.95) -> tuple[float, float]:
        """The interval of the mean over groups."""
        return ends(self.means(values), confidence, groups=self._groups)


def ends(resampled: Floats, confidence: float = 0.95, *, groups: int = 1) -> tuple[float, float]:
    """The percentiles that leave the same share of the resamples out on both sides.

    Of few `groups` (two or more) less is left out, as their means scatter less than they would from sample to sample:
    Hesterberg's expanded percentile interval (What Teachers Should Know about the Bootstrap, 2015, section 5.3).
    """
    outside = (1.0 - confidence) / 2.0
    if groups > 1:
        outside = NormalDist().cdf(-math.sqrt(groups / (groups - 1)) * t_quantile(1.0 - outside, groups - 1))
    low, high = np.quantile(resampled, [outside, 1.0 - outside])
    return float(low), float(high)
