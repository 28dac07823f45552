"""The false discovery rate, against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control  # type: ignore[import-untyped]

from datasmith.errors import ConfigError
from datasmith.stats.multiple import benjamini_hochberg, rounds_needed

probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=60)


@given(probabilities)
def test_q_values_are_those_of_scipy(p: list[float]) -> None:
    """The same numbers, in the order given."""
    assert benjamini_hochberg(p) == pytest.approx(tuple(false_discovery_control(np.array(p), method="bh")))


def test_no_tests_have_no_q_values() -> None:
    """An empty family is fine."""
    assert benjamini_hochberg([]) == ()


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(value: float) -> None:
    """NaN is not a p-value of 1."""
    with pytest.raises(ConfigError):
        benjamini_hochberg([0.5, value])


@pytest.mark.parametrize("tests", [1, 5, 20, 100, 1000])
def test_one_effect_in_a_family_can_show(tests: int) -> None:
    """With rounds_needed rounds the one small p has q < 5 %; with a round less it has not."""
    rounds = rounds_needed(tests, 0.05)
    rest = [1.0] * (tests - 1)
    assert benjamini_hochberg([2 / 2**rounds, *rest])[0] < 0.05
    assert benjamini_hochberg([2 / 2 ** (rounds - 1), *rest])[0] >= 0.05
