"""One limit of time for an image, whose tiers are built one after another."""

import time
from collections.abc import Callable
from dataclasses import replace

from datasmith.docker.engine import Tier

InTime = Callable[[Tier], Tier]
"""Gives a tier that is built next the time that it may take."""


def as_it_is(tier: Tier) -> Tier:
    """Each tier has the limit of its own."""
    return tier


def spread(seconds: float, *, clock: Callable[[], float] = time.monotonic) -> InTime:
    """Gives each tier what is left of `seconds` from now on: nothing, where those before it took all of it."""
    end = clock() + seconds
    return lambda tier: replace(tier, timeout_s=max(0.0, end - clock()))
