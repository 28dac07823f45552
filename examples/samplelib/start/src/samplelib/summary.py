"""Summaries of a list of numbers."""

import math


def mean(values):
    """The arithmetic mean, summed exactly."""
    if not values:
        raise ValueError("the mean of no values is not defined")
    return math.fsum(values) / len(values)


def variance(values):
    """The sample variance (divided by n - 1)."""
    if len(values) < 2:
        raise ValueError("a variance needs two values")
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def quantile(values, q):
    """The value below which a share `q` (0 to 1) of the values lies, interpolated linearly."""
    if not values:
        raise ValueError("a quantile needs at least one value")
    if not 0 <= q <= 1:
        raise ValueError(f"q must lie between 0 and 1, not {q}")
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    low = int(position)
    share = position - low
    return ordered[low] * (1 - share) + ordered[low + 1] * share
