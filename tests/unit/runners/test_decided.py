"""What a measurement says of a pull request, and what only of the machine."""

from collections.abc import Callable

import pytest

from datasmith.errors import MeasurementFailed
from datasmith.runners.decided import ATTEMPTS, decided, until_decided
from datasmith.runners.order import Refusal
from datasmith.tasks.certificate import ArmSummary, Cost, WorkloadRatio
from datasmith.workloads.measure import Measured
from datasmith.workloads.summary import INVALID

BUSY = f"{INVALID}: 2 undisturbed rounds are too few"


def row(reason: str | None = None, ratio: float = 1.0, rounds: int = 12, *, changed: bool = False) -> WorkloadRatio:
    known = {
        "ratio": ratio, "low": ratio * 0.9, "high": ratio * 1.1, "p": 0.03, "q": 0.2, "floor": 0.05,
        "base_s": 1.0, "arm_s": 1.0 / ratio,
    }  # fmt: skip
    given = dict.fromkeys(known, None) if reason else known
    return WorkloadRatio(workload="m.time_x", rounds=rounds, changed=changed, reason=reason, **given)


def measured(*rows: WorkloadRatio) -> Measured:
    arm = ArmSummary(arm="expert", speedup=None, low=None, high=None, workloads=rows)
    return Measured((), {"expert": arm}, Cost(launches=0, wall_s=1.0, cpu_s=1.0, timed_s=0.0))


def test_a_suite_that_cannot_be_measured_is_refused() -> None:
    """By the most frequent reason; one workload with a ratio is enough to certify something."""
    hangs = [row("hangs"), row("raises"), row("hangs")]
    assert decided(measured(*hangs)) == Refusal("no workload could be measured: hangs")
    assert isinstance(decided(measured(row("hangs"), row())), Measured)


def test_a_busy_machine_is_no_answer() -> None:
    """Then the pull request fails, and a later run tries again."""
    with pytest.raises(MeasurementFailed, match="on this machine now"):
        decided(measured(row("hangs"), row(BUSY)))


@pytest.mark.parametrize("busy", [0, 1, ATTEMPTS])
def test_a_measurement_that_begins_anew_says_so(busy: int) -> None:
    """Else its count would fall back to nothing without a word; the machine's last excuse is the failure's reason."""
    told: list[str] = []

    def once(say: Callable[[str], None]) -> Measured | Refusal:
        say("1/9, round 1")
        if len(told) <= busy:
            raise MeasurementFailed(f"busy {len(told)}")
        return measured(row())

    if busy == ATTEMPTS:
        with pytest.raises(MeasurementFailed, match=f"busy {ATTEMPTS}"):
            until_decided(once, told.append)
    else:
        assert isinstance(until_decided(once, told.append), Measured)
    again = ["measure again (the machine was too busy) 1/9, round 1"] * (ATTEMPTS - 1)
    assert told == ["measure 1/9, round 1", *again][: busy + 1]


def test_an_effect_that_too_few_rounds_show_is_no_refusal() -> None:
    """Eleven times as fast in six rounds, where eight are needed among six workloads: nobody knows."""
    others = [row() for _ in range(5)]
    with pytest.raises(MeasurementFailed, match=r"m.time_x 11.000 in 6 undisturbed rounds, of which 8 are needed"):
        decided(measured(row(ratio=11.0, rounds=6), *others))
    assert isinstance(decided(measured(row(ratio=11.0, rounds=8), *others)), Measured)
    assert isinstance(decided(measured(row(ratio=11.0, rounds=6), row(ratio=1.4, changed=True))), Measured)
    assert isinstance(decided(measured(row(ratio=0.5, rounds=6), *others)), Measured), "slower is no task"


def test_a_refusal_needs_the_workloads() -> None:
    """Where the machine took more than a quarter of them, what they would have shown may be what was looked for."""
    with pytest.raises(MeasurementFailed, match=r"2 of 6 workloads: m\.time_x invalid_measurement"):
        decided(measured(row(BUSY), row(BUSY), *[row() for _ in range(4)]))
    assert isinstance(decided(measured(row(BUSY), *[row() for _ in range(3)])), Measured)
    assert isinstance(decided(measured(row(BUSY), row(BUSY), row(ratio=2.0, changed=True))), Measured)
