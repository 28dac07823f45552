"""A clock for tests: sleeping moves it on, and takes no time."""

import asyncio
import random
from dataclasses import dataclass

from datasmith.github.transport import Timing

EPOCH = 1_770_000_000.0


@dataclass
class VirtualClock:
    """Seconds since it was made; `slept` are the pauses that were asked for."""

    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.seconds

    def epoch(self) -> float:
        """What a wall clock shows: a server's `now`."""
        return EPOCH + self.seconds

    async def sleep(self, seconds: float) -> None:
        """Those who sleep at the same time wake in the order of their times."""
        self.slept.append(seconds)
        until = self.seconds + seconds
        await asyncio.sleep(0)
        self.seconds = max(self.seconds, until)

    def timing(self) -> Timing:
        return Timing(sleep=self.sleep, now=self.epoch, rng=random.Random(1))
