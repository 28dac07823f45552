"""The rule behind a certificate's status."""

import re
from datetime import UTC, datetime

import pytest

from datasmith.docker.seal import SealReport
from datasmith.tasks.certificate import Certificate, Cost, Machine
from datasmith.workloads.base import BASE, EXPERT
from datasmith.workloads.certify import certify
from datasmith.workloads.measure import Measured
from datasmith.workloads.plan import MeasurePlan
from datasmith.workloads.summary import summarise

from .launches import history, launch

MACHINE = Machine(
    cpu_model="x", cpu_flags_sha256="0", cores=2, memory_mb=4096, kernel="6.1", virtualised=None
)  # fmt: skip

SEALS: dict[int | None, SealReport] = {
    True: SealReport(("files",), ()),
    False: SealReport(("files",), ("a tag",)),
    None: SealReport(("files",), (), unknown=("a line that is too short",)),
}


def issue(ratios: dict[str, float], *, noise: float = 0.005, **changes: int | None) -> Certificate:
    made = history(ratios, noise=noise)
    cost = Cost(launches=len(made), wall_s=10.0, cpu_s=9.0, timed_s=6.0)
    facts = {"tests_base": 10, "tests_expert": 10, "sealed": True, **changes}
    return certify(
        "o_r_1",
        "sha256:0",
        Measured(tuple(made), summarise(made, seed=0), cost),
        tests_base=facts["tests_base"] or 0,
        tests_expert=facts["tests_expert"] or 0,
        seal=SEALS[facts["sealed"]],
        engine="bubblewrap",
        now=datetime(2026, 1, 1, tzinfo=UTC),
        machine=MACHINE,
        plan=MeasurePlan(),
    )


def test_an_improvement_of_a_fifth_is_valid() -> None:
    """One of two workloads improved by 20 %; the mean is over the changed one alone."""
    found = issue({"m.time_a": 1.2, "m.time_b": 1.0})
    assert found.status == "valid"
    assert found.changed_speedup == pytest.approx(1.2, rel=0.02)
    assert found.changed_low is not None
    assert found.changed_low > 1.0
    assert "over 1 changed of 2 workloads" in found.reason
    assert found.rounds == 12


def test_what_a_valid_patch_makes_slower_is_told() -> None:
    """The gain of the whole hides none of it."""
    faster = {f"m.time_{number}": 2.0 for number in range(6)}
    found = issue(faster | {"m.time_b": 0.8, "m.time_c": 0.7, "m.time_d": 1.0}, noise=0.003)
    assert found.status == "valid"
    assert re.search(r"workloads, 2 of them slower \(the slowest: m\.time_c 0\.[67]\d\d \[", found.reason)
    assert "slower" not in issue({"m.time_a": 1.2, "m.time_b": 1.0}).reason


@pytest.mark.parametrize(
    ("ratios", "changes", "reason"),
    [
        ({"m.time_a": 1.0}, {}, r"no workload changed: largest effect m\.time_a [01]\.\d{3} \[0\.\d{3}, 1\.\d{3}\]"),
        ({"m.time_a": 0.8}, {}, r"no workload improved: m\.time_a 0\.[78]\d\d \[0\.\d{3}, 0\.\d{3}\]"),
        ({"m.time_a": 1.03}, {}, r"too small: 1\.0\d\d \[1\.\d{3}, 1\.\d{3}\] over 1 changed workloads"),
        ({"m.time_a": 1.2, "m.time_b": 0.7}, {}, r"too small: 0\.9"),
        ({"m.time_a": 1.2}, {"tests_expert": 8}, "2 of 10 tests that pass at base fail"),
        ({"m.time_a": 1.2}, {"tests_base": 0, "tests_expert": 0}, "no test passes at base"),
        ({"m.time_a": 1.2}, {"sealed": False}, "not sealed"),
    ],
    ids=["unchanged", "slower", "too small", "mixed", "breaks tests", "no tests", "not sealed"],
)
def test_everything_else_is_refused_with_its_reason(
    ratios: dict[str, float], changes: dict[str, int | None], reason: str
) -> None:
    """One line, with the measured interval where speed is the reason."""
    found = issue(ratios, noise=0.003, **changes)
    assert found.status == "refused"
    assert "\n" not in found.reason
    assert re.search(reason, found.reason)


def test_an_image_of_which_not_all_could_be_asked_is_not_called_sealed() -> None:
    """Nothing was found in it: the task counts."""
    found = issue({"m.time_a": 1.2}, sealed=None)
    assert (found.status, found.sealed) == ("valid", None)


def test_nothing_measured_is_refused_and_has_no_speedup() -> None:
    """Every launch failed: no number is invented."""
    made = (launch(BASE, -1, samples=(), reason="failed: ImportError"),)
    cost = Cost(launches=1, wall_s=1.0, cpu_s=1.0, timed_s=0.0)
    found = certify(
        "o_r_1",
        "sha256:0",
        Measured(made, summarise(made, seed=0, arms=(EXPERT,)), cost),
        tests_base=1,
        tests_expert=1,
        seal=SEALS[True],
        engine="bubblewrap",
        now=datetime(2026, 1, 1, tzinfo=UTC),
        machine=MACHINE,
        plan=MeasurePlan(),
    )
    assert (found.status, found.changed_speedup, found.expert.speedup) == ("refused", None, None)
    assert found.reason == "no workload could be measured: m.time_x: base: failed: ImportError"
    assert found.cost.overhead_share == 1.0
