"""asv's own decision whether two results differ, kept for comparing with it; ours is in `paired`."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

P_THRESHOLD = 0.002
MOST_EXACT = 20
"""With more samples than this on a side asv takes the normal approximation."""

Ends = tuple[float, float]
"""A 99 % interval."""


def u_statistic(first: Sequence[float], second: Sequence[float]) -> int:
    """Mann-Whitney's U: pairs in which the first is larger, ties counting half, rounded down as asv does."""
    ordered = sorted(second)
    return sum(bisect_left(ordered, value) + bisect_right(ordered, value) for value in first) // 2


def u_test(first: Sequence[float], second: Sequence[float]) -> float:
    """The two-sided p-value of U: exact up to 20 samples on a side, else by the normal approximation."""
    m, n = len(first), len(second)
    u = u_statistic(first, second)
    if max(m, n) > MOST_EXACT:
        deviation = math.sqrt(m * n * (m + n + 1) / 12.0)
        return min(1.0, math.erfc((abs(u - m * n / 2.0) - 0.5) / (deviation * math.sqrt(2.0))))
    ways = _ways(m, n)
    lower = min(u, m * n - u)
    return min(1.0, 2.0 * sum(ways[: lower + 1]) / math.comb(m + n, m))


def _ways(m: int, n: int) -> list[int]:
    """How many of the C(m + n, m) orders have U = 0, 1, ..., m * n."""
    ways = [1]
    for i in range(1, m + 1):  # the Gaussian binomial: multiply by (1 - x^(n + i)), divide by (1 - x^i)
        longer = ways + [0] * (n + i)
        for at in range(len(longer) - 1, n + i - 1, -1):
            longer[at] -= longer[at - n - i]
        for at in range(i, len(longer)):
            longer[at] += longer[at - i]
        ways = longer[: i * n + 1]
    return ways


def is_different(
    first: Sequence[float], second: Sequence[float], ends: tuple[Ends, Ends] | None = None, *, like_asv: bool = False
) -> bool:
    """Whether the U test at 0.002 says so; where there are too few samples for it, whether the intervals are disjoint.

    asv takes the test for possible where its one-sided p could be small enough, and then asks for the two-sided one:
    6 against 6, 5 against 7 or 4 against 9 samples never differ. `like_asv` repeats that. Without `ends`, and with
    too few samples, nothing differs.
    """
    a, b = ([sample for sample in samples if not math.isnan(sample)] for samples in (first, second))
    if a and b:
        smallest = (1.0 if like_asv else 2.0) / math.comb(len(a) + len(b), len(a))
        if smallest < P_THRESHOLD:
            return u_test(a, b) < P_THRESHOLD
    return ends is not None and disjoint(*ends)


def disjoint(first: Ends, second: Ends) -> bool:
    """True where the intervals share no point; one with an infinite end is no ground to differ."""
    if not all(map(math.isfinite, (*first, *second))):
        return False
    return first[1] < second[0] or second[1] < first[0]


def weight(ends: Ends) -> float | None:
    """What asv weighs a result with this interval by: 2 / width; None where the width is 0 or infinite."""
    width = abs(ends[1] - ends[0])
    return 2.0 / width if math.isfinite(width) and width > 0.0 else None
