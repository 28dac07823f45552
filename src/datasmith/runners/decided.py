"""Whether a measurement says anything about a pull request, or only that the machine was too busy to tell."""

import math
from collections import Counter
from collections.abc import Sequence

from datasmith.errors import MeasurementFailed
from datasmith.runners.order import Refusal
from datasmith.stats.multiple import rounds_needed
from datasmith.tasks.certificate import WorkloadRatio
from datasmith.workloads.base import EXPERT
from datasmith.workloads.measure import Measured
from datasmith.workloads.summary import FALSE_DISCOVERY_RATE, INVALID

MOST_LOST = 0.25
"""A refusal for want of an effect stands where no larger share of the workloads was lost to the machine."""


def decided(measured: Measured) -> Measured | Refusal:
    """The same where it can be certified, with whatever status; a refusal where no workload can be measured at all.

    Raises:
        MeasurementFailed: the machine was too busy to tell: that says nothing about the pull request.
    """
    rows = measured.summaries[EXPERT].workloads
    if not any(row.ratio is not None for row in rows):
        return _nothing(rows)
    if not any(row.changed and (row.ratio or 0.0) > 1.0 for row in rows):
        lost = _lost(rows)
        if lost:
            raise MeasurementFailed(f"nothing can be decided on this machine now: {lost}")
    return measured


def _nothing(rows: Sequence[WorkloadRatio]) -> Refusal:
    reason = Counter(row.reason or "no launch" for row in rows).most_common(1)[0][0]
    if any((row.reason or "").startswith(INVALID) for row in rows):
        raise MeasurementFailed(f"no workload could be measured on this machine now: {reason}")
    return Refusal(f"no workload could be measured: {reason}")


def _lost(rows: Sequence[WorkloadRatio]) -> str:
    """Which effects may have been lost with the rounds that the host disturbed; empty where none was."""
    valid = [row for row in rows if row.ratio is not None]
    needed = rounds_needed(len(valid), FALSE_DISCOVERY_RATE)
    for row in valid:
        assert row.ratio is not None and row.low is not None
        if row.rounds < needed and row.low > 1.0 and math.log(row.ratio) > (row.floor or 0.0):
            return f"{row.workload} {row.ratio:.3f} in {row.rounds} undisturbed rounds, of which {needed} are needed"
    invalid = [row for row in rows if (row.reason or "").startswith(INVALID)]
    if len(invalid) > MOST_LOST * len(rows):
        return f"{len(invalid)} of {len(rows)} workloads: {invalid[0].workload} {invalid[0].reason}"
    return ""
