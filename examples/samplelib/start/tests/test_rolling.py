"""Sliding windows."""

import pytest

from samplelib import rolling_mean


def test_rolling_mean():
    assert rolling_mean([1, 2, 3, 4], 2) == [1.5, 2.5, 3.5]


@pytest.mark.parametrize("window", [0, 5])
def test_window_must_fit(window):
    with pytest.raises(ValueError, match="window"):
        rolling_mean([1, 2, 3, 4], window)
