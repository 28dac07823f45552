"""fc-eval certify: base, base2 and the expert's patch of a task measured here, from its folder alone."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from datasmith.docker import seal
from datasmith.docker.engine import Container, ContainerEngine, ImageRef, Limits
from datasmith.docker.engines import limits_of
from datasmith.docker.verifiers import run_tests
from datasmith.errors import MeasurementFailed
from datasmith.evaluation.images import image_of
from datasmith.evaluation.outcome import named
from datasmith.settings import Settings
from datasmith.tasks.certificate import Certificate
from datasmith.tasks.certificates import read_certificates
from datasmith.tasks.folder import TEST_TIMEOUT_S
from datasmith.tasks.task import Task
from datasmith.tasks.telltale import fix_of
from datasmith.workloads.arms import prepare, suite_print
from datasmith.workloads.base import BASE, CONTROL, EXPERT, Workload
from datasmith.workloads.certify import certify
from datasmith.workloads.earlier import earlier_floors
from datasmith.workloads.machine import this_machine
from datasmith.workloads.measure import Measured, Progress, measure
from datasmith.workloads.mounts import inside_mounts
from datasmith.workloads.plan import MeasurePlan
from datasmith.workloads.task_arm import scored_workloads, task_arm
from datasmith.workloads.undecided import undecided

TRIES = 3
"""A measurement that a busy machine made invalid is taken this often."""


@dataclass(frozen=True, slots=True)
class Certifier:
    """Issues certificates on this machine. `say` is told what happens; `core` is where everything runs."""

    engine: ContainerEngine
    settings: Settings
    plan: MeasurePlan
    core: int
    now: Callable[[], datetime]
    say: Callable[[str, int, int | None], None]

    def certify(self, task: Task, folder: Path, *, log: Path) -> Certificate:
        """What this machine finds: `valid` or `refused`, with the reason; nothing is written but the build's `log`.

        Raises:
            MeasurementFailed: the expert's patch does not apply or build, or the machine is too busy to tell.
            ConfigError: the plan has too few rounds for so many workloads.
            ContainerError: the sandboxes failed; says nothing about the task.
        """
        self.say("image", 0, None)
        image = image_of(self.engine, self.settings, task, folder, log=log)
        self.say("workloads", 0, None)
        with self._arm(task, image, "", task.suite_patch) as container:
            workloads = scored_workloads(task, container)
        self.plan.check(len(workloads))
        earlier = earlier_floors(read_certificates(folder), image.digest)
        self.say("seal and tests at base", 0, None)
        with self.engine.start(image, limits=self._limits, mounts=inside_mounts()) as container:
            names = task.build.build_args.get("FC_IMPORT_NAMES", "").split()
            fix = fix_of(task.expert_patch, {task.merge_commit})
            report = seal.check(container, fix=fix, import_names=names, below=self.engine.below(image))
            at_base = self._passed(task, container)
        self.say("tests with the expert's patch", 0, None)
        with self._arm(task, image, task.expert_patch) as container:
            with_expert = self._passed(task, container)
        certificate = certify(
            task.task_id,
            image.digest,
            self._measured(task, image, workloads, replace(self.plan, cpu=self.core, earlier_floors=earlier)),
            tests_base=len(at_base),
            tests_expert=len(at_base & with_expert),
            seal=report,
            engine=self.engine.name,
            now=self.now(),
            machine=this_machine(),
            plan=self.plan,
            suite=task.suite,
            not_impacted=task.not_impacted,
            screened_out=task.screened_out,
        )
        if not report.ok:
            reason = f"{certificate.reason}: {named(report.problems)}"
            certificate = certificate.model_copy(update={"reason": reason})
        rebuilt = None if image.digest == task.image_digest else task.image_digest
        return _with_base(certificate.model_copy(update={"rebuilt_from": rebuilt}), task, len(at_base))

    @property
    def _limits(self) -> Limits:
        return limits_of(self.settings, (self.core,))

    def _passed(self, task: Task, container: Container) -> frozenset[str]:
        report = run_tests(container, task.test_command, timeout=TEST_TIMEOUT_S)
        return frozenset(report.passed) & frozenset(task.passing_tests)

    def _arm(self, task: Task, image: ImageRef, patch: str, suite: str = "") -> Container:
        return task_arm(self.engine, image, task, patch=patch, suite=suite, limits=self._limits)

    def _measured(self, task: Task, image: ImageRef, workloads: Sequence[Workload], plan: MeasurePlan) -> Measured:
        """Measure, and measure again where the machine was too busy to tell anything."""
        for _ in range(TRIES - 1):
            measured = self._measured_once(task, image, workloads, plan)
            if not _lost(measured, task):
                return measured
            self.say("again: the machine was too busy", 0, None)
        measured = self._measured_once(task, image, workloads, plan)
        lost = _lost(measured, task)
        if lost:
            raise MeasurementFailed(f"{task.task_id}: nothing can be certified on this machine now: {lost}")
        return measured

    def _measured_once(self, task: Task, image: ImageRef, workloads: Sequence[Workload], plan: MeasurePlan) -> Measured:
        directory = task.benchmark_dir
        with ExitStack() as stack:
            arms: dict[str, Container] = {}
            suite: str | None = None
            for name, patch in {BASE: "", CONTROL: "", EXPERT: task.expert_patch}.items():
                writable = stack.enter_context(self._arm(task, image, patch, task.suite_patch))
                suite = suite or suite_print(writable, directory)
                arms[name] = stack.enter_context(prepare(writable, workloads, directory, suite=suite))
            return measure(
                arms, workloads, plan, benchmark_dir=directory, sink=lambda _launch: None, progress=self._told
            )

    def _told(self, progress: Progress) -> None:
        self.say(f"measure, {progress.step}", progress.done, progress.expected)


def _lost(measured: Measured, task: Task) -> str:
    """What the machine's noise took away that a decision needs; empty where nothing is missing."""
    changed_before = {row.workload for row in task.certificate.expert.changed} if task.certificate else set()
    return undecided(measured.summaries[EXPERT].workloads, changed_before)


def _with_base(certificate: Certificate, task: Task, passed: int) -> Certificate:
    """Refused where tests that the task expects fail here without any patch: every submission would fail them."""
    lost = len(set(task.passing_tests)) - passed
    if not lost or not passed:
        return certificate
    reason = f"{lost} of {lost + passed} tests that must pass fail at base on this machine"
    return certificate.model_copy(update={"status": "refused", "reason": reason})
