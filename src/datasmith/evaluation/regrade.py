"""Grade a run again from its files alone: no agent, no sandbox, no clock."""

from collections.abc import Sequence, Set

from datasmith.errors import TrialError
from datasmith.evaluation.grading import SHARED_ARMS, guard_verdict
from datasmith.evaluation.outcome import Ending, after_outputs, after_timing, before_tests, before_timing, with_budget
from datasmith.evaluation.records import SessionRecord, TaskFacts, TrialRecord, patch_digest
from datasmith.evaluation.rows import pairs_of
from datasmith.evaluation.run_folder import RunFolder, TrialKey, read_measurements, read_record, write_record
from datasmith.metrics.score import score
from datasmith.tasks.certificate import ArmSummary
from datasmith.workloads.base import BASE, CONTROL, EXPERT, Measurement, agent_arm
from datasmith.workloads.summary import summarise

Summaries = dict[str, ArmSummary]


def regrade_run(folder: RunFolder) -> tuple[str, ...]:
    """Compute every session.json and trial.json anew from what lies beside them; returns what changed, a line each.

    An outage and a measurement that yielded nothing stay what they are: there is nothing to grade.

    Raises:
        TrialError: a file of the run is missing or cannot be read.
    """
    together: dict[tuple[str, int], list[TrialRecord]] = {}
    for record in folder.trials():
        if record.session is not None:
            together.setdefault((record.task_id, record.session), []).append(record)
    changed = []
    for (task_id, number), records in together.items():
        summaries = _session(folder, task_id, number, records)
        for record in records:
            again = _trial(folder, record, summaries)
            if again != record:
                key = _key(record)
                write_record(folder.trial(key) / "trial.json", again)
                changed.append(f"{key.task_id} {key.label}: {_change(record, again)}")
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


def _session(folder: RunFolder, task_id: str, number: int, records: Sequence[TrialRecord]) -> Summaries:
    """Summarise a session's launches: the shared arms' and those of the trials (`records`) that were measured in it."""
    session = folder.read_session(task_id, number)
    if session is None:
        raise TrialError(f"{folder.session(task_id, number)}: session.json is missing")
    launches: list[Measurement] = list(read_measurements(folder.session(task_id, number) / "measurements.jsonl"))
    for key in map(_key, records):
        if agent_arm(key.label) in session.agents:
            if not (folder.trial(key) / "measurements.jsonl").is_file():
                raise TrialError(f"{folder.trial(key)}: measurements.jsonl is missing")
            launches += read_measurements(folder.trial(key) / "measurements.jsonl")
    if BASE not in {launch.arm for launch in launches}:
        raise TrialError(f"{folder.session(task_id, number)}: measurements.jsonl lacks {BASE}")
    _refuse_gaps(folder, session, launches, {agent_arm(_key(record).label) for record in records})
    summaries = summarise(launches, seed=session.seed, arms=(*SHARED_ARMS, *session.agents))
    again = session.model_copy(update={"expert": summaries[EXPERT], "control": summaries[CONTROL]})
    if again != session:
        write_record(folder.session(task_id, number) / "session.json", again)
    return summaries


def _refuse_gaps(folder: RunFolder, session: SessionRecord, launches: Sequence[Measurement], arms: Set[str]) -> None:
    """Raises TrialError where launches that the session counted are gone.

    That can be told where all that was measured in it is still of it: a trial that was repeated has launches of another
    session.
    """
    lost = session.cost.launches - len(launches)
    if lost > 0 and arms >= set(session.agents):
        where = folder.session(session.task_id, session.session)
        raise TrialError(
            f"{where}: {lost} of its {session.cost.launches} launches are gone from measurements.jsonl, there or beside"
            " a trial of it"
        )


def _trial(folder: RunFolder, record: TrialRecord, summaries: Summaries) -> TrialRecord:
    key = _key(record)
    ratios = summaries.get(agent_arm(key.label))
    ending = with_budget(_ending(folder, key, ratios, summaries), folder.read_facts(key))
    found = score(pairs_of(ratios, summaries[EXPERT])) if ending.outcome == "measured" else None
    return record.model_copy(
        update={
            "outcome": ending.outcome,
            "reason": ending.reason,
            "patch_sha256": patch_digest(folder.read_patch(key)),
            "ratios": ratios,
            "score": found,
        }
    )


def _ending(folder: RunFolder, key: TrialKey, ratios: ArmSummary | None, summaries: Summaries) -> Ending:
    facts, task = folder.read_facts(key), read_record(folder.task_facts(key.task_id), TaskFacts)
    if facts is None or task is None:
        raise TrialError(f"{folder.trial(key)}: trajectory.json or the task's task.json is missing")
    patch = folder.read_patch(key)
    ending = before_tests(facts, patch, guard_verdict(patch, task))
    if ending:
        return ending
    tests = folder.read_tests(key)
    if tests is None:
        raise TrialError(f"{folder.trial(key)}: tests.json is missing")
    ending = before_timing(tests)
    if ending:
        return ending
    if ratios is None:
        return Ending("invalid_measurement", "the patch passed its tests and was not timed: run it again")
    outputs = folder.read_outputs(key)
    if outputs is None:
        raise TrialError(f"{folder.trial(key)}: outputs.json is missing")
    return after_outputs(outputs) or after_timing(ratios, summaries[EXPERT], summaries[CONTROL])


def _key(record: TrialRecord) -> TrialKey:
    return TrialKey(record.task_id, record.agent, record.attempt)
