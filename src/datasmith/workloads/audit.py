"""Inside against outside: an arm has to claim the seconds that our own clock saw pass.

The clock inside is read by the process that is measured, so it proves nothing. What passed outside includes starting,
importing and setting up. So an arm that claims a speed-up beyond its noise, or spends more time outside its calls than
base does, is launched a few times more, in two ways as different as can be: with all its calls, and with all its calls
left out (the same launch, but the timed function does nothing). Wall time that is not claimed in the first and was not
needed in the second was hidden.

How many calls an audit launch makes follows from the arm's own claim: by that they take 0.6 seconds, and twice as long
as what is around them, so that they outweigh the scatter of starting a process and of setting up. Who claims a
thousandfold speed makes thousands of calls for each one of base, and can hide none of them.

Only the wall clock is compared, within one launch at a time: the claim is wall time, too, so whatever others take from
the core stretches both sides and cancels. The cpu counter must not be asked instead: on a core that is shared by two, a
clock that runs at half speed claims just the cpu time that was used.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from datasmith.stats.bootstrap import hierarchical
from datasmith.stats.paired import interval
from datasmith.workloads.base import AUDIT_ROUNDS, BASE, EMPTY_ROUND, FULL_ROUND, Measurement
from datasmith.workloads.blame import disturbs_itself
from datasmith.workloads.calibrate import LaunchSize
from datasmith.workloads.launch import MOST_SAMPLES

Finding = Literal["honest", "hidden", "undecided"]

AUDIT_LAUNCHES = 4
MOST_AUDIT_LAUNCHES = 8
"""Audit launches of each of the two sorts, for base and for the arm; more of them while they scatter too much."""
AUDIT_TIMED_S = 0.6
"""An audit launch makes so many calls that, by the arm's own claim, they take this long (or its usual number)."""
AUDIT_PER_SETUP = 2.0
"""... or so many times as long as what is around them: the scatter of a long set-up must not hide them."""
AUDIT_WALL_S = 1.5
AUDIT_LONGEST_S = 12.0
"""... or fewer, so that a launch with all its set-up is over by the first (where that is short) or by the second.

It may take as long as its usual ones in any case.
"""
CLAIM = 0.02
"""A submission that claims to be faster by this much, as ln ratio, and not by chance, is audited."""
LARGE_CLAIM = math.log(1.1)
"""A claim that speaks for itself, and says nothing of an arm's other workloads."""
STARTLING_CLAIM = math.log(1.3)
"""A larger one is audited however noisy the machine is."""
SUSPECT_S = 0.005
SUSPECT_SHARE = 0.03
"""Audit an arm that spends this many seconds, plus this share of base's timed seconds, more than base outside calls."""
TOLERANCE = 0.05
TOLERANCE_S = 0.010
"""An arm that certainly leaves more than this share of what its calls took, and these seconds, unclaimed hides them.

What base leaves unclaimed is allowed on top.
"""
BELIEVED = 0.15
"""An arm that certainly leaves less than this share, and TOLERANCE_S, is believed; in between nothing is known."""
DRIFT = math.log(1.15)
"""An arm that is slower than this in the audit, against what it claims in the rounds, knows which of them it is in."""
STEADY = 0.05
"""Standard deviation of base's launches, as ln, up to which they are of one sort."""
MEDIAN_ERROR = 2.0 * 1.25
"""Two standard errors of a median, per standard deviation over the root of n."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What launches that check an arm's clock say of it, with one line of figures.

    hidden: it certainly claims less than passed. undecided: nobody can tell; `own`: because of noise of the arm alone,
    as it would be decided if the arm scattered as base does.
    """

    finding: Finding
    figures: str
    own: bool = False


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


def claims(
    rounds: Mapping[str, NDArray[np.float64]], floors: Mapping[str, float], rng: np.random.Generator
) -> frozenset[str]:
    """The workloads whose log ratios, round by round, claim a speed-up that has to be checked.

    Those are faster whose own interval is above 1, and that by more than their noise floor (as ln ratio: what the
    control, the same code, was seen to differ by); and, where all but the large ones of them are faster in their mean,
    each workload that has a part in it. A large claim needs no certainty: who lies in most rounds, and not in all, has
    a wide interval and the estimate that it wants.
    """
    usable = {name: ratios for name, ratios in rounds.items() if len(ratios) >= 2}
    faster = {name for name, ratios in usable.items() if float(np.median(ratios)) > CLAIM}
    beyond = {name for name in faster if float(np.median(usable[name])) > floors.get(name, 0.0)}
    certain = {name for name in beyond if interval(usable[name])[0] > 1.0}
    large = {name for name in certain if float(np.median(usable[name])) > LARGE_CLAIM}
    others = [ratios for name, ratios in usable.items() if name not in large]
    together = bool(others) and hierarchical(others, rng=rng).low > 1.0
    bold = {name for name in faster if float(np.median(usable[name])) > _bold(floors.get(name, 0.0))}
    return frozenset(faster if together else certain | bold)


def _bold(floor: float) -> float:
    """The ln ratio beyond which a claim is checked even if its interval holds 1."""
    return max(LARGE_CLAIM, min(floor, STARTLING_CLAIM))


def is_suspect(base: Mapping[int, Measurement], arm: Mapping[int, Measurement]) -> bool:
    """True where launches of `arm` (by round) certainly spend so much more time than base's outside their calls."""
    shared = sorted(base.keys() & arm.keys())
    if len(shared) < 2:
        return False
    usual = [unclaimed_seconds(base[number]) for number in shared]
    excess = [unclaimed_seconds(arm[number]) - seconds for number, seconds in zip(shared, usual, strict=True)]
    return median(excess) - difference_error(excess, usual) > SUSPECT_S + SUSPECT_SHARE * median(
        timed_seconds(base[number]) for number in shared
    )


def audit_size(size: LaunchSize, usual: Sequence[Measurement], limit_s: float, *, number_is_fixed: bool) -> LaunchSize:
    """The calls of an audit launch of an arm, from its `usual` launches of `size`.

    More calls per sample; more samples where the benchmark fixes the calls of one.
    """
    claimed_s = median(map(timed_seconds, usual))
    around_s = median(map(unclaimed_seconds, usual))
    timed_s = max(AUDIT_TIMED_S, AUDIT_PER_SETUP * around_s)
    wanted = timed_s / max(claimed_s, 1e-9)
    longest_s = min(max(AUDIT_WALL_S, timed_s + around_s), AUDIT_LONGEST_S, limit_s / 2.0)
    if number_is_fixed:
        room = min(longest_s / max(claimed_s + around_s, 1e-9), MOST_SAMPLES / size.repeat)
        return replace(size, repeat=int(size.repeat * max(1.0, min(wanted, room))))
    room = (longest_s - around_s) / max(claimed_s, 1e-9)
    return replace(size, number=int(size.number * max(1.0, min(wanted, room))))


def finding(measurements: Sequence[Measurement], arm: str) -> Checked | None:
    """What the audit launches of one workload say of an arm; None: it was not audited.

    undecided: the launches scatter too much to tell, or the arm claims another pace in the audit than in the rounds.
    That is no accusation, and no score either.
    """
    other = _unclaimed(measurements, arm)
    if other is None:
        return None
    base = _unclaimed(measurements, BASE)
    if base is None:
        return Checked("undecided", "base has no audit launches to compare with")
    error = math.hypot(other.error_s, base.error_s)
    figures = (
        f"{other.claimed_s:.3f} s are claimed of {other.seen_s:.3f} s (+-{error:.3f} s) that the calls took outside"
    )
    if math.isinf(error):
        figures = "too few of the launches that check it were undisturbed"
    found = _told(base, other, error)
    if found == "undecided":
        return Checked(found, figures, own=_told(base, other, math.sqrt(2.0) * base.error_s) != found)
    if found == "honest" and (drift := _drift(measurements, arm)) > DRIFT:
        figures = f"calls take {math.exp(drift):.2f} times as long as in the rounds once they are checked"
        return Checked("undecided", figures, own=True)
    return Checked(found, figures)


def _told(base: Unclaimed, other: Unclaimed, error_s: float) -> Finding:
    """What is certain of an arm, with what base leaves unclaimed allowed to it."""
    usual_s = max(0.0, base.hidden_s) / max(base.seen_s, 1e-9) * other.seen_s
    if other.hidden_s - error_s > usual_s + TOLERANCE * other.seen_s + TOLERANCE_S:
        return "hidden"
    if other.hidden_s + error_s > usual_s + BELIEVED * other.seen_s + TOLERANCE_S:
        return "undecided"
    return "honest"


def _drift(measurements: Sequence[Measurement], arm: str) -> float:
    """How much slower (as ln) an arm claims to be in the audit than in the rounds, beyond base's change.

    Two standard errors are taken off: what scatter explains is no drift. Means, as a core of two speeds gives launches
    of two sorts, and the median of few of them is one or the other; where base is steady medians, too, as they are what
    is scored. How much launches scatter is asked of base: scatter of the arm's own excuses only as far as it is there
    in the rounds and in the audit.
    """
    checked, usual = _log_paces(measurements, arm, checked=True), _log_paces(measurements, arm, checked=False)
    base_checked, base_usual = (_log_paces(measurements, BASE, checked=flag) for flag in (True, False))
    if min(map(len, (checked, usual, base_checked, base_usual))) < 2:
        return 0.0
    machine = max(stdev(base_checked), stdev(base_usual))
    scatter = max(machine, min(stdev(checked), stdev(usual)))
    variance = scatter**2 * (1 / len(checked) + 1 / len(usual))
    variance += machine**2 * (1 / len(base_checked) + 1 / len(base_usual))
    error = math.sqrt(variance)
    means = (fmean(checked) - fmean(usual)) - (fmean(base_checked) - fmean(base_usual)) - 2.0 * error
    if machine > STEADY:
        return means
    medians = (median(checked) - median(usual)) - (median(base_checked) - median(base_usual)) - MEDIAN_ERROR * error
    return max(means, medians)


def _counting(measurements: Sequence[Measurement], arm: str) -> list[Measurement]:
    """The launches of an arm that gave times and were not disturbed, unless it disturbs itself."""
    own_noise = disturbs_itself(measurements, arm)
    return [
        launch for launch in measurements if launch.arm == arm and launch.samples and (own_noise or not launch.noisy)
    ]


def _log_paces(measurements: Sequence[Measurement], arm: str, *, checked: bool) -> list[float]:
    """Seconds of a call, as ln, in each undisturbed launch of an arm: those of the audit, or those of the rounds."""
    ours = _counting(measurements, arm)
    wanted = (launch for launch in ours if (launch.round == FULL_ROUND if checked else launch.round >= 0))
    return [math.log(median(launch.samples)) for launch in wanted]


def _unclaimed(measurements: Sequence[Measurement], arm: str) -> Unclaimed | None:
    if not any(launch.arm == arm and launch.round in AUDIT_ROUNDS for launch in measurements):
        return None
    ours = _counting(measurements, arm)
    full = [launch for launch in ours if launch.round == FULL_ROUND]
    empty = [launch for launch in ours if launch.round == EMPTY_ROUND]
    if len(full) < 2 or len(empty) < 2:
        return Unclaimed(0.0, math.inf, 0.0)
    with_calls, without = (
        [unclaimed_seconds(launch) for launch in full],
        [unclaimed_seconds(launch) for launch in empty],
    )
    return Unclaimed(
        hidden_s=median(with_calls) - median(without),
        error_s=math.hypot(median_error(with_calls), median_error(without)),
        claimed_s=median(map(timed_seconds, full)),
    )


def median_error(values: Sequence[float]) -> float:
    """Two standard errors of the values' median; infinite where one value alone says nothing of it."""
    return MEDIAN_ERROR * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf


def difference_error(differences: Sequence[float], base: Sequence[float]) -> float:
    """Two standard errors of the median of what an arm differs by from base.

    By its scatter or base's, whichever is less: scatter of its own making excuses nobody.
    """
    return min(median_error(differences), math.sqrt(2.0) * median_error(base))
