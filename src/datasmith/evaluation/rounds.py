"""From raw launches to ln ratios per round, paired: the ground that intervals stand on."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from datasmith.evaluation.intervals import RoundRatios
from datasmith.workloads.base import BASE, EXPERT, Measurement
from datasmith.workloads.summary import by_workload

ArmTimes = Mapping[str, Mapping[int, float]]
"""Workload -> round -> median seconds per call."""


def arm_times(launches: Iterable[Measurement], arms: Collection[str]) -> dict[str, dict[str, dict[int, float]]]:
    """Each of these arms -> its times, from the launches that count (`Launches.usable`)."""
    times: dict[str, dict[str, dict[int, float]]] = {}
    for workload, found in by_workload(launches).items():
        for arm in found.by_arm.keys() & arms:
            rounds = found.seconds(arm)
            if rounds:
                times.setdefault(arm, {})[workload] = rounds
    return times


def round_ratios(
    times: Mapping[str, ArmTimes],
    arms: Mapping[str, str | None],
    instead: Mapping[str, Sequence[float]] | None = None,
) -> tuple[RoundRatios, ...]:
    """ln(t_base / t_arm) per round for the agent's arm and the expert's, over the rounds in which all were timed.

    `arms`: workload -> the agent's arm there; None stands for code that was left unchanged: its ln ratio is 0 in each
    round. `instead` holds the agent's ln ratios of workloads in which it is only faster on the suite's own inputs: they
    are of other launches, and not as many.
    """
    found = []
    for workload, arm in arms.items():
        base, expert = times.get(BASE, {}).get(workload, {}), times.get(EXPERT, {}).get(workload, {})
        agent = base if arm is None else times.get(arm, {}).get(workload, {})
        rounds = sorted(base.keys() & expert.keys() & agent.keys())
        ours = [math.log(base[number] / agent[number]) for number in rounds]
        theirs = [math.log(base[number] / expert[number]) for number in rounds]
        if rounds:
            counted = (instead or {}).get(workload, ours)
            found.append(RoundRatios(workload, tuple(counted), tuple(theirs)))
    return tuple(found)
