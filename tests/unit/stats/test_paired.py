"""The paired estimate: exact p-values, symmetry, coverage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasmith.errors import ConfigError
from datasmith.stats.paired import estimate, interval, sign_flip_p, tails

rounds = st.lists(st.floats(-0.5, 0.5).filter(lambda value: abs(value) > 1e-6), min_size=2, max_size=14)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("count", [2, 5, 8, 12, 16])
def test_rounds_that_agree_reach_the_smallest_p_there_is(count: int) -> None:
    """R rounds of one sign have p = 2 / 2**R, exactly: 12 rounds reach 2/4096."""
    data = np.linspace(0.01, 0.02, count)
    assert sign_flip_p(data, rng=rng()) == 2 / 2**count
    assert sign_flip_p(-data, rng=rng()) == 2 / 2**count


def test_p_is_exact_for_a_case_counted_by_hand() -> None:
    """The log ratios 1, 2, -3 have ranks 1, 2, 3 and a signed sum of 0: every one of the 8 patterns is as far out."""
    assert sign_flip_p(np.array([1.0, 2.0, -3.0]), rng=rng()) == 1.0
    assert sign_flip_p(np.array([-1.0, 2.0, 3.0]), rng=rng()) == 4 / 8


def test_one_wild_round_does_not_hide_an_effect() -> None:
    """Eleven rounds at 2 % and one hiccup of -80 % still give p < 0.05."""
    data = np.array([0.02 + 0.0001 * number for number in range(11)] + [-0.8])
    assert sign_flip_p(data, rng=rng()) < 0.05


def test_many_rounds_use_random_flips_and_never_give_zero() -> None:
    """Above 16 rounds p is (hits + 1) / (draws + 1): small, and positive."""
    p = sign_flip_p(np.full(40, 0.01), rng=rng())
    assert 0 < p < 1e-4


def test_random_flips_agree_with_the_exact_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Monte Carlo p of 14 rounds is the exact one within its sampling error."""
    data = rng(3).normal(0.01, 0.02, 14)
    exact = sign_flip_p(data, rng=rng())
    monkeypatch.setattr("datasmith.stats.paired.EXACT_ROUNDS", 1)
    assert sign_flip_p(data, rng=rng()) == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4)


@given(rounds)
@settings(max_examples=60, deadline=None)
def test_swapping_the_arms_gives_the_reciprocal(values: list[float]) -> None:
    """Base against arm, and arm against base: ratio and interval are reciprocal, p is the same."""
    data = np.array(values)
    forth, back = estimate(data, rng=rng(1)), estimate(-data, rng=rng(1))
    assert back.ratio == pytest.approx(1 / forth.ratio)
    assert (back.low, back.high) == pytest.approx((1 / forth.high, 1 / forth.low))
    assert back.p == forth.p


@given(rounds, st.floats(0.1, 10))
@settings(max_examples=40, deadline=None)
def test_p_depends_on_signs_and_order_of_sizes_only(values: list[float], factor: float) -> None:
    """Scaling all log ratios, or shuffling the rounds, leaves p as it is."""
    data = np.array(values)
    assert sign_flip_p(data * factor, rng=rng()) == sign_flip_p(data, rng=rng())
    assert sign_flip_p(data[::-1], rng=rng()) == sign_flip_p(data, rng=rng())


@given(rounds)
@settings(max_examples=40, deadline=None)
def test_the_estimate_lies_in_its_interval(values: list[float]) -> None:
    """The ratio is between low and high, and a higher confidence is never narrower."""
    found = estimate(np.array(values), rng=rng(2))
    assert found.low <= found.ratio * (1 + 1e-12)
    assert found.ratio <= found.high * (1 + 1e-12)
    wide = interval(np.array(values), confidence=0.99, rng=rng(2))
    assert wide[0] <= found.low
    assert found.high <= wide[1]


@pytest.mark.parametrize("count", [8, 12, 24])
def test_the_interval_covers_the_truth_as_often_as_it_says(count: int) -> None:
    """In 600 simulated measurements with heavy-tailed noise a 95 % interval holds the truth in 92 % or more."""
    source = rng(11)
    held = 0
    for _ in range(600):
        low, high = interval(0.05 + 0.02 * source.standard_t(4, count), rng=source)
        held += low <= np.exp(0.05) <= high
    assert held / 600 >= 0.92


def test_p_is_uniform_where_nothing_differs() -> None:
    """Over 1,500 A/A measurements of 10 rounds, p <= x in a share x of them, within sampling error."""
    source = rng(5)
    values = np.array([sign_flip_p(source.laplace(0, 0.02, 10), rng=source) for _ in range(1500)])
    for level in (0.05, 0.2, 0.5, 0.8):
        assert np.mean(values <= level) == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 1500))


@pytest.mark.parametrize(
    "values", [[], [0.1], [0.1, float("nan")], [0.1, float("inf")]], ids=["none", "one round", "nan", "infinite"]
)
def test_what_is_no_measurement_is_refused(values: list[float]) -> None:
    """No round, one round and values that are no number have no estimate, and none is invented."""
    with pytest.raises(ConfigError, match="log_ratios"):
        estimate(np.array(values), rng=rng())


def test_a_confidence_that_is_none_is_refused() -> None:
    """95 instead of 0.95 is named."""
    with pytest.raises(ConfigError, match="confidence"):
        tails(95, 12)
