"""Grade a run again from its files alone: no agent, no sandbox, no clock."""

from collections.abc import Sequence, Set
from pathlib import Path

from pydantic import BaseModel

from datasmith.errors import TrialError
from datasmith.evaluation.grading import SHARED_ARMS, guard_verdict
from datasmith.evaluation.outcome import (
    EXCLUDED,
    AgentFacts,
    Ending,
    after_outputs,
    after_timing,
    before_tests,
    before_timing,
    named,
    settled,
    with_budget,
)
from datasmith.evaluation.records import SessionRecord, TaskFacts, TrialRecord, patch_digest
from datasmith.evaluation.rows import pairs_of
from datasmith.evaluation.run_folder import (
    GRADED_AGAIN,
    MEASURED_AGAIN,
    PATCH_AGAIN,
    TIMED,
    RunFolder,
    TrialKey,
    read_measurements,
    read_record,
)
from datasmith.evaluation.whole_files import write_record
from datasmith.metrics.score import score
from datasmith.tasks.certificate import ArmSummary
from datasmith.workloads.base import BASE, CONTROL, EXPERT, Measurement, agent_arm
from datasmith.workloads.summary import summarise

Summaries = dict[str, ArmSummary]


def regrade_run(folder: RunFolder) -> tuple[str, ...]:
    """Compute every session.json and trial.json anew from what lies beside them; returns what changed, a line each.

    An outage and a measurement that yielded nothing stay what they are where the files say nothing else. All is
    computed before anything is written.

    Raises:
        TrialError: a file of the run is missing or cannot be read; nothing was written.
    """
    folder.read_run()  # where it or run.lock is damaged, that is said before anything else
    folder.read_lock()
    tasks: dict[str, list[TrialRecord]] = {}
    for record in folder.trials():
        tasks.setdefault(record.task_id, []).append(record)
    drafts: list[tuple[Path, BaseModel]] = []
    changed = []
    for task_id, records in tasks.items():
        task = TaskFiles(folder, task_id, [TrialKey.of(record) for record in records])
        for record in records:
            again = task.trial(record)
            if again != record:
                key = TrialKey.of(record)
                drafts.append((folder.trial(key) / "trial.json", again))
                changed.append(f"{key.task_id} {key.label}: {_change(record, again)}")
        task.refuse_gaps()
        drafts += task.changed_sessions()
    for path, draft in drafts:
        write_record(path, draft)
    return tuple(changed)


def _change(record: TrialRecord, again: TrialRecord) -> str:
    """What a reader sees of it: the outcome or the speed-up, else the names of what differs."""
    if record.outcome != again.outcome:
        return f"{record.outcome} -> {again.outcome}"
    was, now = (one.score.speedup if one.score else None for one in (record, again))
    if was is not None and now is not None and f"{was:.3f}" != f"{now:.3f}":
        return f"{record.outcome}, {was:.3f}x -> {now:.3f}x"
    names = [name for name in TrialRecord.model_fields if getattr(record, name) != getattr(again, name)]
    return f"{record.outcome}, another {', '.join(names)}"


class TaskFiles:
    """What lies there of one task: its sessions, and in which of them each of its trials (`keys`) was timed.

    A run asks it, too, where no session of its own decides: so a regrade of it finds what was written.
    """

    def __init__(self, folder: RunFolder, task_id: str, keys: Sequence[TrialKey]) -> None:
        self._folder = folder
        self._task_id = task_id
        self._keys = keys
        self._sessions = folder.sessions(task_id)
        self._summaries: dict[int, Summaries] = {}

    def trial(self, record: TrialRecord) -> TrialRecord:
        """The record as the files give it."""
        key, facts = TrialKey.of(record), self._folder.read_facts(TrialKey.of(record))
        self._folder.session_of(record)  # raises where it is gone
        if facts is not None:
            record = record.model_copy(update={"wall_s": facts.wall_s, "cost_usd": facts.cost_usd})
        if record.session is None and record.outcome == "infra_error":
            return record
        if patch_digest(self._folder.read_patch(key)) != record.patch_sha256:
            raise TrialError(f"{self._folder.trial(key)}: patch.diff is not the one that was graded ({PATCH_AGAIN})")
        ending = _untimed(self._folder, key)
        if ending is None:
            return self._timed(record, facts)
        session = self._compared_within(record.session, ending)
        return _ended(record, with_budget(ending, facts), session, self._of(session))

    def _compared_within(self, session: int | None, ending: Ending) -> int | None:
        """The session that a trial is compared within which was not timed.

        That of its try, else the last one that has an expert to compare with. What says nothing about the agent is
        compared with nothing.
        """
        if session is not None or ending.outcome in EXCLUDED:
            return session
        return max((number for number, each in self._sessions.items() if each.expert.valid), default=None)

    def _timed(self, record: TrialRecord, facts: AgentFacts | None) -> TrialRecord:
        """A record whose patch passed its tests: as the last session that timed it gives it.

        Where a later try of it could not be measured at all, it stays what that made of it, unless that session had
        something to say.
        """
        key = TrialKey.of(record)
        number = self._timed_in(key)
        if number is None:
            kept = [name for name in TIMED if (self._folder.trial(key) / name).exists()]
            if kept:
                raise TrialError(
                    f"{self._folder.trial(key)}: {kept[0]} lies there, and no session says that it timed it"
                    " (delete its trial.json, and fc-eval runs resume RUN grades it again)"
                )
        else:
            summaries = self._of(number)
            ending = settled(self._compared(key, summaries), self.sessions_of(key))
            if record.session == number or ending.outcome not in EXCLUDED:
                return _ended(record, with_budget(ending, facts), number, summaries)
        if record.session is None and record.outcome == "invalid_measurement":
            return record.model_copy(update={"ratios": None, "score": None})
        untimed = Ending("invalid_measurement", "the patch passed its tests and was not timed: run it again")
        return _ended(record, with_budget(untimed, facts), record.session, {})

    def sessions_of(self, key: TrialKey) -> int:
        """In how many sessions a trial was timed."""
        return sum(agent_arm(key.label) in session.agents for session in self._sessions.values())

    def _timed_in(self, key: TrialKey) -> int | None:
        """The session whose launches lie beside a trial: the last one that timed its arm."""
        arm = agent_arm(key.label)
        return max((number for number, session in self._sessions.items() if arm in session.agents), default=None)

    def _compared(self, key: TrialKey, summaries: Summaries) -> Ending:
        outputs = self._folder.read_outputs(key)
        if outputs is None:
            raise TrialError(f"{self._folder.trial(key)}: outputs.json is missing ({GRADED_AGAIN})")
        agent = summaries[agent_arm(key.label)]
        unseen = sorted({row.workload for row in agent.valid} - {row.workload for row in outputs.workloads})
        if unseen:
            raise TrialError(f"{self._folder.trial(key)}: outputs.json lacks what was timed: {named(unseen)}")
        return after_outputs(outputs) or after_timing(agent, summaries[EXPERT], summaries[CONTROL])

    def _of(self, number: int | None) -> Summaries:
        """A session's summaries, of its own launches and those of the trials that were timed in it."""
        if number is None:
            return {}
        if number not in self._summaries:
            keys = [key for key in self._keys if self._timed_in(key) == number]
            self._summaries[number] = _summaries(self._folder, self._sessions[number], keys)
        return self._summaries[number]

    def refuse_gaps(self) -> None:
        """Raises TrialError where launches of a session are gone, though no trial is said to be of it any more."""
        for number in self._sessions:
            self._of(number)

    def changed_sessions(self) -> list[tuple[Path, SessionRecord]]:
        """The session.json of those that a trial is of, where the launches give another one."""
        found = []
        for number, summaries in self._summaries.items():
            session = self._sessions[number]
            again = session.model_copy(update={"expert": summaries[EXPERT], "control": summaries[CONTROL]})
            if again != session:
                found.append((self._folder.session(self._task_id, number) / "session.json", again))
        return found


def _summaries(folder: RunFolder, session: SessionRecord, keys: Sequence[TrialKey]) -> Summaries:
    """Summarise a session's launches: the shared arms' and those of the trials (`keys`) that were timed in it."""
    where = folder.session(session.task_id, session.session)
    launches: list[Measurement] = list(read_measurements(where / "measurements.jsonl"))
    for key in keys:
        if not (folder.trial(key) / "measurements.jsonl").is_file():
            raise TrialError(f"{folder.trial(key)}: measurements.jsonl is missing ({GRADED_AGAIN})")
        launches += read_measurements(folder.trial(key) / "measurements.jsonl")
    if BASE not in {launch.arm for launch in launches}:
        raise TrialError(f"{where}: measurements.jsonl lacks {BASE} ({MEASURED_AGAIN})")
    _refuse_others(folder, session, len(launches), {agent_arm(key.label) for key in keys})
    arms = (*SHARED_ARMS, *session.agents)
    return summarise(launches, seed=session.seed, arms=arms, earlier=session.earlier_floors)


def _refuse_others(folder: RunFolder, session: SessionRecord, found: int, arms: Set[str]) -> None:
    """Raises TrialError where there are more launches than the session counted, or fewer.

    That some are gone can be told where all that was measured in it is still of it: a trial that was repeated has
    launches of another session.
    """
    counted = session.cost.launches
    said = f"{found - counted} launches more than the {counted} that it made are in" if found > counted else ""
    if found < counted and arms >= set(session.agents):
        said = f"{counted - found} of its {counted} launches are gone from"
    if said:
        where = folder.session(session.task_id, session.session)
        raise TrialError(f"{where}: {said} measurements.jsonl, there or beside a trial of it ({MEASURED_AGAIN})")


def _ended(record: TrialRecord, ending: Ending, session: int | None, summaries: Summaries) -> TrialRecord:
    """The record with this ending, and what the session of it (`summaries`) says of its arm."""
    ratios = summaries.get(agent_arm(TrialKey.of(record).label))
    found = score(pairs_of(ratios, summaries[EXPERT])) if ending.outcome == "measured" else None
    new = {"outcome": ending.outcome, "reason": ending.reason, "session": session, "ratios": ratios, "score": found}
    return record.model_copy(update=new)


def _untimed(folder: RunFolder, key: TrialKey) -> Ending | None:
    """How a trial ended before its tree was timed; None where it was to be."""
    facts, task = folder.read_facts(key), read_record(folder.task_facts(key.task_id), TaskFacts)
    if facts is None:
        how = "delete the trial.json beside it, and fc-eval runs resume RUN asks the agent again"
        raise TrialError(f"{folder.trial(key)}: trajectory.json is missing ({how})")
    if task is None:
        how = "delete a trial.json of its task, and fc-eval runs resume RUN writes both anew"
        raise TrialError(f"{folder.task_facts(key.task_id)}: is missing ({how})")
    patch = folder.read_patch(key)
    ending = before_tests(facts, patch, guard_verdict(patch, task))
    if ending:
        return ending
    tests = folder.read_tests(key)
    if tests is None:
        raise TrialError(f"{folder.trial(key)}: tests.json is missing ({GRADED_AGAIN})")
    return before_timing(tests)
