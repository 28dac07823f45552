"""Matrices."""

import pytest

from samplelib import Matrix


def test_product():
    assert Matrix([[1, 2], [3, 4]]) @ Matrix([[5, 6], [7, 8]]) == Matrix([[19, 22], [43, 50]])


def test_product_of_a_row_and_a_column():
    assert Matrix([[1, 2, 3]]) @ Matrix([[4], [5], [6]]) == Matrix([[32]])


def test_product_needs_fitting_shapes():
    with pytest.raises(ValueError, match="cannot multiply"):
        Matrix([[1, 2]]) @ Matrix([[1, 2]])


def test_rows_need_one_length():
    with pytest.raises(ValueError, match="one length"):
        Matrix([[1, 2], [3]])


def test_transpose():
    assert Matrix([[1, 2, 3], [4, 5, 6]]).transpose() == Matrix([[1, 4], [2, 5], [3, 6]])


def test_determinant():
    assert Matrix([[0.0, 2.0], [3.0, 4.0]]).determinant() == -6.0
