"""The certificate: whether the expert's patch is measurably faster here, by one rule."""

import math
from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import version

from datasmith.docker.seal import SealReport
from datasmith.stats.bootstrap import MeanEstimate
from datasmith.tasks.certificate import ArmSummary, Certificate, Machine, WorkloadRatio
from datasmith.tasks.suite import SuiteRecord
from datasmith.workloads.base import CONTROL, EXPERT
from datasmith.workloads.measure import Measured
from datasmith.workloads.plan import MeasurePlan
from datasmith.workloads.summary import Launches, by_workload, generator, speedup_over

LEAST_SPEEDUP = 1.05
"""The expert's geometric mean over changed workloads has to reach this."""


def certify(
    task_id: str,
    image_digest: str,
    measured: Measured,
    *,
    tests_base: int,
    tests_expert: int,
    seal: SealReport,
    engine: str,
    now: datetime,
    machine: Machine,
    plan: MeasurePlan,
    suite: SuiteRecord | None = None,
    not_impacted: int = 0,
    screened_out: int = 0,
) -> Certificate:
    """Issue a certificate from a measurement of base, base2 and expert.

    `tests_base` and `tests_expert` count the tests of the untouched tree that pass in each arm. The status is `valid`
    where nothing of the fix was found in the image, all those tests pass with the expert's patch too, at least one
    workload improved, and the expert's geometric mean over the changed workloads is at least 1.05 with its interval
    above 1; else `refused`, with one line that says why and carries the measured interval.
    """
    expert = measured.summaries.get(EXPERT) or _nothing(EXPERT)
    control = measured.summaries.get(CONTROL) or _nothing(CONTROL)
    changed = _over_changed(expert, by_workload(measured.measurements), plan)
    problem = _problem(expert, changed, tests_base=tests_base, tests_expert=tests_expert, seal=seal)
    return Certificate(
        task_id=task_id,
        image_digest=image_digest,
        issued_at=now,
        machine=machine,
        engine=engine,
        asv_runner_version=version("asv_runner"),
        rounds=max((row.rounds for row in expert.workloads), default=0),
        seed=plan.seed,
        expert=expert,
        control=control,
        changed_speedup=changed.value if changed else None,
        changed_low=changed.low if changed else None,
        changed_high=changed.high if changed else None,
        tests_passed_base=tests_base,
        tests_passed_expert=tests_expert,
        sealed=seal.sealed,
        cost=measured.cost,
        status="refused" if problem else "valid",
        reason=problem or _praise(expert, changed),
        suite=suite,
        not_impacted=not_impacted,
        screened_out=screened_out,
        host=measured.host,
        not_looked_for=seal.unknown,
    )


def _nothing(arm: str) -> ArmSummary:
    return ArmSummary(arm=arm, speedup=None, low=None, high=None, workloads=())


def _over_changed(expert: ArmSummary, launches: Mapping[str, Launches], plan: MeasurePlan) -> MeanEstimate | None:
    names = [row.workload for row in expert.changed]
    return speedup_over(launches, EXPERT, names, generator(plan.seed, EXPERT, "changed"), plan.confidence)


def _problem(
    expert: ArmSummary, changed: MeanEstimate | None, *, tests_base: int, tests_expert: int, seal: SealReport
) -> str | None:
    """The first thing that speaks against the task, None where nothing does."""
    if not seal.ok:
        return "the image is not sealed"
    if tests_base == 0:
        return "no test passes at base"
    if tests_expert < tests_base:
        return f"{tests_base - tests_expert} of {tests_base} tests that pass at base fail with the expert's patch"
    if not expert.valid:
        return f"no workload could be measured: {_first_reason(expert)}"
    if changed is None:
        return f"no workload changed: largest effect {_told(_largest(expert.valid))}"
    if not any((row.ratio or 0.0) > 1.0 for row in expert.changed):
        return f"no workload improved: {_told(_largest(expert.changed))}"
    if changed.value < LEAST_SPEEDUP or changed.low <= 1.0:
        return f"too small: {_interval(changed.value, changed.low, changed.high)} over {changed.n} changed workloads"
    return None


def _praise(expert: ArmSummary, changed: MeanEstimate | None) -> str:
    assert changed is not None
    whole = _interval(changed.value, changed.low, changed.high)
    slower = sorted((row for row in expert.changed if (row.ratio or 1.0) < 1.0), key=lambda row: row.ratio or 1.0)
    worst = "the slowest: " if len(slower) > 1 else ""
    price = f", {len(slower)} of them slower ({worst}{_told(slower[0])})" if slower else ""
    return f"{whole} over {changed.n} changed of {len(expert.valid)} workloads{price}"


def _largest(rows: tuple[WorkloadRatio, ...]) -> WorkloadRatio:
    return max(rows, key=lambda row: abs(math.log(row.ratio or 1.0)))


def _told(row: WorkloadRatio) -> str:
    if row.ratio is None or row.low is None or row.high is None:
        return f"{row.workload} {row.reason}"
    return f"{row.workload} {_interval(row.ratio, row.low, row.high)}"


def _interval(value: float, low: float, high: float) -> str:
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _first_reason(expert: ArmSummary) -> str:
    row = next(iter(expert.workloads), None)
    return f"{row.workload}: {row.reason}" if row else "the suite has none that is scored"
