"""Many tests at once: the false discovery rate, and how many rounds a family of tests needs."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from datasmith.errors import ConfigError


def benjamini_hochberg(p: Sequence[float]) -> tuple[float, ...]:
    """The q-value of each p-value, in the order given: calling all with q < x changed errs in at most x of them.

    Raises:
        ConfigError: a value is not a probability.
    """
    values: NDArray[np.float64] = np.asarray(p, dtype=np.float64)
    if len(values) == 0:
        return ()
    if not (np.isfinite(values).all() and (values >= 0).all() and (values <= 1).all()):
        raise ConfigError("p: every value must lie between 0 and 1")
    order = np.argsort(values, kind="stable")[::-1]
    ranks = np.arange(len(values), 0, -1)
    scaled = np.minimum.accumulate(values[order] * len(values) / ranks)
    q = np.empty_like(values)
    q[order] = np.minimum(scaled, 1.0)
    return tuple(float(value) for value in q)


def rounds_needed(tests: int, rate: float) -> int:
    """The fewest rounds at which one effect among `tests` can reach q < `rate` in a sign-flip test.

    The smallest p of R rounds is 2 / 2**R, and the only small p of a family has q = p * tests.
    """
    return max(2, math.floor(math.log2(2.0 * max(1, tests) / rate)) + 1)
