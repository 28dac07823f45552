"""Benchmarks that go wrong, each in its own way."""

import time


def time_raises():
    """Fails."""
    raise ValueError("this never worked")


def time_hangs():
    """Never ends."""
    while True:
        time.sleep(1)


time_hangs.timeout = 0.5


class BadCache:
    """setup_cache fails."""

    def setup_cache(self):
        """Fails."""
        raise OSError("no data")

    def time_nothing(self, cache):
        """Never gets that far."""


class BadConstructor:
    """Cannot be made."""

    def __init__(self):
        raise RuntimeError("not today")

    def time_nothing(self):
        """Never gets that far."""
