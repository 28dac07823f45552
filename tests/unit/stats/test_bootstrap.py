"""The geometric mean over workloads."""

import numpy as np
import pytest

from datasmith.errors import ConfigError
from datasmith.stats.bootstrap import hierarchical
from datasmith.stats.paired import interval


def test_the_value_is_the_geometric_mean_of_the_workloads_ratios() -> None:
    """Two workloads at 2.0 and 0.5 cancel out, whatever their numbers of rounds."""
    found = hierarchical([np.full(8, np.log(2.0)), np.full(12, np.log(0.5))], rng=np.random.default_rng(0))
    assert (found.value, found.low, found.high) == pytest.approx((1.0, 1.0, 1.0))
    assert found.n == 2


def test_one_workload_has_the_interval_of_its_ratio() -> None:
    """Seven rounds resampled would cover in 90 % of cases only."""
    source = np.random.default_rng(5)
    for rounds in (source.normal(0.1, 0.03, n) for n in (7, 12, 13)):
        found = hierarchical([rounds], rng=source)
        assert (found.low, found.high) == interval(rounds)
        assert found.value == pytest.approx(np.exp(np.median(rounds)))


def test_more_workloads_narrow_the_interval() -> None:
    """The mean over sixteen workloads is about a quarter as uncertain as one of them is on average."""
    source = np.random.default_rng(1)
    data = [source.normal(0, 0.03, 12) for _ in range(16)]
    alone = [hierarchical([rounds], rng=source) for rounds in data]
    together = hierarchical(data, rng=source)
    usual = np.mean([np.log(found.high / found.low) for found in alone])
    assert np.log(together.high / together.low) == pytest.approx(usual / 4, rel=0.3)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    """In 300 simulated tasks of five workloads a 95 % interval holds the truth in 92 % or more."""
    source = np.random.default_rng(2)
    held = 0
    for _ in range(300):
        found = hierarchical([source.laplace(0.1, 0.02, 12) for _ in range(5)], rng=source, resamples=1000)
        held += found.low <= np.exp(0.1) <= found.high
    assert held / 300 >= 0.92


def test_swapping_the_arms_gives_the_reciprocal() -> None:
    """Value and interval are reciprocal."""
    data = [np.random.default_rng(3).normal(0.05, 0.02, 9) for _ in range(3)]
    forth = hierarchical(data, rng=np.random.default_rng(4))
    back = hierarchical([-rounds for rounds in data], rng=np.random.default_rng(4))
    assert (back.value, back.low, back.high) == pytest.approx((1 / forth.value, 1 / forth.high, 1 / forth.low))


def test_no_workload_is_refused() -> None:
    """A mean over nothing is not 1."""
    with pytest.raises(ConfigError):
        hierarchical([], rng=np.random.default_rng(0))
