"""One level further down."""

from planted import work


def time_deep():
    """A benchmark in a nested module."""
    work(1000)
