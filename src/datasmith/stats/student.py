"""Student's t with a whole number of degrees of freedom: finite sums of Abramowitz and Stegun (26.7.3 and 26.7.4)."""

import math
from functools import lru_cache


@lru_cache(maxsize=4096)
def t_quantile(share: float, freedom: int) -> float:
    """The value below which `share` (0.5 to 1, exclusive) of the distribution lies."""
    low, high = 0.0, math.pi / 2.0
    for _ in range(60):
        angle = (low + high) / 2.0
        low, high = (angle, high) if _between(angle, freedom) < 2.0 * share - 1.0 else (low, angle)
    return math.sqrt(freedom) * math.tan(low)


def _between(angle: float, freedom: int) -> float:
    """How much lies between -t and t, where t is the tangent of `angle` times the root of the degrees of freedom."""
    cosine, odd = math.cos(angle), freedom % 2
    term, total = cosine if odd else 1.0, 0.0
    for step in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cosine * cosine * (step - 1) / step
    total *= math.sin(angle)
    return 2.0 / math.pi * (angle + total) if odd else total
