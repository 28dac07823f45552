"""Other channels beside a certificate's times: what counts as a disagreement."""

import pytest

from datasmith.evaluation.confirm import disagree, slower
from datasmith.tasks.certificate import WorkloadRatio
from datasmith.workloads.fastest import Fastest
from datasmith.workloads.instructions import Counted

NO_QUICK, NO_COUNT = Fastest("m.time_x", reason="too long"), Counted("m.time_x", None, "no counter")


def timed(ratio: float, *, changed: bool = True) -> WorkloadRatio:
    low, high = ratio * 0.99, ratio * 1.01
    return WorkloadRatio(
        workload="m.time_x", ratio=ratio, low=low, high=high, p=0.001, q=0.001, floor=0.02, changed=changed, rounds=12,
        base_s=0.005, arm_s=0.005 / ratio,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "instructions", "expected"),
    [(1.5, 0.9, True), (0.9, 1.5, True), (1.5, 1.2, False), (1.5, 0.998, False), (1.01, 0.9, False)],
)
def test_instructions_disagree_beyond_both_noises_only(ratio: float, instructions: float, expected: bool) -> None:
    """A count within its half percent, or a time within the workload's floor, contradicts nothing."""
    work = Counted("m.time_x", instructions)
    assert disagree(timed(ratio), NO_QUICK, work) is expected
    assert disagree(timed(ratio, changed=False), NO_QUICK, work) is False
    assert disagree(timed(ratio), NO_QUICK, NO_COUNT) is False


@pytest.mark.parametrize(
    ("ratio", "low", "high", "expected"),
    [
        (1.5, 0.90, 0.98, True),
        (0.9, 1.10, 1.20, True),
        (1.5, 1.10, 1.20, False),
        (1.5, 0.96, 1.02, False),
        (1.5, 0.98, 0.997, False),
    ],
)
def test_the_fastest_samples_disagree_with_their_whole_interval(
    ratio: float, low: float, high: float, expected: bool
) -> None:
    """One that reaches into half a percent of no change contradicts nothing."""
    quick = Fastest("m.time_x", (low + high) / 2, low, high, 20)
    assert disagree(timed(ratio), quick, NO_COUNT) is expected


def test_slower_is_what_changed_for_the_worse() -> None:
    """Noise is not."""
    assert [slower(timed(0.8)), slower(timed(1.2)), slower(timed(0.8, changed=False))] == [True, False, False]
