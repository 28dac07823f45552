"""Inside against outside: an arm has to claim the seconds that our own clock saw pass.

The clock inside is read by the process that is measured, so it proves nothing. What passed outside includes starting,
importing and setting up. So an arm that claims a speed-up, or spends more time outside its calls than base does, is
launched a few times more, in two ways as different as can be: with all its calls, and with all its calls left out (the
same launch, but the timed function does nothing). Wall time that is not claimed in the first and was not needed in the
second was hidden.

Only the wall clock is compared, within one launch at a time: the claim is wall time, too, so whatever others take from
the core stretches both sides and cancels. The cpu counter must not be asked instead: on a core that is shared by two, a
clock that runs at half speed claims just the cpu time that was used.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median, stdev
from typing import Literal

from datasmith.workloads.base import BASE, Measurement

Finding = Literal["honest", "hidden", "undecided"]

FULL_ROUND = -2
"""Round of an audit launch that makes its calls."""
EMPTY_ROUND = -3
"""Round of an audit launch that leaves its calls out."""
AUDIT_LAUNCHES = 4
MOST_AUDIT_LAUNCHES = 12
"""Audit launches of each of the two sorts, for base and for the arm; more of them while they scatter too much."""
AUDIT_FACTOR = 4
"""An audit launch makes this many times the usual calls, so that they weigh more than the scatter of set-up."""
CLAIM = 0.02
"""An agent's arm that claims to be faster by this much, as ln ratio, is audited in any case."""
SUSPECT_S = 0.005
SUSPECT_SHARE = 0.03
"""Audit an arm that spends this many seconds, plus this share of base's timed seconds, more than base outside calls."""
TOLERANCE = 0.05
TOLERANCE_S = 0.010
"""An arm may leave this share of what its calls took, and these seconds, unclaimed beyond the share that base does."""
MEDIAN_ERROR = 2.0 * 1.25
"""Two standard errors of a median, per standard deviation over the root of n."""


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """Seconds that calls took outside and nobody claims, how uncertain that is, and the seconds that are claimed."""

    hidden_s: float
    error_s: float
    claimed_s: float

    @property
    def seen_s(self) -> float:
        """What the calls took by our clock."""
        return self.claimed_s + max(0.0, self.hidden_s)


def timed_seconds(measurement: Measurement) -> float:
    """Seconds that a launch claims to have spent inside its timed calls."""
    return math.fsum(measurement.samples) * measurement.number


def unclaimed_seconds(measurement: Measurement) -> float:
    """Wall seconds of a launch outside its timed calls, if its claim is true."""
    return measurement.wall_s - timed_seconds(measurement)


def is_suspect(base: Mapping[int, Measurement], arm: Mapping[int, Measurement]) -> bool:
    """True where launches of `arm` (by round) spend so much more time than base's outside their calls to be audited."""
    shared = sorted(base.keys() & arm.keys())
    if not shared:
        return False
    excess = median(unclaimed_seconds(arm[number]) - unclaimed_seconds(base[number]) for number in shared)
    return excess > SUSPECT_S + SUSPECT_SHARE * median(timed_seconds(base[number]) for number in shared)


def finding(measurements: Sequence[Measurement], arm: str) -> tuple[Finding, str] | None:
    """What the audit launches of one workload say of an arm, with one line of figures; None: it was not audited.

    undecided: the launches scatter too much to tell. That is no accusation, and no score either.
    """
    base, other = _unclaimed(measurements, BASE), _unclaimed(measurements, arm)
    if other is None:
        return None
    if base is None:
        return "undecided", "base has no audit launches to compare with"
    usual = max(0.0, base.hidden_s) / max(base.seen_s, 1e-9) * other.seen_s
    allowed = usual + TOLERANCE * other.seen_s + TOLERANCE_S
    error = math.hypot(other.error_s, base.error_s)
    figures = (
        f"{other.claimed_s:.3f} s are claimed of {other.seen_s:.3f} s (+-{error:.3f} s) that the calls took outside"
    )
    if other.hidden_s - error > allowed:
        return "hidden", figures
    return ("honest" if other.hidden_s + error <= allowed else "undecided"), figures


def _unclaimed(measurements: Sequence[Measurement], arm: str) -> Unclaimed | None:
    ours = [launch for launch in measurements if launch.arm == arm and launch.samples and not launch.noisy]
    full = [launch for launch in ours if launch.round == FULL_ROUND]
    empty = [launch for launch in ours if launch.round == EMPTY_ROUND]
    if not any(launch.arm == arm and launch.round in {FULL_ROUND, EMPTY_ROUND} for launch in measurements):
        return None
    if len(full) < 2 or len(empty) < 2:
        return Unclaimed(0.0, math.inf, 0.0)
    with_calls, without = (
        [unclaimed_seconds(launch) for launch in full],
        [unclaimed_seconds(launch) for launch in empty],
    )
    return Unclaimed(
        hidden_s=median(with_calls) - median(without),
        error_s=math.hypot(_error(with_calls), _error(without)),
        claimed_s=median(map(timed_seconds, full)),
    )


def _error(values: Sequence[float]) -> float:
    return MEDIAN_ERROR * stdev(values) / math.sqrt(len(values))
