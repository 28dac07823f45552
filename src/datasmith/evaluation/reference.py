"""A run as the reference evaluation scores it: the same launches, its definitions, for comparing with its figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from datasmith.evaluation.outcome import EXCLUDED
from datasmith.evaluation.report import Report
from datasmith.evaluation.rows import TrialRow
from datasmith.evaluation.run_folder import RunFolder, TrialKey, read_measurements
from datasmith.metrics.aggregate import mean
from datasmith.metrics.compat import (
    NUMBERED,
    ReferenceScore,
    cost_weighted,
    mean_speedup,
    pairs_from_samples,
    reference_score,
    run_advantage,
)
from datasmith.stats.asv_decision import Ends, is_different
from datasmith.workloads.base import BASE, EXPERT, agent_arm
from datasmith.workloads.summary import Launches, by_workload

Samples = Mapping[str, Sequence[float]]
"""Workload -> seconds per call of all its samples, those of every round together."""


@dataclass(frozen=True, slots=True)
class ReferenceReport:
    """One agent by the reference's definitions; n counts trials (outages and bad measurements are left out).

    speedup: arithmetic mean of task speedups. levels: arithmetic means of advantages. geometric: the geometric form.
    They are None where n is 0 (the reference takes 1 and 0). cost_weighted: None there and where the cost of a trial
    is unknown (the reference takes 0). asv_changed, changed: of `workloads` measured workloads, those that asv's test
    and ours call different from base.
    """

    agent: str
    n: int
    speedup: float | None
    levels: Mapping[str, float | None]
    geometric: float | None
    cost_weighted: float | None
    asv_changed: int
    changed: int
    workloads: int


@dataclass(frozen=True, slots=True)
class _Trial:
    """A trial's score; of the workloads that were measured, all and those that asv and we call changed; its cost."""

    score: ReferenceScore
    workloads: int
    asv_changed: int
    changed: int
    cost_usd: float | None


def reference_report(folder: RunFolder, report: Report) -> tuple[ReferenceReport, ...]:
    """Score every agent of a run; ratios of medians over all samples, failed trials at 1.0.

    Raises:
        TrialError: a file of the run cannot be read.
    """
    return tuple(
        _agent(agent, [_trial(folder, row) for row in report.trials if row.record.agent == agent and _counts(row)])
        for agent in report.run.config.labels
    )


def _counts(row: TrialRow) -> bool:
    return row.session is not None and row.record.outcome not in EXCLUDED


def _trial(folder: RunFolder, row: TrialRow) -> _Trial:
    record = row.record
    key = TrialKey.of(record)
    shared = read_measurements(folder.session(record.task_id, record.session or 0) / "measurements.jsonl")
    own = read_measurements(folder.trial(key) / "measurements.jsonl")
    launches = by_workload([*shared, *own])
    base, expert, agent = (_samples(launches, arm) for arm in (BASE, EXPERT, agent_arm(key.label)))
    found = reference_score(pairs_from_samples(base, expert, agent), passed=record.outcome == "measured")
    arm = record.ratios if row.measured else None
    names = [each.workload for each in arm.valid] if arm else []
    return _Trial(
        score=found,
        workloads=len(names),
        asv_changed=sum(asv_differs(base.get(name, ()), agent.get(name, ())) for name in names),
        changed=len(arm.changed) if arm else 0,
        cost_usd=record.cost_usd,
    )


def asv_differs(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether asv calls two results different: by its U test, or where it takes that for impossible by its intervals.

    A result without samples differs from nothing.
    """
    if not first or not second:
        return False
    return is_different(first, second, (_asv_ends(first), _asv_ends(second)), like_asv=True)


def _asv_ends(samples: Sequence[float]) -> Ends:
    from asv_runner.statistics import compute_stats

    _, stats = compute_stats(list(samples), 1)
    return float(stats["ci_99_a"]), float(stats["ci_99_b"])


def _samples(workloads: Mapping[str, Launches], arm: str) -> dict[str, list[float]]:
    usable = {name: each.usable(arm).values() for name, each in workloads.items() if arm in each.by_arm}
    return {name: [sample for launch in launches for sample in launch.samples] for name, launches in usable.items()}


def _agent(agent: str, trials: Sequence[_Trial]) -> ReferenceReport:
    advantages = [trial.score.levels["L4"] for trial in trials]
    known = [trial.cost_usd for trial in trials if trial.cost_usd is not None]
    return ReferenceReport(
        agent=agent,
        n=len(trials),
        speedup=mean_speedup([trial.score.task_speedup for trial in trials]) if trials else None,
        levels={number: mean(trial.score.levels[number] for trial in trials).value for number in NUMBERED},
        geometric=run_advantage(advantages) if trials else None,
        cost_weighted=cost_weighted(advantages, known) if trials and len(known) == len(trials) else None,
        asv_changed=sum(trial.asv_changed for trial in trials),
        changed=sum(trial.changed for trial in trials),
        workloads=sum(trial.workloads for trial in trials),
    )


def reference_as_json(found: Iterable[ReferenceReport]) -> list[JsonValue]:
    """What `--compat --json` adds under `compat`."""
    return [
        {
            "agent": each.agent,
            "n": each.n,
            "speedup": each.speedup,
            "levels": dict(each.levels),
            "geometric_advantage": each.geometric,
            "cost_weighted": each.cost_weighted,
            "asv_changed": each.asv_changed,
            "changed": each.changed,
            "workloads": each.workloads,
        }
        for each in found
    ]
