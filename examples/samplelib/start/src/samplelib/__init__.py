"""A few numeric routines, small enough to read."""

from samplelib._native import count_inversions
from samplelib.interpolate import Lagrange
from samplelib.matrix import Matrix
from samplelib.rolling import rolling_mean
from samplelib.summary import mean, quantile, variance

__version__ = "0.1.0"
__all__ = ["Lagrange", "Matrix", "count_inversions", "mean", "quantile", "rolling_mean", "variance"]
