"""Whether a measurement says anything about a pull request, or only that the machine was too busy to tell."""

from collections import Counter
from collections.abc import Sequence

from datasmith.errors import MeasurementFailed
from datasmith.runners.order import Refusal
from datasmith.tasks.certificate import WorkloadRatio
from datasmith.workloads.base import EXPERT
from datasmith.workloads.measure import Measured
from datasmith.workloads.summary import INVALID
from datasmith.workloads.undecided import undecided


def decided(measured: Measured) -> Measured | Refusal:
    """The same where it can be certified, with whatever status; a refusal where no workload can be measured at all.

    Raises:
        MeasurementFailed: the machine was too busy to tell: that says nothing about the pull request.
    """
    rows = measured.summaries[EXPERT].workloads
    if not any(row.ratio is not None for row in rows):
        return _nothing(rows)
    lost = undecided(rows)
    if lost:
        raise MeasurementFailed(f"nothing can be decided on this machine now: {lost}")
    return measured


def _nothing(rows: Sequence[WorkloadRatio]) -> Refusal:
    reason = Counter(row.reason or "no launch" for row in rows).most_common(1)[0][0]
    if any((row.reason or "").startswith(INVALID) for row in rows):
        raise MeasurementFailed(f"no workload could be measured on this machine now: {reason}")
    return Refusal(f"no workload could be measured: {reason}")
