"""Grade the patches of one task: policy, tests in a pristine sandbox, then all that pass timed in one session."""

import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from datasmith.docker.engine import Container, ContainerEngine, ImageRef, Limits
from datasmith.docker.room import check_room
from datasmith.errors import MeasurementFailed
from datasmith.evaluation.config import RunConfig
from datasmith.evaluation.outcome import (
    EXCLUDED,
    AgentFacts,
    Ending,
    OutputFacts,
    TestFacts,
    after_outputs,
    after_timing,
    before_tests,
    before_timing,
)
from datasmith.evaluation.records import SelectionRecord, SessionRecord, TaskFacts, patch_digest
from datasmith.evaluation.rows import pairs_of
from datasmith.evaluation.run_folder import RunFolder, TrialKey, write_measurements
from datasmith.evaluation.selection import impacted
from datasmith.evaluation.tests_run import TreeTests
from datasmith.evaluation.whole_files import write_record
from datasmith.metrics.score import Score, score
from datasmith.tasks.certificate import ArmSummary, Certificate
from datasmith.tasks.policy import GuardVerdict, check_patch
from datasmith.tasks.task import Task
from datasmith.workloads.arms import prepare, suite_print
from datasmith.workloads.base import BASE, CONTROL, EXPERT, Workload, agent_arm
from datasmith.workloads.earlier import earlier_floors
from datasmith.workloads.machine import this_machine
from datasmith.workloads.measure import Measured, Progress, measure
from datasmith.workloads.plan import MeasurePlan
from datasmith.workloads.task_arm import scored_workloads, task_arm
from datasmith.workloads.touched import Suite

SHARED_ARMS = (BASE, CONTROL, EXPERT)


@dataclass(frozen=True, slots=True)
class Submission:
    """What one trial has to be graded: the agent's facts and its patch."""

    key: TrialKey
    facts: AgentFacts
    patch: str

    @property
    def arm(self) -> str:
        """The name of its arm."""
        return agent_arm(self.key.label)


@dataclass(frozen=True, slots=True)
class Graded:
    """How the trials of a task ended; `session` is None where the measuring was not reached."""

    session: SessionRecord | None
    endings: Mapping[TrialKey, Ending]
    ratios: Mapping[TrialKey, ArmSummary] = field(default_factory=dict)

    @property
    def retried(self) -> frozenset[TrialKey]:
        """The trials whose ending says nothing about the agent."""
        return frozenset(key for key, ending in self.endings.items() if ending.outcome in EXCLUDED)

    def score(self, key: TrialKey) -> Score | None:
        """The score of a measured trial."""
        if self.session is None or self.endings[key].outcome != "measured":
            return None
        return score(pairs_of(self.ratios[key], self.session.expert))


def guard_verdict(patch: str, task: TaskFacts) -> GuardVerdict:
    """The policy's verdict; the expert's own patch is the task's, not a submission, and is not held against it."""
    if patch_digest(patch) == task.expert_patch_sha256:
        return GuardVerdict(())
    return check_patch(patch, benchmark_dir=task.benchmark_dir)


class Grader:
    """Grades one task's submissions. `say` is told what happens; `check` raises where the run was stopped."""

    def __init__(
        self,
        engine: ContainerEngine,
        image: ImageRef,
        task: Task,
        *,
        folder: RunFolder,
        config: RunConfig,
        limits: Limits,
        say: Callable[[str, int, int | None], None],
        check: Callable[[], None],
        guard: Callable[[str, TaskFacts], GuardVerdict] = guard_verdict,
        lottery: random.Random | None = None,
        coverage_dir: Path | None = None,
        certificates: Sequence[Certificate] = (),
    ) -> None:
        """`coverage_dir` keeps what workloads were seen to run; None: beside the task's sessions.

        `certificates`: those of every class of machines; else the task's own, where it has one.
        """
        self._coverage_dir = coverage_dir
        self._certificates = certificates or ([task.certificate] if task.certificate else [])
        self._engine = engine
        self._image = image
        self._task = task
        self._folder = folder
        self._config = config
        self._limits = limits
        self._say = say
        self._check = check
        self._guard = guard
        # Nothing that a submission could know beforehand, such as the run's seed, decides what is drawn.
        self._lottery = lottery or random.SystemRandom()
        self._selection: SelectionRecord | None = None

    def grade(self, submissions: Sequence[Submission]) -> Graded:
        """Every submission's ending; what passes its tests is timed together with base, base2 and expert.

        The three shared arms are timed even where nothing passes: a failed trial is scored against the expert.

        Raises:
            ContainerError: the sandboxes failed; says nothing about the submissions.
        """
        endings: dict[TrialKey, Ending] = {}
        for number, submission in enumerate(submissions):
            self._say(f"tests of {submission.key.label}", number, len(submissions))
            ending = self._before_timing(submission)
            if ending:
                endings[submission.key] = ending
        timed = [submission for submission in submissions if submission.key not in endings]
        plan = self._plan()
        try:
            measured, broken = self._measure(timed, plan)
        except MeasurementFailed as error:
            failed = Ending("invalid_measurement", str(error))
            return Graded(None, {submission.key: failed for submission in timed} | endings)
        for submission in timed:
            if submission.arm in broken:
                facts = TestFacts(built=False, expected=len(self._task.passing_tests), problem=broken[submission.arm])
                endings[submission.key] = self._tested(submission, facts) or Ending("failed_tests", facts.problem)
        timed = [submission for submission in timed if submission.arm not in broken]
        session = self._store(measured, timed, plan)
        ratios = {submission.key: measured.summaries[submission.arm] for submission in timed}
        for submission in timed:
            ending = after_outputs(OutputFacts(workloads=measured.outputs[submission.arm]))
            endings[submission.key] = ending or after_timing(ratios[submission.key], session.expert, session.control)
        return Graded(session, endings, ratios)

    def _before_timing(self, submission: Submission) -> Ending | None:
        verdict = self._guard(submission.patch, TaskFacts.of(self._task))
        ending = before_tests(submission.facts, submission.patch, verdict)
        if ending:
            return ending
        trusted = not submission.patch.strip() or submission.patch == self._task.expert_patch
        task = self._task
        timeout = self._config.test_timeout_s
        tests = TreeTests(self._arm, task.test_command, task.passing_tests, self._lottery, timeout=timeout)
        facts = tests.facts(submission.patch, trusted=trusted)
        if before_timing(facts):
            self._check_room()
        return self._tested(submission, facts)

    def _check_room(self) -> None:
        """Raises ContainerError where the disk is full: what failed on it may be no failure of the submission."""
        with self._arm("") as pristine:
            check_room(pristine)

    def _tested(self, submission: Submission, facts: TestFacts) -> Ending | None:
        self._check()
        write_record(self._folder.trial(submission.key) / "tests.json", facts)
        return before_timing(facts)

    def _arm(self, patch: str, suite: str = "") -> Container:
        return task_arm(self._engine, self._image, self._task, patch=patch, suite=suite, limits=self._limits)

    def _measure(self, timed: Sequence[Submission], plan: MeasurePlan) -> tuple[Measured, Mapping[str, str]]:
        """Time base, base2, expert and the submissions; also the submissions' arms that cannot be set up, and why."""
        with ExitStack() as stack:
            suite, arms, broken = self._arms(stack, timed)
            self._selection = self._select(arms[BASE], suite, timed) if self._config.select == "impacted" else None
            chosen = suite.workloads
            if self._selection:
                chosen = [workload for workload in chosen if workload.id in self._selection.selected]
            measured = measure(
                arms,
                chosen,
                plan,
                benchmark_dir=self._task.benchmark_dir,
                sink=lambda _launch: self._check(),
                progress=self._told,
                outputs=True,
                trusted=[submission.arm for submission in timed if submission.patch == self._task.expert_patch],
                lottery=self._lottery,
            )
            return measured, broken

    def _arms(
        self, stack: ExitStack, timed: Sequence[Submission]
    ) -> tuple[Suite, dict[str, Container], dict[str, str]]:
        """The suite, the prepared arms, and why others have none.

        A tree that was built for its tests and cannot be built or prepared again spoils its own trial, and no other.
        """
        shared = {BASE: "", CONTROL: "", EXPERT: self._task.expert_patch}
        directory = self._task.benchmark_dir
        workloads: Sequence[Workload] = ()
        suite: str | None = None
        arms: dict[str, Container] = {}
        broken: dict[str, str] = {}
        for name, patch in (shared | {submission.arm: submission.patch for submission in timed}).items():
            self._say(f"prepare {name}", len(arms), len(shared) + len(timed))
            try:
                writable = stack.enter_context(self._arm(patch, self._task.suite_patch))
                workloads = workloads or self._workloads(writable)
                suite = suite or suite_print(writable, directory)
                arms[name] = stack.enter_context(prepare(writable, workloads, directory, suite=suite))
            except MeasurementFailed as error:
                if name in shared:
                    raise
                self._check_room()
                broken[name] = str(error)
        return Suite(workloads, directory, suite or "", self._image.digest), arms, broken

    def _select(self, base: Container, suite: Suite, timed: Sequence[Submission]) -> SelectionRecord:
        """The workloads that the expert's or a submission's patch can touch; those of earlier sessions stay."""
        sessions = self._folder.sessions(self._task.task_id).values()
        earlier = {name for session in sessions if session.selection for name in session.selection.selected}
        patches = [self._task.expert_patch, *(submission.patch for submission in timed)]
        kept_in = self._coverage_dir or self._folder.task_facts(self._task.task_id).parent
        return impacted(base, suite, patches, earlier=earlier, kept_in=kept_in, say=self._say)

    def _told(self, progress: Progress) -> None:
        self._say(f"measure, {progress.step}", progress.done, progress.expected)

    def _workloads(self, base: Container) -> list[Workload]:
        """The task's workloads as base has them, within the run's time limit."""
        found = scored_workloads(self._task, base)
        limit = self._config.benchmark_timeout_s
        return found if limit is None else [replace(workload, timeout_s=limit) for workload in found]

    def _plan(self) -> MeasurePlan:
        before = self._folder.sessions(self._task.task_id).values()
        known = earlier_floors([*self._certificates, *before], self._image.digest)
        return replace(plan_of(self._config, self._task.task_id, self._core), earlier_floors=known)

    @property
    def _core(self) -> int | None:
        return self._limits.cpus[0] if self._limits.cpus else None

    def _store(self, measured: Measured, timed: Sequence[Submission], plan: MeasurePlan) -> SessionRecord:
        """Write the raw launches and outputs, each arm's beside its trial and the shared ones beside the session.

        All of it lies in the session's folder until session.json is there: who is stopped before that leaves nothing
        beside a trial.
        """
        self._check()
        task_id = self._task.task_id
        number = self._folder.next_session(task_id)
        for submission in timed:
            mine = [launch for launch in measured.measurements if launch.arm == submission.arm]
            where = self._folder.timed(submission.key, number)
            write_measurements(where / "measurements.jsonl", mine)
            write_record(where / "outputs.json", OutputFacts(workloads=measured.outputs[submission.arm]))
        shared = [launch for launch in measured.measurements if launch.arm in SHARED_ARMS]
        record = SessionRecord(
            session=number,
            task_id=task_id,
            image_digest=self._image.digest,
            engine=self._engine.name,
            cpu=self._core,
            machine=this_machine(),
            seed=plan.seed,
            agents=tuple(submission.arm for submission in timed),
            expert=measured.summaries[EXPERT],
            control=measured.summaries[CONTROL],
            cost=measured.cost,
            selection=self._selection,
            not_impacted=self._task.not_impacted,
            screened_out=self._task.screened_out,
            host=measured.host,
            earlier_floors=plan.earlier_floors,
        )
        write_measurements(self._folder.session(task_id, number) / "measurements.jsonl", shared)
        write_record(self._folder.session(task_id, number) / "session.json", record)
        self._folder.put_in_place([submission.key for submission in timed])
        return record


def session_seed(seed: int, task_id: str) -> int:
    """Each task has rounds in an order of its own, and the same one whenever the run is repeated."""
    return zlib.crc32(f"{seed}:{task_id}".encode())


def plan_of(config: RunConfig, task_id: str, core: int | None) -> MeasurePlan:
    """The measuring plan that a run's configuration asks for."""
    plan = MeasurePlan(seed=session_seed(config.seed, task_id), cpu=core)
    plan = plan.precise() if config.precise else plan
    plan = plan.long_launches() if config.select == "impacted" else plan
    return plan if config.max_rounds is None else plan.at_most(config.max_rounds)
