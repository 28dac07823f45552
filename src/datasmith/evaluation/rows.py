"""The trials of a run folder, each with its score under a failure policy and the rounds behind that score."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from datasmith.errors import TrialError
from datasmith.evaluation.config import RunConfig
from datasmith.evaluation.intervals import Attempt
from datasmith.evaluation.outcome import EXCLUDED, named
from datasmith.evaluation.records import SessionRecord, TrialRecord
from datasmith.evaluation.rounds import ArmTimes, arm_times, round_ratios
from datasmith.evaluation.run_folder import GRADED_AGAIN, MEASURED_AGAIN, RunFolder, TrialKey, keys, read_measurements
from datasmith.metrics.score import FailurePolicy, Interval, Score, failed_pairs, score
from datasmith.metrics.speedup import Pair, ValidPair, valid_pairs
from datasmith.tasks.certificate import ArmSummary
from datasmith.workloads.base import BASE, EXPERT, Measurement, agent_arm
from datasmith.workloads.fresh import proven_ratios


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One trial with its score under the report's policy; `session` is the measurement it is compared within."""

    record: TrialRecord
    session: SessionRecord | None
    score: Score | None

    @property
    def measured(self) -> bool:
        """True where its score rests on its own times, not on a policy."""
        return self.record.outcome == "measured" and self.score is not None

    @property
    def speedup_interval(self) -> Interval | None:
        """Of its speedup, over rounds; None where that rests on a policy, or on too few rounds."""
        ratios = self.record.ratios
        if not self.measured or ratios is None or ratios.low is None or ratios.high is None:
            return None
        return Interval(ratios.low, ratios.high)


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


def trial_rows(folder: RunFolder, config: RunConfig, policy: FailurePolicy) -> tuple[TrialRow, ...]:
    """All complete trials of the run, by task, by the agents' order in its configuration, and by attempt.

    Raises:
        TrialError: a trial cannot be read, or names a session that is not there.
    """
    order = {label: number for number, label in enumerate(config.labels)}
    known = set(keys(config.task_ids, config.labels, config.n_attempts))
    records = [record for record in folder.trials() if TrialKey.of(record) in known]
    records.sort(key=lambda record: (record.task_id, order[record.agent], record.attempt))
    sessions: dict[tuple[str, int | None], SessionRecord | None] = {}
    for record in records:
        if (record.task_id, record.session) not in sessions:
            sessions[record.task_id, record.session] = folder.session_of(record)
    rows = []
    for record in records:
        session = sessions[record.task_id, record.session]
        rows.append(TrialRow(record, session, score(scored_pairs(record, session, policy))))
    return tuple(rows)


def sessions_of(rows: Sequence[TrialRow]) -> tuple[SessionRecord, ...]:
    """The sessions in which trials were compared, each once."""
    return tuple({(row.record.task_id, row.session.session): row.session for row in rows if row.session}.values())


class Rounds:
    """The rounds behind the pairs that the trials of a run are scored with.

    What they share is read once for all of a session that are asked for one after another.
    """

    def __init__(self, folder: RunFolder, policy: FailurePolicy) -> None:
        self._folder = folder
        self._policy: FailurePolicy = policy
        self._read_from = Path()
        self._shared: tuple[Measurement, ...] = ()
        self._times: Mapping[str, ArmTimes] = {}

    def of(self, row: TrialRow) -> Attempt:
        """Those of one trial; none where it has no score.

        Raises:
            TrialError: launches that its score rests on are gone.
        """
        record, session = row.record, row.session
        pairs = scored_pairs(record, session, self._policy)
        if session is None or not pairs:
            return ()
        key = TrialKey.of(record)
        arm = agent_arm(key.label)
        arms = {pair.workload: arm if _is_own(record, pair) else None for pair in valid_pairs(pairs)}
        own = {name for name, each in arms.items() if each}
        self._read(self._folder.session(record.task_id, session.session) / "measurements.jsonl")
        launches = self._shared
        if own:
            launches += read_measurements(self._folder.trial(key) / "measurements.jsonl")
        times = {**self._times, **(arm_times(launches, {arm}) if own else {})}
        self._refuse_gaps(times, arms, f"{self._folder.trial(key)} and session {session.session}")
        return round_ratios(times, arms, _fresh(record, launches, own))

    def _read(self, path: Path) -> None:
        """Read what the trials of a session share: whether launches of merged code count depends on no agent's."""
        if path != self._read_from:
            shared = read_measurements(path)
            self._times, self._shared, self._read_from = arm_times(shared, {BASE, EXPERT}), shared, path

    @staticmethod
    def _refuse_gaps(times: Mapping[str, ArmTimes], arms: Mapping[str, str | None], where: str) -> None:
        needed = [(name, each) for name, arm in arms.items() for each in (BASE, EXPERT, arm) if each]
        lost = [(name, each) for name, each in needed if name not in times.get(each, {})]
        if lost:
            what = named([f"{name} in {each}" for name, each in lost])
            helps = GRADED_AGAIN if {BASE, EXPERT}.isdisjoint(each for _, each in lost) else MEASURED_AGAIN
            raise TrialError(f"{where}: measurements.jsonl lacks what the score rests on: {what} ({helps})")


def _is_own(record: TrialRecord, pair: ValidPair) -> bool:
    """Whether the agent's ratio is its own: of a failed trial, policies keep only those that are below 1."""
    return record.outcome == "measured" or pair.agent < 1.0


def _fresh(record: TrialRecord, launches: Sequence[Measurement], own: Set[str]) -> dict[str, list[float]]:
    """The ln ratios on other inputs, of those of the agent's own workloads in which they are the ones that count."""
    found = record.ratios.workloads if record.ratios else ()
    rows = [row for row in found if row.repeated is not None and row.workload in own]
    arm = record.ratios.arm if record.ratios else ""
    return {row.workload: proven_ratios([one for one in launches if one.workload == row.workload], arm) for row in rows}
