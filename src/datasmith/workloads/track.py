"""One workload on its way through the rounds: who still takes part, and when there is nothing left to learn."""

from typing import Protocol

import numpy as np

from datasmith.stats.paired import expected_half_width
from datasmith.workloads import audit, clocked
from datasmith.workloads.base import BASE, CONTROL, MERGED_ARMS, Measurement, Workload
from datasmith.workloads.calibrate import LaunchSize
from datasmith.workloads.launch import START_ALLOWANCE_S
from datasmith.workloads.summary import Launches, is_settled, log_ratios

HOPELESS_AFTER = 6
HOPELESS_SHARE = 0.34
"""After six rounds a workload is given up if fewer than a third of them were undisturbed in some arm of merged code."""


class Stop(Protocol):
    """The part of a measuring plan that says when a workload is done."""

    @property
    def min_rounds(self) -> int:
        """Never before so many rounds."""

    @property
    def target_half_width(self) -> float:
        """When half of every ratio's interval is expected to be below this share of it."""

    @property
    def confidence(self) -> float:
        """Of those intervals."""

    @property
    def seed(self) -> int:
        """Of what is drawn."""

    @property
    def max_rounds(self) -> int:
        """The last one, where enough of them were undisturbed."""

    @property
    def most_rounds(self) -> int:
        """The last one in any case."""

    def first_stop(self, workloads: int) -> int:
        """The first round after which a workload may stop."""


class Track:
    """One workload on its way through the rounds."""

    def __init__(self, workload: Workload, arms: tuple[str, ...]) -> None:
        self.workload = workload
        self.arms = list(arms)
        self.sizes: dict[str, LaunchSize] = {}
        self.number_is_fixed = False
        self.launches = Launches()

    def add(self, measurement: Measurement) -> None:
        """Keep a launch; an arm that gave a reason leaves the track, unless the host disturbed it meanwhile."""
        self.launches.by_arm.setdefault(measurement.arm, []).append(measurement)
        if measurement.reason is not None and not measurement.noisy:
            self.give_up(measurement.arm)

    def give_up(self, arm: str) -> None:
        """Launch an arm no more."""
        if arm in self.arms:
            self.arms.remove(arm)

    @property
    def compares(self) -> bool:
        """True while base still stands, and an arm whose result is wanted with it."""
        wanted = {arm for arm in self.launches.by_arm if arm not in {BASE, CONTROL}} or {CONTROL}
        return BASE in self.arms and any(arm in wanted for arm in self.arms)

    def finished(self, plan: Stop, played: int, workloads: int) -> bool:
        """True where nothing is left to learn: precise enough, or no arm left to compare. Never: significant.

        Where the host disturbed so many rounds that no effect could show in the others, there are more.
        """
        if not self.compares or self._hopeless(played):
            return True
        if min(played, self._undisturbed()) < plan.first_stop(workloads):
            return played >= plan.most_rounds
        return played >= plan.max_rounds or all(self._precise(arm, plan) for arm in self.arms if arm != BASE)

    def looks_odd(self, arm: str) -> bool:
        """True where an arm spends more time than base outside its calls."""
        return audit.is_suspect(self.launches.usable(BASE), self.launches.usable(arm))

    def audit_size(self, arm: str) -> LaunchSize:
        """The calls of one launch that checks an arm's clock."""
        usual = tuple(self.launches.usable(arm).values())
        limit_s = self.workload.timeout_s + START_ALLOWANCE_S
        return audit.audit_size(self.sizes[arm], usual, limit_s, number_is_fixed=self.number_is_fixed)

    def claim(self, arm: str) -> float:
        """The ln ratio that an arm has in the rounds."""
        return float(np.median(log_ratios(self.launches, arm)))

    def is_settled(self, arm: str) -> bool:
        """True where an arm's claim was refuted, and counts as none."""
        return is_settled(self.launches, arm)

    def is_spared(self, arm: str) -> bool:
        """True where that was told by a clock that ours agreed with on other inputs: no other claim of it counts."""
        checked = clocked.finding(self.launches.everything(), arm)
        return checked is not None and checked.finding == "honest" and self.is_settled(arm)

    def undecided(self, arm: str) -> bool:
        """True while an audited arm's launches scatter too much to tell."""
        found = audit.finding(self.launches.everything(), arm)
        return found is not None and found.finding == "undecided"

    def _undisturbed(self) -> int:
        """Rounds in which the arm of merged code that was disturbed most can be compared with base.

        A submission that makes noise of its own prolongs nothing.
        """
        return min((len(log_ratios(self.launches, arm)) for arm in self._merged() if arm != BASE), default=0)

    def _hopeless(self, played: int) -> bool:
        """True where the host disturbs so many launches that the workload will end as an invalid measurement."""
        good = min((len(self.launches.usable(arm)) for arm in self._merged()), default=0)
        return played >= HOPELESS_AFTER and good < HOPELESS_SHARE * played

    def _merged(self) -> list[str]:
        """The arms of merged code; all arms where that is base alone."""
        merged = [arm for arm in self.arms if arm in MERGED_ARMS]
        return merged if len(merged) > 1 else self.arms

    def _precise(self, arm: str, plan: Stop) -> bool:
        rounds = log_ratios(self.launches, arm)
        if len(rounds) < plan.min_rounds:
            return False
        return expected_half_width(rounds, confidence=plan.confidence) <= plan.target_half_width
