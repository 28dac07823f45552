"""The report: a pure function of a run folder, a failure policy and nothing else."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from datasmith.evaluation.intervals import AgentIntervals, RoundRatios, bootstrap
from datasmith.evaluation.outcome import EXCLUDED, Outcome
from datasmith.evaluation.records import RunRecord, SessionRecord, TrialRecord
from datasmith.evaluation.rounds import arm_times, round_ratios
from datasmith.evaluation.run_folder import RunFolder, TrialKey, read_measurements
from datasmith.metrics.aggregate import RunScore, run_score
from datasmith.metrics.score import FailurePolicy, Score, failed_pairs, score
from datasmith.metrics.speedup import Pair, valid_pairs
from datasmith.tasks.certificate import ArmSummary, WorkloadRatio
from datasmith.workloads.base import agent_arm
from datasmith.workloads.summary import aa_false_positives


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One trial with its score under the report's policy; `session` is the measurement it is compared within."""

    record: TrialRecord
    session: SessionRecord | None
    score: Score | None


@dataclass(frozen=True, slots=True)
class AgentReport:
    """One agent over all tasks. n_scored counts tasks with a score; n_trials all complete trials."""

    agent: str
    n_trials: int
    n_tasks: int
    n_scored: int
    outcomes: Mapping[Outcome, int]
    means: RunScore
    intervals: AgentIntervals
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class ControlReport:
    """What the A/A arm says of the measuring itself: `false_positives` of its `workloads` are called changed.

    Only those count that had rounds enough to be called changed.

    half_width: the median half-width of the intervals of ln ratio over all arms; None where nothing was measured.
    """

    workloads: int
    false_positives: int
    half_width: float | None

    @property
    def rate(self) -> float | None:
        """False positives per workload."""
        return self.false_positives / self.workloads if self.workloads else None

    @property
    def said(self) -> str:
        """The false positives in words."""
        if self.rate is None:
            return "not tested: too few rounds to call a workload changed"
        return f"{self.false_positives} of {self.workloads} workloads ({100 * self.rate:.1f} %)"


@dataclass(frozen=True, slots=True)
class CostReport:
    """What measuring cost over all sessions."""

    launches: int
    wall_s: float
    cpu_s: float
    timed_s: float

    @property
    def overhead_share(self) -> float | None:
        """The share of wall time outside timed calls."""
        return 1.0 - self.timed_s / self.wall_s if self.wall_s > 0 else None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything the tables and the page show."""

    run: RunRecord
    policy: FailurePolicy
    n_expected: int
    agents: tuple[AgentReport, ...]
    trials: tuple[TrialRow, ...]
    sessions: tuple[SessionRecord, ...]
    control: ControlReport
    cost: CostReport

    @property
    def n_complete(self) -> int:
        """How many of the expected trials are complete."""
        return len(self.trials)


def pairs_of(agent: ArmSummary | None, expert: ArmSummary) -> tuple[Pair, ...]:
    """The agent's and the expert's ratios side by side, for every workload of the expert's arm."""
    ratios = {row.workload: row.ratio for row in agent.workloads} if agent else {}
    return tuple(Pair(row.workload, ratios.get(row.workload), row.ratio) for row in expert.workloads)


def scored_pairs(record: TrialRecord, session: SessionRecord | None, policy: FailurePolicy) -> tuple[Pair, ...]:
    """What a trial is scored with: what was measured, what the policy puts in its place, or nothing.

    Outages and bad measurements say nothing about the agent: they are left out under every policy.
    """
    if session is None or record.outcome in EXCLUDED:
        return ()
    pairs = pairs_of(record.ratios, session.expert)
    return pairs if record.outcome == "measured" else failed_pairs(pairs, policy)


def _round_ratios(folder: RunFolder, row: TrialRow, policy: FailurePolicy) -> tuple[RoundRatios, ...]:
    """The rounds behind the pairs that a trial is scored with."""
    record, session = row.record, row.session
    pairs = scored_pairs(record, session, policy)
    if session is None or not pairs:
        return ()
    key = TrialKey(record.task_id, record.agent, record.attempt)
    measured = record.ratios is not None and pairs == pairs_of(record.ratios, session.expert)
    launches = [*read_measurements(folder.session(record.task_id, session.session) / "measurements.jsonl")]
    launches += read_measurements(folder.trial(key) / "measurements.jsonl") if measured else ()
    names = [pair.workload for pair in valid_pairs(pairs)]
    return round_ratios(arm_times(launches), agent_arm(key.label) if measured else None, names)


def build_report(folder: RunFolder, run: RunRecord, policy: FailurePolicy) -> Report:
    """Read the run folder and put the report together."""
    order = {label: number for number, label in enumerate(run.config.labels)}
    records = sorted(
        folder.trials(), key=lambda record: (record.task_id, order.get(record.agent, len(order)), record.attempt)
    )
    sessions = _sessions(folder, records)
    rows = tuple(_row(record, sessions, policy) for record in records)
    n_expected = len(run.config.task_ids) * len(run.config.agents) * run.config.n_attempts
    return Report(
        run=run,
        policy=policy,
        n_expected=n_expected,
        agents=tuple(_agent(folder, run, label, rows, policy) for label in run.config.labels),
        trials=rows,
        sessions=tuple(sessions.values()),
        control=_control(tuple(sessions.values()), rows),
        cost=_cost(tuple(sessions.values())),
    )


def _sessions(folder: RunFolder, records: Sequence[TrialRecord]) -> dict[tuple[str, int], SessionRecord]:
    wanted = {(record.task_id, record.session) for record in records if record.session is not None}
    found = {(task, number): folder.read_session(task, number) for task, number in sorted(wanted)}
    return {key: session for key, session in found.items() if session is not None}


def _row(record: TrialRecord, sessions: Mapping[tuple[str, int], SessionRecord], policy: FailurePolicy) -> TrialRow:
    session = sessions.get((record.task_id, record.session)) if record.session is not None else None
    return TrialRow(record, session, score(scored_pairs(record, session, policy)))


def _agent(
    folder: RunFolder, run: RunRecord, label: str, rows: Sequence[TrialRow], policy: FailurePolicy
) -> AgentReport:
    mine = [row for row in rows if row.record.agent == label]
    tasks: dict[str, list[TrialRow]] = {}
    for row in mine:
        tasks.setdefault(row.record.task_id, []).append(row)
    means = run_score([[row.score for row in attempts] for attempts in tasks.values()])
    costs = [row.record.cost_usd for row in mine]
    known = [cost for cost in costs if cost is not None]
    return AgentReport(
        agent=label,
        n_trials=len(mine),
        n_tasks=len(tasks),
        n_scored=means.advantage.n,
        outcomes=Counter(row.record.outcome for row in mine),
        means=means,
        intervals=bootstrap(
            [[_round_ratios(folder, row, policy) for row in attempts] for attempts in tasks.values()],
            seed=run.config.seed,
        ),
        cost_usd=sum(known) if known and len(known) == len(costs) else None,
    )


def _control(sessions: Sequence[SessionRecord], rows: Sequence[TrialRow]) -> ControlReport:
    arms = [session.control for session in sessions] + [session.expert for session in sessions]
    arms += [row.record.ratios for row in rows if row.record.ratios]
    widths = sorted(width for arm in arms for row in arm.workloads if (width := half_width(row)) is not None)
    called = [aa_false_positives(session.control) for session in sessions]
    return ControlReport(
        workloads=sum(testable for _, testable in called),
        false_positives=sum(changed for changed, _ in called),
        half_width=widths[len(widths) // 2] if widths else None,
    )


def half_width(row: WorkloadRatio) -> float | None:
    """Half the width of the interval of ln ratio."""
    return (math.log(row.high) - math.log(row.low)) / 2 if row.low and row.high else None


def _cost(sessions: Sequence[SessionRecord]) -> CostReport:
    costs = [session.cost for session in sessions]
    return CostReport(
        launches=sum(cost.launches for cost in costs),
        wall_s=sum(cost.wall_s for cost in costs),
        cpu_s=sum(cost.cpu_s for cost in costs),
        timed_s=sum(cost.timed_s for cost in costs),
    )
