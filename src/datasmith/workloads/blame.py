"""Whom to blame for launches that were disturbed, the machine or the arm itself.

A process that goes on outside what its launch is charged with looks like a neighbour on the core. A neighbour comes to
all arms of a round alike, as they are launched back to back in an order drawn at random.
"""

import math
from collections.abc import Iterable, Sequence

from datasmith.workloads.base import AUDIT_ROUNDS, MERGED_ARMS, Measurement

CHANCE = 1e-3
"""A machine that treats all arms alike disturbs one so much more than merged code this seldom."""


def rounds_that_count(ours: Iterable[Measurement], *, own_noise: bool) -> dict[int, Measurement]:
    """By round, an arm's launches that were timed undisturbed; the first in each, where the arm disturbs itself.

    Else it could choose the rounds that count.
    """
    timed = [launch for launch in ours if launch.round >= 0 and launch.samples]
    chosen = reversed(timed) if own_noise else (launch for launch in timed if not launch.noisy)
    return {launch.round: launch for launch in chosen}


def disturbs_itself(launches: Sequence[Measurement], arm: str) -> bool:
    """True where a submission's launches of one workload are disturbed beside those of merged code that are not.

    Fisher's exact test, one-sided, over the first launch in each round: what is launched again at once meets the same
    neighbour.
    """
    if arm in MERGED_ARMS or not any(launch.noisy for launch in launches if launch.arm == arm):
        return False
    first: dict[tuple[str, int, int], bool] = {}
    for at, launch in enumerate(launches):
        first.setdefault((launch.arm, launch.round, at if launch.round in AUDIT_ROUNDS else 0), launch.noisy)
    ours = [noisy for (name, *_), noisy in first.items() if name == arm]
    merged = [noisy for (name, *_), noisy in first.items() if name in MERGED_ARMS]
    return chance_of(sum(ours), len(ours), sum(merged), len(merged)) < CHANCE


def chance_of(ours: int, of_ours: int, others: int, of_others: int) -> float:
    """The chance that, of all that were disturbed, as many or more are ours, if they fall on all launches alike."""
    disturbed, every = ours + others, of_ours + of_others
    ways = sum(
        math.comb(of_ours, count) * math.comb(of_others, disturbed - count)
        for count in range(ours, min(of_ours, disturbed) + 1)
    )
    return ways / math.comb(every, disturbed)
