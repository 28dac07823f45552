"""One task of a run: each agent works in a sandbox of its own, then all patches are graded in one session."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel

from datasmith.agents.coding.base import Agent, AgentResult, Usage, equipped
from datasmith.agents.coding.foreign import is_ours, solved
from datasmith.docker.engine import ContainerEngine, ImageRef, Limits
from datasmith.docker.engines import limits_of
from datasmith.errors import AgentFailed, ContainerError, IndexUnavailable, ModelUnavailable, TrialError
from datasmith.evaluation.budget import CostLimit
from datasmith.evaluation.config import RunConfig
from datasmith.evaluation.grading import Graded, Grader, Submission
from datasmith.evaluation.images import sealed_image
from datasmith.evaluation.outcome import EXCLUDED, AgentFacts, Ending, settled, with_budget
from datasmith.evaluation.records import TaskFacts, TrialRecord, patch_digest
from datasmith.evaluation.regrade import TaskFiles
from datasmith.evaluation.run_folder import RunFolder, TrialKey, keys
from datasmith.evaluation.suite import show_suite
from datasmith.evaluation.whole_files import write_record, write_text
from datasmith.executors.cores import CoreSet
from datasmith.settings import Settings
from datasmith.tasks.certificates import read_certificates
from datasmith.tasks.task import Task

TRIES = 2
"""How often a task is begun before an outage of the sandbox is written down as one."""


class Stopped(BaseException):
    """The run was stopped from another thread: unwind, and write nothing more."""


class StopToken:
    """Set once, by whoever stops the run; after that nothing is written. Nor is where `holds` says False."""

    def __init__(self, event: threading.Event | None = None, holds: Callable[[], bool] = lambda: True) -> None:
        self._event = event or threading.Event()
        self._holds = holds

    def under(self, holds: Callable[[], bool]) -> "StopToken":
        """The same token for work that also ends where `holds` says False: a lease that was lost."""
        return StopToken(self._event, holds)

    @property
    def is_set(self) -> bool:
        """True where the run was stopped."""
        return self._event.is_set()

    def set(self) -> None:
        """Stop the run."""
        self._event.set()

    def check(self) -> None:
        """Raise Stopped where the run was stopped: what a killed sandbox answered must not be recorded."""
        if self.is_set or not self._holds():
            raise Stopped


class StepObserver(Protocol):
    """Is told what happens to a task."""

    def step(self, task_id: str, what: str, done: int = 0, total: int | None = None) -> None:
        """A task does `what` now, of which `done` of `total` parts are over."""

    def complete(self, n_trials: int) -> None:
        """`n_trials` further trials are complete."""

    def ended(self, trial: TrialRecord) -> None:
        """This is how a trial ended."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all tasks of a run share."""

    folder: RunFolder
    config: RunConfig
    agents: Mapping[str, Agent]
    engine: ContainerEngine
    settings: Settings
    observer: StepObserver
    stop: StopToken
    cost: CostLimit

    def limits(self, cores: CoreSet) -> Limits:
        """The limits of one sandbox, pinned to these cores."""
        return limits_of(self.settings, cores)


class TaskRun:
    """Completes the trials of one task that are not complete yet."""

    def __init__(self, around: Surroundings, task: Task, task_folder: Path, cores: CoreSet) -> None:
        self._around = around
        self._folder = around.folder
        self._task = task
        self._task_folder = task_folder
        self._cores = cores

    def run(self) -> None:
        """Solve, grade, measure, write; an outage is tried again once and then recorded as `infra_error`."""
        pending = [key for key in self._everything() if not self._folder.is_complete(key)]
        self._folder.put_in_place(pending)
        for tries_left in reversed(range(TRIES)):
            pending = [key for key in pending if self._may_begin(key)]
            if not pending:
                return
            try:
                graded = self._attempt(pending)
            except (ContainerError, IndexUnavailable) as error:
                self._around.stop.check()
                if tries_left:
                    self._say(f"again, after: {error}")
                    continue
                reason = f"{type(error).__name__}: {error}"
                graded = Graded(None, {key: Ending("infra_error", reason) for key in pending}, {})
            pending = [key for key in pending if key in graded.endings]
            again = self._again(pending, graded) if tries_left else frozenset()
            self._complete([key for key in pending if key not in again], graded)
            pending = [key for key in pending if key in again]
            if pending:
                first = graded.endings[pending[0]]
                self._say(f"again, after: {first.reason or first.outcome}")

    def _everything(self) -> tuple[TrialKey, ...]:
        config = self._around.config
        return keys([self._task.task_id], config.labels, config.n_attempts)

    def _may_begin(self, key: TrialKey) -> bool:
        """False where the agent's work has not begun, and there is no money for it."""
        return self._has_worked(key) or self._around.cost.allows()

    def _has_worked(self, key: TrialKey) -> bool:
        """True where its agent's work is over; what an outage of its model ended is done again."""
        facts = self._folder.read_facts(key)
        return facts is not None and not facts.outage

    @staticmethod
    def _again(pending: Sequence[TrialKey], graded: Graded) -> frozenset[TrialKey]:
        """What is worth another try: what says nothing yet, and all where there is no expert to compare with."""
        return graded.retried if graded.session and graded.session.expert.valid else frozenset(pending)

    def _attempt(self, pending: list[TrialKey]) -> Graded:
        self._write(self._folder.task_facts(self._task.task_id), TaskFacts.of(self._task))
        self._say("image")
        image = sealed_image(self._around.engine, self._around.settings, self._task, self._task_folder, self._folder)
        for number, key in enumerate(pending):
            if not self._has_worked(key) and self._may_begin(key):
                self._say(f"{key.label} at work", number, len(pending))
                self._solve(key, image)
        grader = Grader(
            self._around.engine,
            image,
            self._task,
            folder=self._folder,
            config=self._around.config,
            limits=self._around.limits(self._cores[:1]),
            say=self._say,
            check=self._around.stop.check,
            coverage_dir=self._around.settings.cache_dir / "coverage",
            certificates=read_certificates(self._task_folder),
        )
        return grader.grade([self._submission(key) for key in pending if self._folder.read_facts(key) is not None])

    def _submission(self, key: TrialKey) -> Submission:
        facts = self._folder.read_facts(key)
        if facts is None:
            raise TrialError(f"{self._folder.trial(key)}: trajectory.json is gone")
        return Submission(key, facts, self._folder.read_patch(key))

    def _solve(self, key: TrialKey, image: ImageRef) -> None:
        """Let the agent work in a fresh sandbox, and store what it hands in; trajectory.json is written last."""
        agent = self._around.agents[key.agent]
        result = self._work(agent, image)
        self._around.stop.check()
        facts = _facts(agent, result).after(self._folder.read_facts(key))
        where = self._folder.trial(key)
        write_text(where / "agent.log", result.log)
        write_text(where / "patch.diff", result.patch)
        self._write(where / "trajectory.json", facts)

    def _work(self, agent: Agent, image: ImageRef) -> AgentResult:
        """One agent in a sandbox that nobody has worked in before; its time is 0 where it did not come so far."""
        around, limits = self._around, self._around.limits(self._cores)
        begin = None
        try:
            with (
                equipped(agent) as (worker, mounts),
                around.engine.start(image, limits=limits, mounts=mounts, writable_env=True) as container,
            ):
                show_suite(container, self._task)
                begin = time.monotonic()
                return solved(worker, self._task, container, timeout_s=around.config.timeout_s)
        except (AgentFailed, ModelUnavailable) as error:
            return _failed(error, time.monotonic() - begin if begin else 0.0)

    def _complete(self, done: list[TrialKey], graded: Graded) -> None:
        ended = [key for key in self._everything() if key in done or self._folder.read_trial(key)]
        files = TaskFiles(self._folder, self._task.task_id, ended)
        for key in done:
            facts = self._folder.read_facts(key)
            ending = with_budget(settled(graded.endings[key], files.sessions_of(key)), facts)
            ratios = graded.ratios.get(key)
            record = TrialRecord(
                task_id=key.task_id,
                agent=key.agent,
                attempt=key.attempt,
                outcome=ending.outcome,
                reason=ending.reason,
                session=graded.session.session if graded.session else None,
                patch_sha256=patch_digest(self._folder.read_patch(key) if facts else ""),
                wall_s=facts.wall_s if facts else 0.0,
                cost_usd=facts.cost_usd if facts else None,
                ratios=ratios,
                score=graded.score(key),
            )
            record = record if graded.session else files.trial(record)
            self._write(self._folder.trial(key) / "trial.json", record)
            self._around.observer.ended(record)
        if graded.session:
            self._compare_earlier(files)
        self._around.observer.complete(len(done))

    def _compare_earlier(self, files: TaskFiles) -> None:
        """Give those that failed where no session had an expert to compare with the one that there is now."""
        for record in filter(None, map(self._folder.read_trial, self._everything())):
            if record.session is None and record.outcome not in EXCLUDED:
                self._write(self._folder.trial(TrialKey.of(record)) / "trial.json", files.trial(record))

    def _write(self, path: Path, record: BaseModel) -> None:
        self._around.stop.check()
        write_record(path, record)

    def _say(self, what: str, done: int = 0, total: int | None = None) -> None:
        self._around.observer.step(self._task.task_id, what, done, total)


def _failed(error: AgentFailed | ModelUnavailable, wall_s: float) -> AgentResult:
    """What an agent that broke off has left: nothing; an outage of its model says nothing about it."""
    outage = str(error) if isinstance(error, ModelUnavailable) else None
    failure = None if outage else str(error)
    return AgentResult("", Usage(), wall_s, f"{error}\n", failure=failure, outage=outage)


def _facts(agent: Agent, result: AgentResult) -> AgentFacts:
    return AgentFacts(
        wall_s=result.wall_s,
        input_tokens=result.usage.input_tokens,
        output_tokens=result.usage.output_tokens,
        cost_usd=result.usage.cost_usd,
        failure=result.failure,
        timed_out=result.timed_out,
        measure_empty=is_ours(agent) and agent.name == "nop",
        stopped_by=result.stopped_by,
        outage=result.outage,
        steps=result.steps,
    )
