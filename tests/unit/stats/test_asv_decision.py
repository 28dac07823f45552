"""asv's own decision, and its trap."""

import math

import numpy as np
import pytest
from scipy.stats import mannwhitneyu  # type: ignore[import-untyped]

from datasmith.stats.asv_decision import disjoint, is_different, u_statistic, u_test, weight

OVERLAPPING = ((1.0, 2.0), (1.5, 3.0))
APART = ((1.0, 2.0), (2.5, 3.0))


def separated(m: int, n: int) -> tuple[list[float], list[float]]:
    """Two samples of which all of the first are smaller."""
    return [float(at) for at in range(m)], [100.0 + at for at in range(n)]


@pytest.mark.parametrize(
    ("m", "n", "p", "digits"),
    [
        (5, 5, 0.007937, 6), (5, 6, 0.004329, 6), (5, 7, 0.002525, 6), (6, 6, 0.002165, 6), (4, 10, 0.001998, 6),
        (6, 7, 0.001166, 6), (7, 7, 0.000583, 6), (10, 10, 0.0000108, 7),
    ],
)  # fmt: skip
def test_perfectly_separated(m: int, n: int, p: float, digits: int) -> None:
    """Case 36: the smallest p that a pair of sizes can reach."""
    assert u_test(*separated(m, n)) == pytest.approx(p, abs=0.6 * 10**-digits)


def test_equal_samples() -> None:
    """Case 36: U is rounded down, and p is 1."""
    same = [1.0, 2.0, 3.0]
    assert (u_statistic(same, same), u_test(same, same)) == (4, 1.0)


@pytest.mark.parametrize(("m", "n"), [(3, 5), (7, 9), (12, 12), (21, 8), (30, 30)])
def test_p_is_what_scipy_says(m: int, n: int) -> None:
    """Exact up to 20 samples a side, by the normal approximation above."""
    rng = np.random.default_rng(m * n)
    a, b = rng.normal(size=m).tolist(), rng.normal(0.7, size=n).tolist()
    method = "exact" if max(m, n) <= 20 else "asymptotic"
    assert u_test(a, b) == pytest.approx(mannwhitneyu(a, b, method=method).pvalue, rel=1e-9)


@pytest.mark.parametrize(
    ("m", "n", "ends", "ours", "asv"),
    [
        (5, 5, OVERLAPPING, False, False),
        (5, 5, APART, True, True),
        (6, 6, APART, True, False),
        (5, 7, APART, True, False),
        (4, 9, APART, True, False),
        (6, 6, OVERLAPPING, False, False),
        (7, 7, OVERLAPPING, True, True),
    ],
)
def test_the_decision(
    m: int, n: int, ends: tuple[tuple[float, float], tuple[float, float]], ours: bool, asv: bool
) -> None:
    """Case 37: with 6 against 6 samples asv can never say "different"; corrected, the intervals decide."""
    samples = separated(m, n)
    assert is_different(*samples, ends) is ours
    assert is_different(*samples, ends, like_asv=True) is asv


@pytest.mark.parametrize(
    ("ends", "differ"),
    [
        (((1.0, 2.0), (2.0, 3.0)), False),
        (((1.0, 2.0), (2.01, 3.0)), True),
        (((2.01, 3.0), (1.0, 2.0)), True),
        (((-math.inf, 2.0), (2.5, 3.0)), False),
    ],
)
def test_without_samples_intervals_decide(ends: tuple[tuple[float, float], tuple[float, float]], differ: bool) -> None:
    """Case 38: touching is not apart, and an infinite end is no ground."""
    assert disjoint(*ends) is differ
    assert is_different([], [], ends) is differ
    assert not is_different([], [])


@pytest.mark.parametrize(("ends", "expected"), [((1, 2), 2.0), ((-math.inf, 2), None), ((2, 2), None)])
def test_weight(ends: tuple[float, float], expected: float | None) -> None:
    """Case 39."""
    assert weight(ends) == expected
