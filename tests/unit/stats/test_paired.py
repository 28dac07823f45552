"""The paired estimate: exact p-values, symmetry, coverage."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasmith.errors import ConfigError
from datasmith.stats.paired import estimate, expected_half_width, interval, resampled_medians, sign_flip_p

rounds = st.lists(st.floats(-0.5, 0.5).filter(lambda value: abs(value) > 1e-6), min_size=2, max_size=14)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("count", [2, 5, 8, 12, 16])
def test_rounds_that_agree_reach_the_smallest_p_there_is(count: int) -> None:
    """R rounds of one sign have p = 2 / 2**R, exactly: 12 rounds reach 2/4096."""
    data = np.linspace(0.01, 0.02, count)
    assert sign_flip_p(data) == 2 / 2**count
    assert sign_flip_p(-data) == 2 / 2**count


def test_p_is_exact_for_a_case_counted_by_hand() -> None:
    """The log ratios 1, 2, -3 have ranks 1, 2, 3 and a signed sum of 0: every one of the 8 patterns is as far out."""
    assert sign_flip_p(np.array([1.0, 2.0, -3.0])) == 1.0
    assert sign_flip_p(np.array([-1.0, 2.0, 3.0])) == 4 / 8


def test_one_wild_round_does_not_hide_an_effect() -> None:
    """Eleven rounds at 2 % and one hiccup of -80 % still give p < 0.05."""
    data = np.array([0.02 + 0.0001 * number for number in range(11)] + [-0.8])
    assert sign_flip_p(data) < 0.05


def test_many_rounds_are_counted_exactly_too() -> None:
    """Forty rounds that agree have the smallest p there is; it is never zero."""
    assert sign_flip_p(np.linspace(0.01, 0.02, 40)) == 2 / 2**40
    assert 0 < sign_flip_p(np.full(96, 0.01)) < 1e-27


@given(st.lists(st.sampled_from([-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.25, 0.4]), min_size=2, max_size=8))
@settings(max_examples=60, deadline=None)
def test_p_is_what_counting_all_patterns_gives(values: list[float]) -> None:
    """Ties and zeros included: the share of sign patterns whose sum of signed ranks is as far from zero."""
    sizes = np.abs(values)
    ranks = np.array([np.mean([1 + np.sum(sizes < size), np.sum(sizes <= size)]) * (size > 0) for size in sizes])
    seen = abs(np.sum(np.sign(values) * ranks))
    sums = [abs(np.dot(signs, ranks)) for signs in itertools.product((-1.0, 1.0), repeat=len(values))]
    assert sign_flip_p(np.array(values)) == np.mean([total >= seen for total in sums])


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_resampled_medians_are_those_of_all_draws(count: int) -> None:
    """What is drawn at random has the distribution that listing all n**n draws has."""
    data = np.sort(rng(count).normal(size=count))
    listed = np.median(data[list(itertools.product(range(count), repeat=count))], axis=1)
    drawn = resampled_medians(data[::-1], rng(1), 40_000)
    for value in np.unique(listed.round(9)):
        share = np.mean(listed <= value + 1e-9)
        assert np.mean(drawn <= value + 1e-9) == pytest.approx(
            share, abs=4 * np.sqrt(share * (1 - share) / 40_000) + 1e-9
        )


def held(count: int, outside: int) -> float:
    """How often the median lies between the order statistics that have so many rounds outside on either side."""
    return 1.0 - 2.0 * sum(math.comb(count, number) for number in range(outside + 1)) / float(2**count)


@given(st.integers(6, 96), st.sampled_from([0.8, 0.95]))
@settings(max_examples=100, deadline=None)
def test_the_ends_lie_between_the_pairs_that_hold_often_enough_and_not(count: int, confidence: float) -> None:
    """Counted exactly: the next order statistics outwards hold the median often enough, the next inwards do not."""
    low, high = np.log(interval(np.arange(count) / 100.0, confidence=confidence)) * 100.0
    outside = math.floor(low + 1e-9)
    assert held(count, outside) >= confidence > held(count, outside + 1)
    assert high == pytest.approx(count - 1 - low)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_few_rounds_have_their_range(count: int) -> None:
    """No two of fewer than six rounds hold the median in 95 % of cases."""
    data = rng(count).normal(size=count)
    assert interval(data) == pytest.approx((np.exp(data.min()), np.exp(data.max())))
    assert held(count, 0) < 0.95


@given(rounds)
@settings(max_examples=60, deadline=None)
def test_swapping_the_arms_gives_the_reciprocal(values: list[float]) -> None:
    """Base against arm, and arm against base: ratio and interval are reciprocal, p is the same."""
    data = np.array(values)
    forth, back = estimate(data), estimate(-data)
    assert back.ratio == pytest.approx(1 / forth.ratio)
    assert (back.low, back.high) == pytest.approx((1 / forth.high, 1 / forth.low))
    assert back.p == forth.p


@given(rounds, st.floats(0.1, 10))
@settings(max_examples=40, deadline=None)
def test_p_depends_on_signs_and_order_of_sizes_only(values: list[float], factor: float) -> None:
    """Scaling all log ratios, or shuffling the rounds, leaves p as it is."""
    data = np.array(values)
    assert sign_flip_p(data * factor) == sign_flip_p(data)
    assert sign_flip_p(data[::-1]) == sign_flip_p(data)


@given(rounds)
@settings(max_examples=40, deadline=None)
def test_the_estimate_lies_in_its_interval(values: list[float]) -> None:
    """The ratio is between low and high, and a higher confidence is never narrower."""
    found = estimate(np.array(values))
    assert found.low <= found.ratio * (1 + 1e-12)
    assert found.ratio <= found.high * (1 + 1e-12)
    wide = interval(np.array(values), confidence=0.99)
    assert wide[0] <= found.low
    assert found.high <= wide[1]


@pytest.mark.parametrize("noise", ["normal", "laplace", "exponential"])
@pytest.mark.parametrize("count", [6, 7, 8, 12, 13, 21, 24, 31])
def test_the_interval_covers_the_truth_as_often_as_it_says(count: int, noise: str) -> None:
    """In 3,000 simulated measurements with this noise a 95 % interval holds the truth in 93.5 to 96.5 %."""
    drawn = getattr(rng(count), noise)(size=(3000, count))
    truth = np.exp(math.log(2.0) if noise == "exponential" else 0.0)
    ends = np.array([interval(data) for data in drawn])
    assert np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("noise", ["normal", "laplace"])
def test_the_interval_covers_as_often_where_its_expected_width_ends_the_rounds(noise: str) -> None:
    """Of 1,500 measurements that end within 96 rounds at 1 %; waiting for the interval itself, 91 % hold the truth."""
    held = []
    for data in getattr(rng(4), noise)(scale=0.03, size=(1500, 96)):
        played = next((n for n in range(8, 96) if expected_half_width(data[:n]) <= 0.01), 96)
        low, high = interval(data[:played])
        held.append(low <= 1.0 <= high)
    assert np.mean(held) > 0.93


@pytest.mark.parametrize("count", [8, 24, 96])
def test_the_expected_width_is_that_of_intervals_of_normal_noise(count: int) -> None:
    """On average; what is scattered twice as far is twice as wide, wherever it lies."""
    drawn = rng(count).normal(0.0, 0.02, size=(1000, count))
    ends = np.array([interval(data) for data in drawn])
    expected = np.mean([expected_half_width(data) for data in drawn])
    assert expected == pytest.approx(np.mean(ends[:, 1] - ends[:, 0]) / 2, rel=0.08)
    assert expected_half_width(2 * drawn[0] + 1) == pytest.approx(2 * expected_half_width(drawn[0]))


def test_p_is_uniform_where_nothing_differs() -> None:
    """Over 1,500 A/A measurements of 10 rounds, p <= x in a share x of them, within sampling error."""
    source = rng(5)
    values = np.array([sign_flip_p(source.laplace(0, 0.02, 10)) for _ in range(1500)])
    for level in (0.05, 0.2, 0.5, 0.8):
        assert np.mean(values <= level) == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 1500))


@pytest.mark.parametrize(
    "values", [[], [0.1], [0.1, float("nan")], [0.1, float("inf")]], ids=["none", "one round", "nan", "infinite"]
)
def test_what_is_no_measurement_is_refused(values: list[float]) -> None:
    """No round, one round and values that are no number have no estimate, and none is invented."""
    with pytest.raises(ConfigError, match="log_ratios"):
        estimate(np.array(values))


def test_a_confidence_that_is_none_is_refused() -> None:
    """95 instead of 0.95 is named."""
    for asked in (interval, expected_half_width):
        with pytest.raises(ConfigError, match="confidence"):
            asked(np.array([0.1, 0.2]), confidence=95)
