"""The fastest samples of a core that runs at one of two speeds: what they tell, and how sure it is."""

from collections.abc import Sequence

import numpy as np
import pytest

from datasmith.errors import ConfigError
from datasmith.stats.lower_tail import FEWEST_BELOW, SHARE, Floats, tail_ratio

SEED = 20260


def contended(rng: np.random.Generator, call_s: float, rounds: int = 40, samples: int = 100) -> list[Floats]:
    """Launches on a core that somebody else slows down by 1.8, each for a share of its samples that is drawn."""
    slow = [rng.random(samples) < rng.random() for _ in range(rounds)]
    return [call_s * np.where(one, 1.8, 1.0) * np.exp(np.abs(rng.normal(0, 0.02, samples))) for one in slow]


def seen(slower: float, repeats: int) -> list[tuple[float, float, float]]:
    """(ratio, low, high) of so many measurements of code that takes `slower` times as long."""
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(repeats):
        told = tail_ratio(contended(rng, 1e-4), contended(rng, 1e-4 * slower), rng=rng, resamples=300)
        found.append((told.ratio, told.low, told.high))
    return found


def test_two_percent_are_found_on_a_core_of_two_speeds() -> None:
    """Where a launch's median is 1 or 1.8 by chance, 2 % more work is found in nine of ten, and none where there is
    none: whole intervals beyond half a percent.
    """
    assert sum(high < 0.995 for _, _, high in seen(1.02, 40)) >= 36
    assert sum(high < 0.995 or low > 1.005 for _, low, high in seen(1.0, 40)) == 0


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    """95 % of 100: 88 or fewer would happen once in two hundred times."""
    assert sum(low <= 1 / 1.02 <= high for _, low, high in seen(1.02, 100)) >= 88


def test_it_is_the_ratio_of_the_quantiles() -> None:
    """Scaling an arm scales the ratio; the arms swapped give the inverse; rounds may differ in length."""
    rng = np.random.default_rng(SEED)
    base = [rng.exponential(1.0, size) + 1.0 for size in (90, 110, 100)]
    other = [2.0 * one for one in base]
    here, there = (tail_ratio(*arms, rng=np.random.default_rng(1)) for arms in ((base, other), (other, base)))
    assert here.ratio == pytest.approx(0.5)
    assert (here.low, here.high) == pytest.approx((0.5, 0.5))
    assert here.n == 3
    assert there.ratio == pytest.approx(2.0)
    alone = np.sort(np.concatenate(base))
    assert tail_ratio([np.array([alone[14]] * 100)] * 3, base, rng=rng).ratio == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("base", "other", "told"),
    [
        ([[1.0] * 100], [[1.0] * 100], "two rounds"),
        ([[1.0] * 100] * 2, [[1.0] * 100] * 3, "got 2 and 3"),
        ([[1.0] * 100] * 2, [[1.0] * 99 + [0.0]] * 2, "positive"),
        ([[1.0] * 100] * 2, [[float("nan")] * 100] * 2, "positive"),
        ([[1.0] * 49] * 2, [[1.0] * 100] * 2, "98 are too few"),
    ],
)
def test_what_cannot_be_told_is_refused(base: Sequence[list[float]], other: Sequence[list[float]], told: str) -> None:
    """One round, rounds that are not the same, samples that are no times, and fewer than a quantile needs."""
    assert 98 * SHARE < FEWEST_BELOW
    with pytest.raises(ConfigError, match=told):
        tail_ratio([np.array(one) for one in base], [np.array(one) for one in other], rng=np.random.default_rng(1))
