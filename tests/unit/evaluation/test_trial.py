"""A task's trials where the place to work in is gone: nothing is an answer, and nothing is lost."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import cast

import pytest

from datasmith.agents.coding.base import Agent, AgentResult
from datasmith.docker.engine import Container, ContainerEngine, ImageRef
from datasmith.errors import AgentFailed, EngineUnavailable
from datasmith.evaluation.budget import CostLimit
from datasmith.evaluation.grading import Graded, Submission
from datasmith.evaluation.outcome import AgentFacts, Ending
from datasmith.evaluation.placing import TaskWork
from datasmith.evaluation.records import RunLock, SessionRecord, TaskFacts, TrialRecord
from datasmith.evaluation.regrade import regrade_run
from datasmith.evaluation.run_folder import RunFolder, TrialKey
from datasmith.evaluation.trial import Stopped, StopToken, Surroundings, TaskRun
from datasmith.evaluation.whole_files import write_record, write_text
from datasmith.executors.cores import CoreLocks
from datasmith.settings import Settings
from datasmith.tasks.task import Task
from datasmith.workloads.base import agent_arm
from tests.unit.evaluation.sample_run import SampleRun, config_of
from tests.unit.tasks.samples import sample_task
from tests.unit.workloads.simulated import IMAGE, SimulatedContainer

TASK = sample_task(certificate=None)
WORKED, NOT_BEGUN = (TrialKey(TASK.task_id, f"command-{name}", 1) for name in ("worked", "waits"))


class Gone:
    """An engine that does not answer."""

    name = "gone"

    def inspect(self, digest: str) -> ImageRef | None:
        raise EngineUnavailable(f"nobody answers for {digest}")


@dataclass
class Seen:
    """What the run tells."""

    ends: list[TrialRecord] = field(default_factory=list)
    n_complete: int = 0
    steps: list[str] = field(default_factory=list)

    def step(self, task_id: str, what: str, done: int = 0, total: int | None = None) -> None:
        self.steps.append(f"{task_id}: {what}")

    def complete(self, n_trials: int) -> None:
        self.n_complete += n_trials

    def ended(self, trial: TrialRecord) -> None:
        self.ends.append(trial)


class Ready:
    """An engine that has the image; nothing runs in its sandboxes."""

    name = "ready"

    def inspect(self, digest: str) -> ImageRef | None:
        return IMAGE

    def start(self, image: ImageRef, **_given: object) -> SimulatedContainer:
        return SimulatedContainer(lambda _request: 1.0)


class BreaksDown:
    """An agent that breaks down."""

    name = "command"

    def solve(self, task: Task, container: Container, *, timeout_s: float) -> AgentResult:
        raise AgentFailed("no idea")


SPEEDS = {"bench.time_calc": 2.0}
NOTHING = Ending("no_patch", "nothing was changed")
NOISE = Ending("invalid_measurement", "noise")


def timed(run: SampleRun, key: TrialKey) -> SessionRecord:
    """One session, in which the trial was timed; what stands beside the trial is that of a run."""
    session = run.session(key.task_id, SPEEDS).model_copy(update={"agents": (agent_arm(key.label),)})
    write_record(run.folder.session(key.task_id, 1) / "session.json", session)
    write_record(run.folder.task_facts(key.task_id), TaskFacts.of(TASK))
    run.trial(session, key.agent, "measured", SPEEDS)
    regrade_run(run.folder)
    return session


def handed_in(folder: RunFolder, key: TrialKey) -> None:
    """The agent's work is over, and it has changed nothing."""
    write_text(folder.trial(key) / "patch.diff", "")
    write_record(folder.trial(key) / "trajectory.json", AgentFacts(wall_s=3.0))


def surroundings(
    run: SampleRun, seen: Seen, stop: StopToken, agents: Mapping[str, Agent] = MappingProxyType({})
) -> Surroundings:
    """A place to work in that is ready."""
    return Surroundings(
        folder=run.folder,
        config=run.config,
        agents=agents,
        engine=cast("ContainerEngine", Ready()),
        settings=Settings(data_dir=run.folder.root),
        observer=seen,
        stop=stop,
        cost=CostLimit(None, run.folder, ()),
    )


def gone_on(
    run: SampleRun,
    monkeypatch: pytest.MonkeyPatch,
    grade: Callable[[Sequence[Submission]], Graded],
    agents: Mapping[str, Agent] = MappingProxyType({}),
) -> None:
    """The task's run with a grader that finds this, whatever it is given."""

    class Scripted:
        def __init__(self, *_given: object, **_named: object) -> None:
            self.grade = grade

    monkeypatch.setattr("datasmith.evaluation.trial.Grader", Scripted)
    TaskRun(surroundings(run, Seen(), StopToken(), agents), TASK, run.folder.root, (0,)).run()


def test_who_breaks_down_has_worked_until_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time is known, as that of any other attempt: no second one takes just as long."""
    run = SampleRun(tmp_path / "run", [TASK.task_id], ["worked"])

    def judged(given: Sequence[Submission]) -> Graded:
        return Graded(None, {each.key: Ending("agent_error", each.facts.failure) for each in given})

    gone_on(run, monkeypatch, judged, {WORKED.agent: BreaksDown()})
    record = run.folder.read_trial(WORKED)
    assert record is not None
    assert (record.outcome, record.reason) == ("agent_error", "no idea")
    assert record.wall_s > 0.0


def test_a_failure_beside_a_failed_measurement_has_the_last_session_with_an_expert(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Policies score it against that expert, and a regrade of the run changes nothing."""
    run = SampleRun(tmp_path / "run", [TASK.task_id], ["worked", "waits"])
    timed(run, WORKED)
    handed_in(run.folder, NOT_BEGUN)
    gone_on(run, monkeypatch, lambda given: Graded(None, {each.key: NOTHING for each in given}))
    record = run.folder.read_trial(NOT_BEGUN)
    assert record is not None
    assert (record.outcome, record.session) == ("no_patch", 1)
    assert regrade_run(run.folder) == ()


def test_a_failure_before_the_first_session_has_the_one_that_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was complete when another agent's trial was tried again, and that was measured."""
    run = SampleRun(tmp_path / "run", [TASK.task_id], ["worked", "waits"])
    handed_in(run.folder, NOT_BEGUN)
    write_record(run.folder.trial(WORKED) / "trajectory.json", AgentFacts(wall_s=3.0, failure="x"))
    write_text(run.folder.trial(WORKED) / "patch.diff", "")
    away = {WORKED: Ending("infra_error", "outage"), NOT_BEGUN: NOTHING}
    gone_on(run, monkeypatch, lambda given: Graded(None, {each.key: away[each.key] for each in given}))
    before = run.folder.read_trial(NOT_BEGUN)
    assert before is not None
    assert before.session is None

    def measured(given: Sequence[Submission]) -> Graded:
        session = run.session(TASK.task_id, SPEEDS)
        return Graded(session, {each.key: Ending("agent_error", "x") for each in given})

    gone_on(run, monkeypatch, measured)
    after = run.folder.read_trial(NOT_BEGUN)
    assert after == before.model_copy(update={"session": 1})
    assert regrade_run(run.folder) == ()


def test_what_a_session_has_timed_stands_where_a_later_try_measures_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run was stopped between session.json and trial.json; grading again from the files gives the same."""
    run = SampleRun(tmp_path / "run", [TASK.task_id], ["worked"])
    timed(run, WORKED)
    before = run.folder.read_trial(WORKED)
    (run.folder.trial(WORKED) / "trial.json").unlink()
    gone_on(run, monkeypatch, lambda given: Graded(None, {each.key: NOISE for each in given}))
    assert run.folder.read_trial(WORKED) == before
    assert regrade_run(run.folder) == ()


def test_leftovers_of_no_session_are_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches beside a trial without an end, of a session that was not written: they say nothing of it."""
    run = SampleRun(tmp_path / "run", [TASK.task_id], ["worked"])
    timed(run, WORKED)
    (run.folder.session(TASK.task_id, 1) / "session.json").unlink()
    (run.folder.trial(WORKED) / "trial.json").unlink()
    gone_on(run, monkeypatch, lambda given: Graded(None, {each.key: NOISE for each in given}))
    record = run.folder.read_trial(WORKED)
    assert record is not None
    assert (record.outcome, record.reason, record.session) == ("invalid_measurement", "noise", None)
    assert regrade_run(run.folder) == ()


class Asked(threading.Event):
    """Set once it was asked nine times."""

    n_asked = 0

    def is_set(self) -> bool:
        self.n_asked += 1
        return self.n_asked > 9


def test_a_task_that_waits_for_a_core_says_so_once(tmp_path: Path) -> None:
    """Beside another command nothing happens for long, and whoever looks on is told why."""
    run, seen = SampleRun(tmp_path / "run", [TASK.task_id], ["worked"]), Seen()
    cores = CoreLocks(tmp_path / "cores", [(0,)], poll_s=0.0)
    with cores.hold(lambda: None), pytest.raises(Stopped):
        TaskWork(surroundings(run, seen, StopToken(Asked())), cores).run(TASK, tmp_path)
    assert len(seen.steps) == 1
    assert seen.steps[0].startswith(f"{TASK.task_id}: waits for a free core to measure on: core 0 is held by process ")


def test_an_engine_that_is_gone_is_an_outage_of_each_trial(tmp_path: Path) -> None:
    """Also of one whose agent has not worked, which has no patch; the run goes on with its other tasks."""
    folder, seen = RunFolder(tmp_path / "run"), Seen()
    write_record(folder.root / "run.lock", RunLock(tasks={TASK.task_id: "sha256:0"}))
    write_text(folder.trial(WORKED) / "patch.diff", "diff --git a/x b/x\n")
    write_record(folder.trial(WORKED) / "trajectory.json", AgentFacts(wall_s=3.0, cost_usd=2.0))
    around = Surroundings(
        folder=folder,
        config=config_of([TASK.task_id], ["worked", "waits"]),
        agents={},
        engine=cast("ContainerEngine", Gone()),
        settings=Settings(data_dir=tmp_path),
        observer=seen,
        stop=StopToken(),
        cost=CostLimit(None, folder, ()),
    )
    TaskRun(around, TASK, tmp_path, (0,)).run()
    assert [(end.agent, end.outcome, end.cost_usd) for end in seen.ends] == [
        (WORKED.agent, "infra_error", 2.0),
        (NOT_BEGUN.agent, "infra_error", None),
    ]
    assert seen.ends[0].patch_sha256 != seen.ends[1].patch_sha256
    assert "nobody answers" in (seen.ends[1].reason or "")
    assert folder.trials() == tuple(sorted(seen.ends, key=lambda end: end.agent))
    assert not folder.is_complete(WORKED) and not folder.is_complete(NOT_BEGUN)
