"""What a session has timed lies beside its trials where session.json says so; a full disk fails nobody."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from datasmith.docker.engine import ContainerEngine, Limits
from datasmith.errors import ContainerError
from datasmith.evaluation.grading import Grader, Submission
from datasmith.evaluation.outcome import AgentFacts
from datasmith.evaluation.regrade import regrade_run
from datasmith.evaluation.run_folder import TIMED, RunFolder, TrialKey, read_measurements
from datasmith.evaluation.trial import Stopped
from datasmith.evaluation.whole_files import write_record
from datasmith.tasks.certificate import Certificate, Cost
from datasmith.tasks.task import Task
from datasmith.workloads.base import CONTROL, EXPERT, agent_arm
from datasmith.workloads.machine import this_machine
from datasmith.workloads.measure import Measured
from datasmith.workloads.summary import recorded_floors
from tests.mounts import small_disk
from tests.sandboxes import EXPERT_PATCH, embedded_engine, tree_image, tree_task
from tests.unit.evaluation.sample_run import SampleRun, config_of, launches, summary
from tests.unit.evaluation.test_trial import SPEEDS, TASK, WORKED, Ready, timed
from tests.unit.tasks.samples import certificate
from tests.unit.workloads.simulated import IMAGE


def stored(run: SampleRun, key: TrialKey, task: Task = TASK, certificates: Sequence[Certificate] = ()) -> None:
    """One session more of the trial is written, in which it is as fast as base."""
    arms = {arm: launches(arm, dict.fromkeys(SPEEDS, 1.0), run.rng) for arm in (CONTROL, EXPERT, agent_arm(key.label))}
    measured = Measured(
        tuple(launch for mine in (run.base, *arms.values()) for launch in mine),
        {arm: summary(arm, run.base, mine) for arm, mine in arms.items()},
        Cost(launches=4 * len(run.base), wall_s=1.0, cpu_s=1.0, timed_s=1.0),
        {agent_arm(key.label): ()},
    )
    grader = Grader(
        cast("ContainerEngine", Ready()),
        IMAGE,
        task,
        folder=run.folder,
        config=run.config,
        limits=Limits(),
        say=lambda *_said: None,
        check=lambda: None,
        certificates=certificates,
    )
    grader._store(measured, [Submission(key, AgentFacts(wall_s=1.0), "")], grader._plan())


def test_a_session_knows_the_noise_that_earlier_ones_saw(tmp_path: Path) -> None:
    """And that of the task's certificate, where both are of the image that is measured, and of this machine."""
    run = SampleRun(tmp_path / "run", [TASK.task_id], ["worked"])
    here = {"image_digest": IMAGE.digest, "machine": this_machine()}
    first = run.session(TASK.task_id, SPEEDS).model_copy(update=here)
    write_record(run.folder.session(TASK.task_id, 1) / "session.json", first)
    stored(run, WORKED)
    told = run.folder.sessions(TASK.task_id)[2].earlier_floors
    assert told == recorded_floors(first.control) and list(told) == list(SPEEDS)
    noisy = summary(CONTROL, run.base, launches(CONTROL, dict.fromkeys(SPEEDS, 1.5), run.rng))
    issued = certificate().model_copy(update={**here, "control": noisy})
    stored(run, WORKED, TASK.model_copy(update={"certificate": issued}))
    told = run.folder.sessions(TASK.task_id)[3].earlier_floors
    assert told == recorded_floors(noisy) and min(told.values()) > 0.3


def test_a_session_reads_the_certificate_of_its_own_machine(tmp_path: Path) -> None:
    """Where another machine's is newer, which is the task's own."""
    run = SampleRun(tmp_path / "run", [TASK.task_id], ["worked"])
    run.session(TASK.task_id, SPEEDS)
    noisy = summary(CONTROL, run.base, launches(CONTROL, dict.fromkeys(SPEEDS, 1.4), run.rng))
    ours = certificate().model_copy(update={"image_digest": IMAGE.digest, "machine": this_machine(), "control": noisy})
    theirs = ours.model_copy(update={"machine": this_machine().model_copy(update={"cpu_model": "another"})})
    stored(run, WORKED, TASK.model_copy(update={"certificate": theirs}), (ours, theirs))
    assert run.folder.sessions(TASK.task_id)[2].earlier_floors == recorded_floors(noisy)


@pytest.mark.engine
def test_what_fails_on_a_full_disk_is_no_failure_of_the_patch(tmp_path: Path) -> None:
    """The sandboxes' disk is full of something else: an outage. With room the same trial is one that failed."""
    with small_disk(tmp_path / "disk", megabytes=90) as disk:
        engine = embedded_engine(disk)
        image = tree_image(engine, tmp_path / "made", {"a.py": b"x = 1\n"})
        task = tree_task(image, test_command=("false", "{junit}"))
        key = TrialKey(task.task_id, "nop", 1)
        grader = Grader(
            engine,
            image,
            task,
            folder=RunFolder(tmp_path / "run"),
            config=config_of([task.task_id], ["x"]),
            limits=Limits(),
            say=lambda *_said: None,
            check=lambda: None,
        )
        submission = Submission(key, AgentFacts(wall_s=1.0), EXPERT_PATCH)
        (disk / "ballast").write_bytes(b"x" * 40_000_000)
        with pytest.raises(ContainerError, match="no space left on the disk of the sandboxes"):
            grader._before_timing(submission)
        assert not grader._folder.trial(key).exists()
        (disk / "ballast").unlink()
        ending = grader._before_timing(submission)
        assert ending is not None and ending.outcome == "failed_tests"


def beside(folder: RunFolder) -> dict[str, bytes]:
    return {name: (folder.trial(WORKED) / name).read_bytes() for name in TIMED}


def test_a_session_that_was_not_written_leaves_what_an_earlier_one_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped at session.json, whose launches would else be taken for those of the first session."""
    run = SampleRun(tmp_path / "run", [TASK.task_id], ["worked"])
    timed(run, WORKED)
    before = beside(run.folder)

    def stops(path: Path, record: object) -> None:
        if path.name == "session.json":
            raise Stopped

    monkeypatch.setattr("datasmith.evaluation.grading.write_record", stops)
    with pytest.raises(Stopped):
        stored(run, WORKED)
    run.folder.put_in_place([WORKED])
    assert beside(run.folder) == before
    assert (run.folder.next_session(TASK.task_id), list(run.folder.sessions(TASK.task_id))) == (3, [1])
    assert regrade_run(run.folder) == ()


def test_a_session_that_was_written_is_put_in_place_by_who_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after session.json: launches and outputs come to the trial, and nothing of it stays with the session."""
    run = SampleRun(tmp_path / "run", [TASK.task_id], ["worked"])
    timed(run, WORKED)
    before = beside(run.folder)

    def stops(_folder: RunFolder, _trials: object) -> None:
        raise Stopped

    with monkeypatch.context() as patched, pytest.raises(Stopped):
        patched.setattr(RunFolder, "put_in_place", stops)
        stored(run, WORKED)
    assert beside(run.folder) == before
    run.folder.put_in_place([WORKED])
    assert {launch.arm for launch in read_measurements(run.folder.trial(WORKED) / "measurements.jsonl")} == {
        agent_arm(WORKED.label)
    }
    assert [name for name, data in beside(run.folder).items() if data == before[name]] == []
    found = sorted(path.name for path in run.folder.session(TASK.task_id, 2).iterdir())
    assert found == ["measurements.jsonl", "session.json"]
