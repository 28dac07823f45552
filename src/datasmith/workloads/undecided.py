"""Which effects of a measurement may have been lost with the rounds that the host disturbed."""

import math
from collections.abc import Collection, Sequence

from datasmith.stats.multiple import rounds_needed
from datasmith.tasks.certificate import WorkloadRatio
from datasmith.workloads.summary import FALSE_DISCOVERY_RATE, INVALID

MOST_LOST = 0.25
"""A refusal for want of an effect stands where no larger share of the workloads was lost to the machine."""


def undecided(rows: Sequence[WorkloadRatio], changed_before: Collection[str] = ()) -> str:
    """Why the expert's rows do not say what the patch does; empty where they do.

    That is so where no effect is seen and some may have been lost; and where a workload that was seen to change in an
    earlier measurement was lost; and where nothing is left, the machine having taken any of it.
    """
    gone = [row for row in rows if row.workload in changed_before and (row.reason or "").startswith(INVALID)]
    if gone:
        return f"{gone[0].workload} {gone[0].reason}"
    if any(row.changed and (row.ratio or 0.0) > 1.0 for row in rows):
        return ""
    valid = [row for row in rows if row.ratio is not None]
    invalid = [row for row in rows if (row.reason or "").startswith(INVALID)]
    if invalid and not valid:
        return f"no workload could be measured: {invalid[0].workload} {invalid[0].reason}"
    needed = rounds_needed(len(valid), FALSE_DISCOVERY_RATE)
    for row in valid:
        assert row.ratio is not None and row.low is not None
        if row.rounds < needed and row.low > 1.0 and math.log(row.ratio) > (row.floor or 0.0):
            return f"{row.workload} {row.ratio:.3f} in {row.rounds} undisturbed rounds, of which {needed} are needed"
    if len(invalid) > MOST_LOST * len(rows):
        return f"{len(invalid)} of {len(rows)} workloads: {invalid[0].workload} {invalid[0].reason}"
    return ""
