"""Interpolation."""

import pytest

from samplelib import Lagrange


def test_passes_through_its_points():
    line = Lagrange([0.0, 1.0, 2.0], [1.0, 3.0, 9.0])
    assert [line(x) for x in (0.0, 1.0, 2.0)] == pytest.approx([1.0, 3.0, 9.0])


def test_a_cubic_is_found_exactly():
    xs = [0.0, 1.0, 2.0, 3.0]
    cubic = Lagrange(xs, [x**3 for x in xs])
    assert cubic(1.5) == pytest.approx(3.375)


def test_points_need_different_xs():
    with pytest.raises(ValueError, match="same x"):
        Lagrange([1.0, 1.0], [0.0, 2.0])
