"""Summaries."""

import pytest

from samplelib import mean, quantile, variance


def test_mean_is_exact():
    assert mean([0.1] * 10) == 0.1


def test_mean_of_nothing():
    with pytest.raises(ValueError, match="no values"):
        mean([])


def test_variance():
    assert variance([1.0, 2.0, 3.0, 4.0]) == pytest.approx(5 / 3)


def test_quantile_between_two_values():
    assert quantile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5


def test_quantile_leaves_its_argument_alone():
    values = [3.0, 1.0, 2.0]
    quantile(values, 0.25)
    assert values == [3.0, 1.0, 2.0]


def test_quantile_needs_a_share():
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile([1.0, 2.0], 1.5)
