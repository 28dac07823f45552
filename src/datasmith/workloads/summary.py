"""From raw launches to each arm's ratios: a pure function, so that a run can be graded again from its files."""

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np
from numpy.typing import NDArray

from datasmith.stats.bootstrap import MeanEstimate, hierarchical
from datasmith.stats.multiple import benjamini_hochberg, rounds_needed
from datasmith.stats.paired import PairedEstimate, estimate
from datasmith.tasks.certificate import ArmSummary, WorkloadRatio
from datasmith.workloads import audit, clocked
from datasmith.workloads.base import AUDIT_ROUNDS, BASE, CONTROL, EXPERT, FULL_ROUND, MERGED_ARMS, Measurement
from datasmith.workloads.blame import disturbs_itself, rounds_that_count
from datasmith.workloads.fresh import FRESH_ROUND, is_gone, is_stored, is_unsaved, proven_ratios
from datasmith.workloads.launch import TAMPERED

FALSE_DISCOVERY_RATE = 0.05
LEAST_FLOOR = 0.005
"""No workload's noise floor, as |ln ratio|, is below this."""
ROUNDED = 1e-9
"""An ln ratio of no more is none: what is centred on nothing is off by rounding."""
FEWEST_ROUNDS = 5
"""With fewer undisturbed rounds a workload has a reason instead of a ratio."""
INVALID = "invalid_measurement"
"""A reason that begins with this blames the machine, not the arm."""
UNCHECKED = f"{INVALID}: the arm's clock cannot be checked"
"""... and with this: nothing of the arm is believed."""
OWN_NOISE = f"{UNCHECKED} for its own noise"
"""... and with this the arm is to blame, as base's launches would have been enough to tell."""


@dataclass(slots=True)
class Launches:
    """All launches of one workload, by arm; and whether the expert's patch changes this workload for certain."""

    by_arm: dict[str, list[Measurement]] = field(default_factory=dict)
    expert_changed: bool = False
    _known: "dict[str, _Known]" = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was asked for, by arm."""

    def usable(self, arm: str) -> dict[int, Measurement]:
        """By round, the launches that count: see `rounds_that_count`."""
        return self._asked(arm).usable

    def seconds(self, arm: str) -> dict[int, float]:
        """By round, the median of the samples of a launch that counts, in seconds a call."""
        return self._asked(arm).seconds

    def _asked(self, arm: str) -> "_Known":
        seen = sum(map(len, self.by_arm.values()))
        known = self._known.get(arm)
        if known is None or known.seen != seen:
            own_noise = disturbs_itself(self.everything(), arm)
            usable = rounds_that_count(self.by_arm.get(arm, ()), own_noise=own_noise)
            seconds = {number: median(launch.samples) for number, launch in usable.items()}
            known = self._known[arm] = _Known(seen, own_noise, usable, seconds)
        return known

    def everything(self) -> list[Measurement]:
        """The launches of all arms."""
        return [launch for launches in self.by_arm.values() for launch in launches]

    def reason(self, arm: str) -> str | None:
        """Why an arm has no ratio here, None where nothing speaks against one."""
        own_noise = self._asked(arm).own_noise
        for name in (BASE, arm):
            counts_all = own_noise and name == arm
            launches = (launch for launch in self.by_arm.get(name, ()) if counts_all or not launch.noisy)
            failed = next((launch for launch in launches if launch.reason), None)
            if failed is None or failed.reason is None:
                continue
            if name == arm and failed.round == FULL_ROUND and not failed.reason.startswith(TAMPERED):
                return f"{TAMPERED}: where its clock was checked: {failed.reason}"
            return failed.reason if name == arm or failed.reason.startswith("skipped") else f"{BASE}: {failed.reason}"
        for checked in self.checks(arm):
            if checked.finding == "hidden":
                return f"{TAMPERED}: {checked.figures}"
            if checked.finding == "undecided":
                return f"{OWN_NOISE if checked.own else UNCHECKED}: {checked.figures}"
        if self._was_spared(arm) and not is_settled(self, arm):
            return f"{OWN_NOISE if own_noise else UNCHECKED}: it was not audited, and what is claimed is not refuted"
        rounds = len(self.usable(BASE).keys() & self.usable(arm).keys())
        if rounds >= FEWEST_ROUNDS:
            return None
        noisy = sum(launch.noisy for launch in self.by_arm.get(arm, []) + self.by_arm.get(BASE, []))
        return f"{INVALID}: {rounds} undisturbed rounds are too few, {noisy} launches were disturbed"

    def _was_spared(self, arm: str) -> bool:
        """True where other inputs were tried for what an arm claims, and its clock was not audited.

        Its claim was settled, or it computes something else than base somewhere.
        """
        made = {launch.round for launch in self.by_arm.get(arm, ())} if arm not in MERGED_ARMS else set()
        return min(made, default=0) <= FRESH_ROUND and made.isdisjoint(AUDIT_ROUNDS)

    def checks(self, arm: str) -> list[audit.Checked]:
        """What the launches that check an arm's clock say, where there are any; merged code is not doubted."""
        seen = [] if arm in MERGED_ARMS else self.everything()
        return [checked for find in (audit.finding, clocked.finding) if (checked := find(seen, arm))]


@dataclass(frozen=True, slots=True)
class _Known:
    """What counts of an arm, as long as no more than `seen` launches were made of all; whether it disturbs itself."""

    seen: int
    own_noise: bool
    usable: dict[int, Measurement]
    seconds: dict[int, float]


def by_workload(measurements: Iterable[Measurement]) -> dict[str, Launches]:
    """The launches of each workload, in order of first appearance."""
    found: dict[str, Launches] = {}
    for launch in measurements:
        found.setdefault(launch.workload, Launches()).by_arm.setdefault(launch.arm, []).append(launch)
    return found


def log_ratios(launches: Launches, arm: str) -> NDArray[np.float64]:
    """ln(t_base / t_arm) of each round in which both were timed undisturbed; t is the median of a launch's samples.

    Of launches on other inputs, instead of rounds, where the arm is only faster on the suite's own, as far as they are
    proven: see `fresh.py`.
    """
    return np.array(_fresh_instead(launches, arm) or _usual(launches, arm))


def repeated_ratio(launches: Launches, arm: str) -> float | None:
    """The ratio on the suite's own inputs, where that is not the one that counts."""
    return math.exp(median(_usual(launches, arm))) if _fresh_instead(launches, arm) else None


def is_settled(launches: Launches, arm: str) -> bool:
    """True where a claim was refuted on other inputs, and so clearly that it counts as none, or as slower.

    The launches' `expert_changed` has to be known, see `know_expert`.
    """
    counts = _fresh_instead(launches, arm)
    return bool(counts) and median(counts) <= ROUNDED and is_gone(launches.everything(), arm)


def _usual(launches: Launches, arm: str) -> list[float]:
    base, other = launches.seconds(BASE), launches.seconds(arm)
    return [math.log(base[at] / other[at]) for at in sorted(base.keys() & other.keys())]


def _fresh_instead(launches: Launches, arm: str) -> list[float]:
    if arm == EXPERT or not any(launch.round <= FRESH_ROUND for launch in launches.by_arm.get(arm, ())):
        return []
    usual, expert = _usual(launches, arm), _usual(launches, EXPERT)
    claimed = median(usual) if usual else 0.0
    expert_claimed = median(expert) if expert and launches.expert_changed else 0.0
    seen = launches.everything()
    refuted = is_stored(seen, arm, claimed, expert_claimed) or (claimed > 0.0 and is_unsaved(seen, arm))
    return proven_ratios(seen, arm) if refuted else []


def generator(seed: int, *names: str) -> np.random.Generator:
    """A generator that depends on the seed and the names only, never on what else was measured."""
    return np.random.default_rng([seed, *(zlib.crc32(name.encode()) for name in names)])


def summarise(
    measurements: Iterable[Measurement],
    *,
    seed: int,
    confidence: float = 0.95,
    arms: Sequence[str] = (),
    earlier: Mapping[str, float] | None = None,
) -> dict[str, ArmSummary]:
    """Every arm but base against base, from the raw launches alone; the same launches and seed give the same numbers.

    A workload's noise floor is the largest of 0.5 %, what base2, the same code, was seen to differ from base by (the
    far end of its interval), and what it differed by in earlier runs (`earlier`, see `recorded_floors`). base2 itself
    has to do with 0.5 %: a floor made of its own result would hide every false positive that it is there to show. What
    is asked of an arm's claims follows from these launches alone. `arms` names arms that have a summary even if none of
    their launches was made; those seen are added. Where the expert's is one of them, the speedup of an agent's arm is
    over the workloads that are valid in both: that is what it is scored by.
    """
    workloads = by_workload(measurements)
    seen = (arm for launches in workloads.values() for arm in launches.by_arm)
    others = [arm for arm in dict.fromkeys((*arms, *seen)) if arm != BASE]
    shared = know_expert(workloads, confidence=confidence)
    control, expert = shared[CONTROL], shared[EXPERT]
    floors = largest_floors(_floors(control), earlier or {})
    summaries: dict[str, ArmSummary] = {}
    for arm in others:
        found = shared[arm] if arm in shared else _estimates(workloads, arm, confidence)
        known = {} if arm == CONTROL else floors
        alone = arm == CONTROL or EXPERT not in others
        over = [name for name in found if alone or name in expert]
        summaries[arm] = _summary(arm, workloads, found, known, generator(seed, arm), confidence, over=over)
    return summaries


def know_expert(
    workloads: Mapping[str, Launches], *, confidence: float = 0.95
) -> Mapping[str, Mapping[str, PairedEstimate]]:
    """Note of each workload whether the expert's patch changes it for certain; base2's estimates, and the expert's."""
    control, expert = (_estimates(workloads, arm, confidence) for arm in (CONTROL, EXPERT))
    for name, (_, changed) in _decided(expert, _floors(control)).items():
        workloads[name].expert_changed = changed
    return {CONTROL: control, EXPERT: expert}


def noise_floors(workloads: Mapping[str, Launches], *, confidence: float = 0.95) -> dict[str, float]:
    """The noise floor of each workload where base2 has a ratio, as |ln ratio|, by these launches alone."""
    return _floors(_estimates(workloads, CONTROL, confidence))


def recorded_floors(*controls: ArmSummary) -> dict[str, float]:
    """The noise floor of each workload, as |ln ratio|, that records of base2 show."""
    return largest_floors(
        *(
            {row.workload: _floor(row.low, row.high) for row in control.valid if row.low and row.high}
            for control in controls
        )
    )


def largest_floors(*known: Mapping[str, float]) -> dict[str, float]:
    """Of each workload the largest floor that is known."""
    names = dict.fromkeys(name for floors in known for name in floors)
    return {name: max(floors[name] for floors in known if name in floors) for name in names}


def speedup_over(
    workloads: Mapping[str, Launches], arm: str, names: Iterable[str], rng: np.random.Generator, confidence: float
) -> MeanEstimate | None:
    """Geometric mean of an arm's ratios over the named workloads, with its interval; None where none is named."""
    rounds = [log_ratios(workloads[name], arm) for name in names]
    return hierarchical(rounds, confidence=confidence, rng=rng) if rounds else None


def aa_false_positives(control: ArmSummary) -> tuple[int, int]:
    """(workloads of the A/A arm called changed, workloads of it with rounds enough to be called that).

    Where a single effect among all of them could not show, seeing none says nothing.
    """
    needed = rounds_needed(len(control.valid), FALSE_DISCOVERY_RATE)
    return len(control.changed), sum(row.changed or row.rounds >= needed for row in control.valid)


def _estimates(workloads: Mapping[str, Launches], arm: str, confidence: float) -> dict[str, PairedEstimate]:
    return {
        name: estimate(log_ratios(launches, arm), confidence=confidence)
        for name, launches in workloads.items()
        if arm in launches.by_arm and launches.reason(arm) is None
    }


def _floors(control: Mapping[str, PairedEstimate]) -> dict[str, float]:
    return {name: _floor(found.low, found.high) for name, found in control.items()}


def _floor(low: float, high: float) -> float:
    return max(LEAST_FLOOR, abs(math.log(low)), abs(math.log(high)))


def _summary(
    arm: str,
    workloads: Mapping[str, Launches],
    found: Mapping[str, PairedEstimate],
    floors: Mapping[str, float],
    rng: np.random.Generator,
    confidence: float,
    *,
    over: Sequence[str],
) -> ArmSummary:
    """An arm's ratios, and its speedup over the named workloads."""
    decided = _decided(found, floors)
    rows: list[WorkloadRatio] = []
    for name, launches in workloads.items():
        if name in found:
            rows.append(_row(name, launches, arm, found[name], decided[name], floors.get(name, LEAST_FLOOR)))
        else:
            rows.append(_without_ratio(name, launches.reason(arm) or "it was not launched"))
    whole = speedup_over(workloads, arm, over, rng, confidence)
    return ArmSummary(
        arm=arm,
        speedup=whole.value if whole else None,
        low=whole.low if whole else None,
        high=whole.high if whole else None,
        workloads=tuple(rows),
    )


def _decided(found: Mapping[str, PairedEstimate], floors: Mapping[str, float]) -> dict[str, tuple[float, bool]]:
    """(q, whether the workload is changed) of each estimate of an arm."""
    q_values = dict(zip(found, benjamini_hochberg([estimated.p for estimated in found.values()]), strict=True))
    return {
        name: (q, q < FALSE_DISCOVERY_RATE and abs(math.log(found[name].ratio)) > floors.get(name, LEAST_FLOOR))
        for name, q in q_values.items()
    }


def _row(
    name: str, launches: Launches, arm: str, found: PairedEstimate, decided: tuple[float, bool], floor: float
) -> WorkloadRatio:
    q, changed = decided
    return WorkloadRatio(
        workload=name,
        ratio=found.ratio,
        low=found.low,
        high=found.high,
        p=found.p,
        q=q,
        floor=floor,
        changed=changed,
        rounds=found.n,
        base_s=median(launches.seconds(BASE).values()),
        arm_s=median(launches.seconds(arm).values()),
        repeated=repeated_ratio(launches, arm),
    )


def _without_ratio(name: str, reason: str) -> WorkloadRatio:
    nothing = dict.fromkeys(("ratio", "low", "high", "p", "q", "floor", "base_s", "arm_s"))
    return WorkloadRatio(workload=name, changed=False, rounds=0, reason=reason, **nothing)
