"""Whether a measurement says anything about a pull request, or only that the machine was too busy to tell."""

from collections import Counter
from collections.abc import Callable

from datasmith.errors import MeasurementFailed
from datasmith.runners.order import Refusal
from datasmith.workloads.base import EXPERT
from datasmith.workloads.measure import Measured
from datasmith.workloads.undecided import undecided

ATTEMPTS = 3
"""How often a pull request is measured, where the machine is too busy each time."""


def until_decided(
    measure: Callable[[Callable[[str], None]], Measured | Refusal], progress: Callable[[str], None]
) -> Measured | Refusal:
    """What `measure` gives; it is called again where the machine was too busy, and `progress` says that it is.

    Raises:
        MeasurementFailed: the machine was too busy each time.
    """
    what = "measure"

    def say(step: str) -> None:
        progress(f"{what} {step}")

    for _ in range(ATTEMPTS - 1):
        try:
            return measure(say)
        except MeasurementFailed:
            what = "measure again (the machine was too busy)"
    return measure(say)


def decided(measured: Measured) -> Measured | Refusal:
    """The same where it can be certified, with whatever status; a refusal where no workload can be measured at all.

    Raises:
        MeasurementFailed: the machine was too busy to tell: that says nothing about the pull request.
    """
    rows = measured.summaries[EXPERT].workloads
    lost = undecided(rows)
    if lost:
        raise MeasurementFailed(f"nothing can be decided on this machine now: {lost}")
    if any(row.ratio is not None for row in rows):
        return measured
    reason = Counter(row.reason or "no launch" for row in rows).most_common(1)[0][0]
    return Refusal(f"no workload could be measured: {reason}")
