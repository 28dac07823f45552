"""Which workloads a screening leaves, by launches whose truth is known."""

import pytest

from datasmith.docker.verifiers import TestReport
from datasmith.errors import MeasurementFailed
from datasmith.runners.order import Verified
from datasmith.runners.screening import ROUNDS, screened, screening_plan
from datasmith.tasks.certificate import Cost
from datasmith.workloads.base import BASE, EXPERT, Measurement, Workload
from datasmith.workloads.measure import Measured, MeasurePlan
from tests.unit.workloads.launches import history, launch

REPORT = TestReport({"tests.test_a::one": "passed"}, 0, False, 1.0, "")
TRUTH = {"slower": 0.8, "same": 1.0, "faster": 1.5, "a little": 1.1}


def left(launches: list[Measurement], most: int) -> Verified:
    names = dict.fromkeys(one.workload for one in launches)
    verified = Verified(tuple(Workload(name, "time") for name in names), REPORT, REPORT, not_impacted=7)
    return screened(verified, Measured(tuple(launches), {}, Cost(launches=0, wall_s=0, cpu_s=0, timed_s=0)), most)


def names(verified: Verified) -> list[str]:
    return [workload.id for workload in verified.workloads]


@pytest.mark.parametrize(
    ("most", "expected"),
    [(1, ["faster"]), (2, ["slower", "faster"]), (3, ["slower", "faster", "a little"]), (9, list(TRUTH))],
)
def test_the_largest_effects_stay_in_the_suites_order(most: int, expected: list[str]) -> None:
    """Slower or faster alike; what is left out is counted, beside what the patch cannot touch."""
    found = left(history(TRUTH, rounds=ROUNDS), most)
    assert names(found) == expected
    assert (found.screened_out, found.not_impacted) == (len(TRUTH) - len(expected), 7)


def test_what_only_the_patch_fails_comes_first_and_what_base_fails_last() -> None:
    """The first is a finding about the patch, the second says nothing about it."""
    known = history({"same": 1.0, "faster": 1.5}, rounds=ROUNDS)
    broken = [launch(BASE, 0, workload="broken"), launch(EXPERT, 0, workload="broken", samples=(), reason="raised")]
    never = [launch(BASE, 0, workload="never", samples=(), reason="raised")]
    assert names(left([*known, *broken, *never], 1)) == ["broken"]
    assert names(left([*known, *broken, *never], 2)) == ["faster", "broken"]
    assert names(left([*known, *broken, *never], 3)) == ["same", "faster", "broken"]


def test_a_failure_on_a_disturbed_core_is_the_hosts() -> None:
    """A launch that was made again, and went well, counts."""
    made = [*history({"same": 1.0, "faster": 1.5}, rounds=ROUNDS)]
    made.append(launch(EXPERT, 0, workload="same", samples=(), reason="timed out", noisy=True))
    assert names(left(made, 1)) == ["faster"]


def test_a_disturbed_launch_is_only_slower() -> None:
    """Where each round of an arm was disturbed, its fastest launch still ranks the workload."""
    made = [*history({"same": 1.0}, rounds=ROUNDS)]
    made += [
        launch(arm, at, seconds, "busy", noisy=True) for arm in (BASE, EXPERT) for at, seconds in enumerate((1, 9))
    ]
    made += [launch(BASE, 0, 1.0, "slowed"), launch(BASE, 1, 1.0, "slowed")]
    made += [launch(EXPERT, at, seconds, "slowed", noisy=True) for at, seconds in enumerate((9.0, 1.2))]
    assert names(left(made, 1)) == ["slowed"]


def test_a_workload_of_which_nothing_was_seen_is_not_ranked() -> None:
    """Missing is not zero: the machine was too busy, so it is tried again."""
    failed = launch(EXPERT, 0, samples=(), reason="timed out", noisy=True)
    with pytest.raises(MeasurementFailed, match=r"m\.time_x was never launched in peace"):
        left([*history({"same": 1.0}, rounds=ROUNDS), launch(BASE, 0), failed], 1)


def test_a_screening_is_short_and_on_the_same_core() -> None:
    """Two rounds, all else as it is measured."""
    plan = screening_plan(MeasurePlan(seed=3, cpu=1))
    assert (plan.min_rounds, plan.max_rounds, plan.seed, plan.cpu) == (2, 2, 3, 1)
