"""Percentiles of means over few groups: as far apart as Student's t says, and never further than what was resampled."""

import numpy as np
import pytest
from scipy.stats import norm, t  # type: ignore[import-untyped]

from datasmith.stats.nested import FEWEST_GROUPS, Resampler, ends
from datasmith.stats.student import t_quantile


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 30, 1583])
@pytest.mark.parametrize("share", [0.8, 0.95, 0.975, 0.9995])
def test_quantiles_are_those_of_students_t(share: float, freedom: int) -> None:
    """As another library has them."""
    assert t_quantile(share, freedom) == pytest.approx(t.ppf(share, freedom), rel=1e-9)


def test_the_fewer_the_groups_the_less_is_left_out() -> None:
    """Of many groups 2.5 % on either side; of two nothing."""
    resampled = np.linspace(0.0, 1.0, 100_001)
    assert ends(resampled) == pytest.approx((0.025, 0.975))
    assert ends(resampled, groups=10_000) == pytest.approx((0.025, 0.975), abs=1e-4)
    low, high = ends(resampled, groups=10)
    assert low == pytest.approx(norm.cdf(-np.sqrt(10 / 9) * t.ppf(0.975, 9)), abs=1e-5)
    assert high == pytest.approx(1.0 - low)
    assert ends(resampled, groups=2) == (0.0, 1.0)


def test_the_fewest_groups_are_those_whose_range_holds_the_middle() -> None:
    """All of n values lie on one side of it in 2^(1 - n) of cases."""
    assert 2.0 ** (1 - FEWEST_GROUPS) < 0.05 < 2.0 ** (2 - FEWEST_GROUPS)


def test_intervals_of_few_groups_hold_the_mean_as_often_as_they_say() -> None:
    """Of eight groups; the plain percentiles hold it in 89 % of cases."""
    rng, held, plain = np.random.default_rng(3), 0, 0
    for seed in range(400):
        values = rng.normal(size=(8, 1))
        resampler = Resampler(8, 1, seed=seed)
        for at, (low, high) in enumerate((resampler.ends(values), ends(resampler.means(values)))):
            held, plain = (held + (low <= 0.0 <= high), plain) if at == 0 else (held, plain + (low <= 0.0 <= high))
    assert held / 400 > 0.925 > plain / 400
