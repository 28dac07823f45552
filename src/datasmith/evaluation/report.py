"""The report: a pure function of a run folder, a failure policy and nothing else."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from datasmith.counted import counted
from datasmith.evaluation.board import AgentReport, Board, Scored
from datasmith.evaluation.outcome import named
from datasmith.evaluation.records import RunRecord, SessionRecord
from datasmith.evaluation.rows import Rounds, TrialRow, sessions_of, trial_rows
from datasmith.evaluation.run_folder import RunFolder
from datasmith.evaluation.selection import scope
from datasmith.metrics.score import FailurePolicy
from datasmith.tasks.certificate import WorkloadRatio
from datasmith.workloads.summary import aa_false_positives


@dataclass(frozen=True, slots=True)
class ControlReport:
    """What the A/A arm says of the measuring itself: `false_positives` of its `workloads` are called changed.

    Only those count that had rounds enough to be called changed.

    half_width: the median half-width of the intervals of ln ratio over all arms; None where nothing was measured.
    """

    workloads: int
    false_positives: int
    half_width: float | None
    untested: int = 0
    """The workloads that had too few rounds."""

    @property
    def rate(self) -> float | None:
        """False positives per workload."""
        return self.false_positives / self.workloads if self.workloads else None

    @property
    def said(self) -> str:
        """The false positives in words."""
        if self.half_width is None:
            return "not tested: nothing was measured"
        if self.rate is None:
            return "not tested: too few rounds to call a workload changed"
        more = f"; {self.untested} more had too few rounds" if self.untested else ""
        return f"{self.false_positives} of {self.workloads} workloads ({100 * self.rate:.1f} %){more}"


@dataclass(frozen=True, slots=True)
class CostReport:
    """What measuring cost over all sessions, those that were measured again among them."""

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
    board: Board
    trials: tuple[TrialRow, ...]
    sessions: tuple[SessionRecord, ...]
    control: ControlReport
    cost: CostReport
    strays: tuple[str, ...]
    """Trials in the folder that are none of the run's: a copy of another agent's, for example."""

    @property
    def left_out(self) -> str | None:
        """The strays in words; None where there are none."""
        if not self.strays:
            return None
        return f"left out, as run.json does not ask for it: {counted(len(self.strays), 'trial')}: {named(self.strays)}"

    @property
    def unmeasured(self) -> str | None:
        """The trials that could not be measured, and what to do; None where there are none."""
        rows = [row.record for row in self.trials if row.record.outcome == "invalid_measurement"]
        names = named([f"{record.task_id} {record.agent}#{record.attempt}" for record in rows])
        again = "run their tasks again where nothing else runs, with another --run-id"
        return f"not measured, and in no score: {counted(len(rows), 'trial')}: {names}; {again}" if rows else None

    @property
    def agents(self) -> tuple[AgentReport, ...]:
        """One entry per agent, in the order of the configuration."""
        return self.board.agents

    @property
    def scope(self) -> str | None:
        """The label of scores that are not over whole suites; None where they are."""
        return scope(self.sessions)

    @property
    def n_complete(self) -> int:
        """How many of the expected trials are complete."""
        return sum(row.record.is_complete for row in self.trials)

    @property
    def progress(self) -> str:
        """How many trials are complete, and how they ended: one that could not be measured is over, too."""
        ends = Counter(row.record.outcome for row in self.trials if row.record.is_complete)
        said = ", ".join(f"{count} {name}" for name, count in sorted(ends.items()))
        return f"{self.n_complete} of {self.n_expected} trials complete" + (f", that is over: {said}" if said else "")


def build_report(folder: RunFolder, run: RunRecord, policy: FailurePolicy) -> Report:
    """Read the run folder and put the report together.

    Raises:
        TrialError: a file of the run is damaged, run.lock too: what a report says of tasks is said of those.
    """
    folder.read_lock()
    rows = trial_rows(folder, run.config, policy)
    sessions = sessions_of(rows)
    rounds = Rounds(folder, policy)
    trials = [Scored(row.record.agent, row, rounds.of(row)) for row in rows]
    everything = [session for task_id in run.config.task_ids for session in folder.sessions(task_id).values()]
    return Report(
        run=run,
        policy=policy,
        n_expected=len(run.config.task_ids) * len(run.config.agents) * run.config.n_attempts,
        board=Board(run.config.labels, trials, seed=run.config.seed),
        trials=rows,
        sessions=sessions,
        control=_control(sessions, rows),
        cost=_cost(everything),
        strays=folder.strays(run.config),
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
        untested=sum(len(session.control.valid) for session in sessions) - sum(testable for _, testable in called),
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
