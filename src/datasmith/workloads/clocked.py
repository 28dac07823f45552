"""Inside against outside on inputs that nobody knew: there, too, an arm has to claim the seconds that our clock saw.

In the rounds a cache is as fast as it says. A clock that stands still while something new is computed would say the
same of other inputs. So what claims a speed-up is also called on some hundred of those, between two marks in what the
launch says; our clock notes when they come. What passed between them and is not claimed is compared with what base
leaves unclaimed, which does all else there just so.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from statistics import median

from datasmith.workloads.audit import (
    TOLERANCE,
    TOLERANCE_S,
    Checked,
    median_error,
    timed_seconds,
    unclaimed_seconds,
)
from datasmith.workloads.base import BASE, Measurement
from datasmith.workloads.blame import disturbs_itself
from datasmith.workloads.launch import Launched

CLOCKED_ROUND = -2000
"""Round of the first of these launches; the next inputs have the next lower number."""
MOST_CLOCKED = 8
"""Launches of an arm and of base."""
ENOUGH = 5
"""Of so many the median is believed that says that nothing is hidden; of fewer only where their scatter allows it.

A core of two speeds may be slow for base and fast for the arm. That hides seconds once, and seldom three times in five.
"""
FEWEST = 3
"""So few accuse nobody, however alike they are."""
TEARDOWNS = 3.0
"""So many times as long as base may an arm tear down; what takes longer counts as if nobody claimed it."""
LEEWAY = 0.25
"""What an arm leaves unclaimed may be more than what base does by this share of it, and by as much as in the audit.

Marks come a little late, and what is done between calls takes as long as the core is slow.
"""


def teardown_seconds(launched: Launched) -> float:
    """What tearing down took between the marks, as the launch says."""
    return math.fsum(launched.capture.teardowns) if launched.capture else 0.0


def between_marks(launched: Launched, base_teardown_s: float | None) -> Measurement | None:
    """The launch as what passed between its marks, with seconds claimed of each input; None where it did not tell.

    That is so, too, where it did not say what it computed: who is to be believed says both.

    What passed is without tearing down, on which nothing is claimed. `base_teardown_s`: what that took base, of which
    an arm may need so many times as much; None: this is base.
    """
    if launched.reply is None or len(launched.marks) != 2 or launched.told is None:
        return None
    begun, ended = launched.marks
    torn_s = teardown_seconds(launched)
    if base_teardown_s is not None:
        torn_s = min(torn_s, TEARDOWNS * base_teardown_s)
    return replace(launched.measurement, samples=launched.reply.samples, wall_s=max(0.0, ended - begun - torn_s))


def finding(measurements: Iterable[Measurement], arm: str) -> Checked | None:
    """What these launches of one workload say of an arm; None: there are none of it.

    hidden: the seconds that it leaves unclaimed are certainly more than base's; undecided: they may be.
    """
    every = list(measurements)
    launches = [launch for launch in every if launch.round <= CLOCKED_ROUND]
    if not any(launch.arm == arm for launch in launches):
        return None
    pairs = pairs_between_marks(every, arm)
    if not pairs:
        own = any(launch.arm == BASE and launch.samples and not launch.noisy for launch in launches)
        return Checked("undecided", "its calls on other inputs were disturbed", own)
    hidden = [unclaimed_seconds(other) - unclaimed_seconds(base) for base, other in pairs]
    usual = [unclaimed_seconds(base) for base, _ in pairs]
    claimed_s, off_s = median(timed_seconds(other) for _, other in pairs), median(hidden)
    seen_s = claimed_s + max(0.0, off_s)
    most_s = TOLERANCE_S + TOLERANCE * seen_s + LEEWAY * max(0.0, median(usual))
    figures = f"{claimed_s:.3f} s are claimed of {seen_s:.3f} s that its calls on other inputs took outside"
    error_s = median_error(hidden)
    if off_s + (0.0 if len(pairs) >= ENOUGH else error_s) <= most_s:
        return Checked("honest", figures)
    if len(pairs) >= FEWEST and off_s - error_s > most_s:
        return Checked("hidden", figures)
    return Checked("undecided", figures, own=off_s - math.sqrt(2.0) * median_error(usual) > most_s)


def pairs_between_marks(launches: Iterable[Measurement], arm: str) -> list[tuple[Measurement, Measurement]]:
    """Base and the arm on the same inputs, both undisturbed; of who disturbs itself all count: else it could choose."""
    every = list(launches)
    own_noise = disturbs_itself(every, arm)
    good: dict[tuple[str, int], Measurement] = {}
    for launch in every:
        counts = not launch.noisy or (own_noise and launch.arm == arm)
        if launch.round <= CLOCKED_ROUND and launch.samples and counts:
            good.setdefault((launch.arm, launch.round), launch)
    rounds = sorted(number for name, number in good if name == arm and (BASE, number) in good)
    return [(good[BASE, number], good[arm, number]) for number in rounds]
