"""A regrade decides from the files of a trial alone, and decides as grading did."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from datasmith.errors import TrialError
from datasmith.evaluation.outcome import Outcome, OutputFacts, TestFacts
from datasmith.evaluation.overview import run_state
from datasmith.evaluation.records import TaskFacts
from datasmith.evaluation.regrade import regrade_run
from datasmith.evaluation.rows import Rounds, trial_rows
from datasmith.evaluation.run_folder import RunFolder, TrialKey, read_measurements, write_measurements
from datasmith.evaluation.whole_files import write_record
from datasmith.workloads.base import BASE, EMPTY_ROUND, EXPERT, FULL_ROUND, Measurement, agent_arm
from datasmith.workloads.fresh import FRESH_ROUND
from datasmith.workloads.watch import OutputRow
from tests.unit.evaluation.sample_run import SampleRun, recount, sample_run

KEY = TrialKey("acme_fast_1", "command-good", 1)
NAMES = ("bench.time_a", "bench.time_b")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """One trial, four times as fast as base where the expert is twice as fast, graded."""
    run = SampleRun(tmp_path / "mine", [KEY.task_id], ["good"])
    session = run.session(KEY.task_id, dict.fromkeys(NAMES, 2.0))
    run.trial(session, KEY.agent, "measured", dict.fromkeys(NAMES, 4.0))
    arms = {"agents": (agent_arm(KEY.label),)}
    write_record(run.folder.session(KEY.task_id, 1) / "session.json", session.model_copy(update=arms))
    recount(run.folder, KEY.task_id)
    facts = TaskFacts(task_id=KEY.task_id, benchmark_dir="benchmarks", expert_patch_sha256="0" * 64, workloads=NAMES)
    write_record(run.folder.task_facts(KEY.task_id), facts)
    regrade_run(run.folder)
    return run.folder


def outcome(folder: RunFolder) -> tuple[Outcome, str]:
    """As it is after grading again."""
    regrade_run(folder)
    record = folder.read_trial(KEY)
    assert record is not None
    return record.outcome, record.reason or ""


def test_a_graded_run_stays_as_it_is(folder: RunFolder) -> None:
    """Every record of it."""
    assert outcome(folder) == ("measured", "")
    assert regrade_run(folder) == ()


def test_noise_that_was_seen_earlier_counts_again(folder: RunFolder) -> None:
    """What the session knew of other measurements stands in its record: no change is told, and no score is another."""
    before, session = folder.read_trial(KEY), folder.read_session(KEY.task_id, 1)
    assert before is not None and before.ratios is not None and session is not None
    known = session.model_copy(update={"earlier_floors": {NAMES[0]: 1.5}})
    write_record(folder.session(KEY.task_id, 1) / "session.json", known)
    regrade_run(folder)
    after, session = folder.read_trial(KEY), folder.read_session(KEY.task_id, 1)
    assert after is not None and after.ratios is not None and session is not None
    assert [row.changed for row in before.ratios.workloads] == [True, True]
    assert [row.changed for row in after.ratios.workloads] == [False, True]
    assert [row.changed for row in session.expert.workloads] == [False, True]
    assert after.ratios.workloads[0].floor == 1.5 and after.score == before.score


@pytest.mark.parametrize("damage", [b"", b"diff --git a/x b/x\n", b"\xff\xfe", None])
def test_another_patch_than_the_graded_one_is_no_answer(folder: RunFolder, damage: bytes | None) -> None:
    """Damaged, exchanged or gone, it is not the agent's fault: nothing is written, and what helps is told."""
    path, before = folder.trial(KEY) / "patch.diff", folder.read_trial(KEY)
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    with pytest.raises(TrialError, match=r"patch\.diff is .*bring it back from a copy"):
        regrade_run(folder)
    assert folder.read_trial(KEY) == before


def test_a_launch_that_is_gone_is_missed(folder: RunFolder) -> None:
    """Grading again without it would make records that fit: the session has counted its launches."""
    before, path = folder.read_trial(KEY), folder.session(KEY.task_id, 1) / "measurements.jsonl"
    write_measurements(path, read_measurements(path)[:-1])
    session = folder.read_session(KEY.task_id, 1)
    assert session is not None
    with pytest.raises(TrialError, match=f"1 of its {session.cost.launches} launches are gone"):
        regrade_run(folder)
    assert folder.read_trial(KEY) == before


def test_a_launch_that_nobody_made_is_told(folder: RunFolder) -> None:
    """Of a trial's, too, and though all others lie there: what was counted was made, and nothing else."""
    before, path = folder.read_trial(KEY), folder.trial(KEY) / "measurements.jsonl"
    launches = read_measurements(path)
    write_measurements(path, [*launches, *(replace(one, samples=(one.samples[0] / 2,)) for one in launches)])
    with pytest.raises(TrialError, match=rf"{len(launches)} launches more than the \d+ that it made"):
        regrade_run(folder)
    assert folder.read_trial(KEY) == before


def test_where_base_gave_nothing_nothing_is_lost(folder: RunFolder) -> None:
    """A workload that fails in base is launched nowhere else: that is how the session ended, and no gap."""
    session = folder.read_session(KEY.task_id, 1)
    assert session is not None
    failed = [Measurement(name, BASE, -1, (), 1, 0.2, 0.2, 0, reason="failed: timed out") for name in NAMES]
    write_measurements(folder.session(KEY.task_id, 1) / "measurements.jsonl", failed)
    write_measurements(folder.trial(KEY) / "measurements.jsonl", [])
    cost = session.cost.model_copy(update={"launches": len(failed)})
    write_record(folder.session(KEY.task_id, 1) / "session.json", session.model_copy(update={"cost": cost}))
    assert outcome(folder)[0] == "invalid_measurement"
    assert regrade_run(folder) == ()


def test_what_changed_is_said(folder: RunFolder) -> None:
    """The speed-up where the outcome is the same, and never that something became what it was."""
    path = folder.trial(KEY) / "measurements.jsonl"
    slower = [replace(one, samples=tuple(2 * sample for sample in one.samples)) for one in read_measurements(path)]
    write_measurements(path, slower)
    (line,) = regrade_run(folder)
    assert re.fullmatch(rf"{KEY.task_id} {KEY.label}: measured, [34]\.\d+x -> [12]\.\d+x", line)


@pytest.mark.parametrize("name", ["patch.diff", "measurements.jsonl", "trajectory.json"])
def test_what_was_taken_away_is_no_outcome(folder: RunFolder, name: str) -> None:
    """An empty patch is an empty file, and what a session timed has launches."""
    before = folder.read_trial(KEY)
    (folder.trial(KEY) / name).unlink()
    with pytest.raises(TrialError, match=f"{name} is missing"):
        regrade_run(folder)
    assert folder.read_trial(KEY) == before


def test_a_task_whose_facts_are_gone_is_named(folder: RunFolder) -> None:
    """With its file, and what brings that back."""
    folder.task_facts(KEY.task_id).unlink()
    with pytest.raises(TrialError, match=rf"{KEY.task_id}.*task\.json: is missing \(delete .* writes both anew\)"):
        regrade_run(folder)


def test_what_was_timed_and_has_no_outputs_is_not_graded(folder: RunFolder) -> None:
    """The file may have been taken away because of what it said."""
    (folder.trial(KEY) / "outputs.json").unlink()
    with pytest.raises(TrialError, match=r"outputs\.json is missing"):
        regrade_run(folder)


def changed(folder: RunFolder, **names: object) -> None:
    """Somebody wrote something else into the trial's record."""
    record = folder.read_trial(KEY)
    assert record is not None
    write_record(folder.trial(KEY) / "trial.json", record.model_copy(update=names))


REMOVED = {"outcome": "invalid_measurement", "reason": "noise", "session": None, "ratios": None, "score": None}
"""A trial that is said to have been measured badly, in no session."""


def test_costs_are_those_of_the_trajectory(folder: RunFolder) -> None:
    """A record that says another cost or another time is made anew."""
    before = folder.read_trial(KEY)
    changed(folder, cost_usd=0.001, wall_s=1.0)
    assert regrade_run(folder) == (f"{KEY.task_id} {KEY.label}: measured, another wall_s, cost_usd",)
    assert folder.read_trial(KEY) == before


def test_what_was_timed_is_no_bad_measurement(folder: RunFolder) -> None:
    """Its launches lie there, and the session says that it timed them."""
    before = folder.read_trial(KEY)
    changed(folder, **REMOVED)
    assert regrade_run(folder) == (f"{KEY.task_id} {KEY.label}: invalid_measurement -> measured",)
    assert folder.read_trial(KEY) == before


def test_what_failed_its_tests_is_no_bad_measurement(folder: RunFolder) -> None:
    """It is scored against the expert of the session that there is, even where its record names none."""
    write_record(folder.trial(KEY) / "tests.json", TestFacts(built=True, expected=3, failed=("a", "b")))
    changed(folder, **REMOVED)
    regrade_run(folder)
    record = folder.read_trial(KEY)
    assert record is not None
    assert (record.outcome, record.reason, record.session) == ("failed_tests", "2 of 3: a, b", 1)


@pytest.mark.parametrize("name", ["measurements.jsonl", "outputs.json"])
def test_launches_that_no_session_knows_of_are_told(folder: RunFolder, name: str) -> None:
    """A session that no longer names the arm makes no bad measurement of it."""
    changed(folder, **REMOVED)
    session = folder.read_session(KEY.task_id, 1)
    assert session is not None
    write_record(folder.session(KEY.task_id, 1) / "session.json", session.model_copy(update={"agents": ()}))
    for other in {"measurements.jsonl", "outputs.json"} - {name}:
        (folder.trial(KEY) / other).unlink()
    with pytest.raises(TrialError, match=f"{name} lies there, and no session says that it timed it"):
        regrade_run(folder)


def test_a_second_try_that_measured_nothing_keeps_its_ending(folder: RunFolder) -> None:
    """Noise in the first session, and none after it: what lies there is of the first, which had nothing to say."""
    for path in (folder.session(KEY.task_id, 1), folder.trial(KEY)):
        noisy = [replace(one, noisy=True) for one in read_measurements(path / "measurements.jsonl")]
        write_measurements(path / "measurements.jsonl", noisy)
    changed(folder, **REMOVED)
    before = folder.read_trial(KEY)
    assert regrade_run(folder) == ()
    assert folder.read_trial(KEY) == before


def test_nothing_is_written_where_one_record_cannot_be_made(tmp_path: Path) -> None:
    """The first task's records stay as they were where a file of the second one is missing."""
    run = SampleRun(tmp_path / "mine", ["acme_fast_1", "acme_fast_2"], ["good"])
    for task_id in run.config.task_ids:
        session = run.session(task_id, dict.fromkeys(NAMES, 2.0))
        run.trial(session, KEY.agent, "measured", dict.fromkeys(NAMES, 4.0))
        key = TrialKey(task_id, KEY.agent, 1)
        arms = {"agents": (agent_arm(key.label),)}
        write_record(run.folder.session(task_id, 1) / "session.json", session.model_copy(update=arms))
        recount(run.folder, task_id)
        facts = TaskFacts(task_id=task_id, benchmark_dir="benchmarks", expert_patch_sha256="0" * 64, workloads=NAMES)
        write_record(run.folder.task_facts(task_id), facts)
    (run.folder.trial(key) / "outputs.json").unlink()
    before = {path: path.read_bytes() for path in run.folder.root.rglob("*.json")}
    with pytest.raises(TrialError, match=r"outputs\.json is missing"):
        regrade_run(run.folder)
    assert {path: path.read_bytes() for path in run.folder.root.rglob("*.json")} == before


def test_a_session_counts_only_where_it_belongs(folder: RunFolder) -> None:
    """A session's record that was copied over another one is told."""
    session = folder.read_session(KEY.task_id, 1)
    assert session is not None
    write_record(folder.session(KEY.task_id, 1) / "session.json", session.model_copy(update={"session": 2}))
    with pytest.raises(TrialError, match=f"record of another session, 2 of {KEY.task_id}"):
        regrade_run(folder)


def test_outputs_decide_before_times(folder: RunFolder) -> None:
    """Whatever the launches say; both values are in the reason."""
    row = OutputRow(workload=NAMES[1], state="differs", path="line 8", expected="1", found="2")
    others = tuple(OutputRow(workload=name, state="equal") for name in NAMES if name != row.workload)
    write_record(folder.trial(KEY) / "outputs.json", OutputFacts(workloads=(row, *others)))
    assert outcome(folder)[0] == "failed_outputs"
    assert "bench.time_b: 2 at line 8 instead of 1" in outcome(folder)[1]


def test_a_forged_report_of_tests_decides_before_outputs(folder: RunFolder) -> None:
    """It is no failure of tests: it is tampering."""
    write_record(folder.trial(KEY) / "tests.json", TestFacts(built=True, expected=3, broken=2, forged=("a::b",)))
    assert outcome(folder) == (
        "tampered_or_unreliable",
        "1 of 2 tests that the host broke are reported as passed: a::b",
    )


def test_answers_that_were_stored_are_found_in_the_files(folder: RunFolder) -> None:
    """Launches on other inputs that lie beside the rounds: score and rounds of the report are theirs."""
    _add(folder.session(KEY.task_id, 1) / "measurements.jsonl", {BASE: 1e-3, EXPERT: 5e-4})
    _add(folder.trial(KEY) / "measurements.jsonl", {agent_arm(KEY.label): 1e-3})
    recount(folder, KEY.task_id)
    found, reason = outcome(folder)
    assert found == "measured"
    assert reason.startswith("1 workload faster only on inputs of the suite: bench.time_a")
    record = folder.read_trial(KEY)
    assert record is not None
    assert record.ratios is not None
    ratios = {row.workload: (row.ratio, row.repeated) for row in record.ratios.workloads}
    assert ratios[NAMES[0]][0] == pytest.approx(1.0, rel=0.02)
    assert ratios[NAMES[0]][1] == pytest.approx(4.0, rel=0.05)
    assert ratios[NAMES[1]][0] == pytest.approx(4.0, rel=0.05)
    assert ratios[NAMES[1]][1] is None
    run = folder.read_run()
    assert run is not None
    (row,) = trial_rows(folder, run.config, "floor")
    rounds = {attempt.workload: attempt.agent for attempt in Rounds(folder, "floor").of(row)}
    assert rounds[NAMES[0]] == pytest.approx([0.0] * 6, abs=0.02)
    assert min(rounds[NAMES[1]]) > 1.0


def test_what_the_expert_broke_is_in_no_figure_of_a_trial(folder: RunFolder) -> None:
    """Slower where there is an expert to compare with, and faster where there is none: every figure says slower."""
    shared, own = (place / "measurements.jsonl" for place in (folder.session(KEY.task_id, 1), folder.trial(KEY)))
    lost = [
        replace(one, samples=(), reason="timed out") if (one.arm, one.workload) == (EXPERT, NAMES[1]) else one
        for one in read_measurements(shared)
    ]
    write_measurements(shared, lost)
    slower = {NAMES[0]: 5.0, NAMES[1]: 1.0}
    mine = [
        replace(one, samples=tuple(slower[one.workload] * each for each in one.samples))
        for one in read_measurements(own)
    ]
    write_measurements(own, mine)
    assert outcome(folder) == ("measured", "")
    record = folder.read_trial(KEY)
    assert record is not None
    assert record.ratios is not None
    assert record.score is not None
    assert record.ratios.speedup == pytest.approx(0.8, rel=0.02)
    assert record.score.speedup == pytest.approx(record.ratios.speedup)
    assert record.ratios.high is not None
    assert record.ratios.high < 1.0
    assert run_state(folder).best == {KEY.agent: record.ratios.speedup}


def _add(path: Path, seconds: Mapping[str, float]) -> None:
    """Six launches on other inputs of the first workload."""
    launches = list(read_measurements(path))
    some = Measurement(NAMES[0], "", FRESH_ROUND, (1.0,), 1, 0.2, 0.2, 0)
    for arm, each in seconds.items():
        launches += [replace(some, arm=arm, samples=(each * (1 + 1e-4 * number),)) for number in range(6)]
    write_measurements(path, launches)


def _check(path: Path, arm: str, slower: float) -> None:
    """Four pairs of launches that check an arm's clock on the first workload, its calls so many times as long."""
    launches = list(read_measurements(path))
    usual = next(one for one in launches if (one.arm, one.workload) == (arm, NAMES[0]) and one.samples)
    taken = tuple(slower * sample for sample in usual.samples)
    checked = replace(usual, round=FULL_ROUND, samples=taken, wall_s=0.2 + sum(taken) * usual.number)
    empty = replace(usual, round=EMPTY_ROUND, samples=(1e-9,), wall_s=0.2)
    write_measurements(path, [*launches, *[checked, empty] * 4])


def test_a_damaged_run_is_told_before_anything_else(tmp_path: Path) -> None:
    """Whoever reads that nothing changed would take it for a run in order."""
    folder = sample_run(tmp_path / "r").folder
    (folder.root / "run.json").write_text("[")
    with pytest.raises(TrialError, match=r"run\.json"):
        regrade_run(folder)


def test_who_cannot_be_checked_in_two_sessions_is_unreliable(folder: RunFolder) -> None:
    """Checked launches take the arm twice as long as its rounds, and base no longer: once that may be chance."""
    _check(folder.session(KEY.task_id, 1) / "measurements.jsonl", BASE, 1.0)
    _check(folder.trial(KEY) / "measurements.jsonl", agent_arm(KEY.label), 2.0)
    recount(folder, KEY.task_id)
    found, reason = outcome(folder)
    assert (found, "for its own noise: calls take" in reason) == ("invalid_measurement", True)
    session = folder.read_session(KEY.task_id, 1)
    assert session is not None
    launches = read_measurements(folder.session(KEY.task_id, 1) / "measurements.jsonl")
    write_measurements(folder.session(KEY.task_id, 2) / "measurements.jsonl", launches)
    write_record(folder.session(KEY.task_id, 2) / "session.json", session.model_copy(update={"session": 2}))
    found, reason = outcome(folder)
    assert (found, reason.endswith(", in 2 sessions")) == ("tampered_or_unreliable", True)
    record = folder.read_trial(KEY)
    assert record is not None
    assert (record.session, record.score) == (2, None)
