"""A task of the few workloads that the expert's patch seems to change: for suites that nobody can measure as a whole.

A screening launches every workload in two rounds, base against the expert's patch, and ranks them by what it sees,
faster or slower alike. Those that come first are measured anew: no launch of a screening counts in a certificate, so
what it happened to overrate is not overrated there.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import median

from datasmith.errors import MeasurementFailed
from datasmith.runners.order import Verified
from datasmith.workloads.base import BASE, EXPERT
from datasmith.workloads.measure import Measured, MeasurePlan
from datasmith.workloads.summary import Launches, by_workload

ROUNDS = 2
ARMS = (BASE, EXPERT)


def screening_plan(plan: MeasurePlan) -> MeasurePlan:
    """The same on the same core, in so few rounds that no interval could be given."""
    return plan.at_most(ROUNDS)


def screened(verified: Verified, seen: Measured, most: int) -> Verified:
    """The same with at most `most` workloads, in the suite's order: those in which the screening saw most.

    A workload that only the expert's patch fails comes first, one that base fails last.

    Raises:
        MeasurementFailed: the machine was too busy to launch some.
    """
    launches = by_workload(seen.measurements)
    effects = {workload.id: effect(launches, workload.id) for workload in verified.workloads}
    ranked = sorted(effects, key=lambda name: (-effects[name], name))
    chosen = set(ranked[:most])
    kept = tuple(workload for workload in verified.workloads if workload.id in chosen)
    return replace(verified, workloads=kept, screened_out=len(verified.workloads) - len(kept))


def effect(launches: Mapping[str, Launches], workload: str) -> float:
    """The |ln ratio| of each arm's fastest launch; infinite where only the expert's patch fails, -1 where base does.

    The host only ever makes a launch slower, so those that it disturbed can be among them: here nothing is decided but
    what is looked at closely.

    Raises:
        MeasurementFailed: every launch of it failed while the host disturbed it.
    """
    fastest: dict[str, float] = {}
    for arm in ARMS:
        made = [one for one in launches[workload].by_arm.get(arm, ()) if one.round >= 0 or one.reason]
        if any(one.reason and not one.noisy for one in made):
            return -1.0 if arm == BASE else math.inf
        timed = [median(one.samples) for one in made if one.samples]
        if not timed:
            raise MeasurementFailed(
                f"nothing can be decided on this machine now: {workload} was never launched in peace"
            )
        fastest[arm] = min(timed)
    return abs(math.log(fastest[BASE] / fastest[EXPERT]))
