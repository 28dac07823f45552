"""The compiled part."""

import random

import pytest

from samplelib import count_inversions


@pytest.mark.parametrize(
    ("values", "expected"), [([], 0), ([1.0], 0), ([1, 2, 3], 0), ([3, 2, 1], 3), ([2, 2, 1], 2), ([1, 3, 2, 3, 1], 4)]
)
def test_small_lists(values, expected):
    assert count_inversions(values) == expected


def test_agrees_with_the_definition():
    values = [random.Random(3).random() for _ in range(100)]
    pairs = [(a, b) for i, a in enumerate(values) for b in values[i + 1 :]]
    assert count_inversions(values) == sum(a > b for a, b in pairs)


def test_needs_numbers():
    with pytest.raises(TypeError):
        count_inversions(["a", "b"])
