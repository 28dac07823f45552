"""A task folder of ours: contract, build, seal, tests and benchmarks at base, and the tests with the expert's patch."""

from dataclasses import dataclass
from pathlib import Path

from datasmith.agents.attempts import is_strangers
from datasmith.counted import counted
from datasmith.docker import seal
from datasmith.docker.cli_build import TIER_DOCKERFILES
from datasmith.docker.context import BUILD_SOURCES, FETCH_SOURCES, SCRIPTS, DockerContext
from datasmith.docker.engine import Container, ContainerEngine, ImageRef
from datasmith.docker.engines import limits_of, system_of
from datasmith.docker.images import ImageManager, ImagePlan
from datasmith.docker.recipes import for_tier
from datasmith.docker.verifiers import ProfileVerifier, TestReport, run_tests
from datasmith.errors import BuildFailed, ConfigError, InvalidTask, MeasurementFailed
from datasmith.runners.testing import is_usual, told_falsely
from datasmith.runners.verification.base import Step, Times, build_failed, conditions, failed, some, tests_failed
from datasmith.runners.verification.verdict import Failed, Verified
from datasmith.settings import Settings
from datasmith.tasks.folder import read_task
from datasmith.tasks.folder_check import check_task
from datasmith.tasks.task import Task
from datasmith.tasks.telltale import fix_of
from datasmith.workloads.discover import discover
from datasmith.workloads.mounts import inside_mounts
from datasmith.workloads.task_arm import task_arm

_OURS = (*TIER_DOCKERFILES.values(), *SCRIPTS, FETCH_SOURCES, BUILD_SOURCES)
"""What of an environment runs in its build, and ships with us: that of a folder may be another."""


@dataclass(frozen=True, slots=True)
class SealedFolders:
    """Verifies folders that stage 5 made, on any engine."""

    container_engine: ContainerEngine
    settings: Settings
    times: Times

    @property
    def engine(self) -> str:
        """See Generation."""
        return self.container_engine.name

    @property
    def conditions(self) -> str:
        """See Generation."""
        system = system_of(self.settings, self.container_engine)
        return conditions(self.engine, self.times, limits_of(self.settings), system)

    def verify(self, folder: Path, *, log: Path, step: Step) -> Verified | Failed:
        """See Generation."""
        step("read")
        problems = check_task(folder)
        if problems:
            return failed("parse", "; ".join(problems))
        task = read_task(folder)
        step("build")
        try:
            image = self._build(task, folder, log)
        except BuildFailed as error:
            return build_failed(error, self.times.build_s)
        return self._at_base(task, image, step)

    def _build(self, task: Task, folder: Path, log: Path) -> ImageRef:
        plan = self._plan(task, folder)
        images = ImageManager(self.container_engine, namespace=self.settings.namespace)
        return images.build(plan, log=log, timeout_s=self.times.build_s)

    @staticmethod
    def _plan(task: Task, folder: Path) -> ImagePlan:
        """What its environment says; raises InvalidTask where that cannot be read."""
        try:
            return ImagePlan.from_directory(
                folder / "environment",
                owner=task.owner,
                repo=task.repo,
                tag=str(task.pr_number),
                python_version=task.build.python_version,
            )
        except ConfigError as error:
            raise InvalidTask([str(error)]) from error

    def _at_base(self, task: Task, image: ImageRef, step: Step) -> Verified | Failed:
        with self.container_engine.start(image, mounts=inside_mounts()) as container:
            step("seal")
            names = task.build.build_args.get("FC_IMPORT_NAMES", "").split()
            fix, below = fix_of(task.expert_patch, {task.merge_commit}), self.container_engine.below(image)
            report = seal.check(container, fix=fix, import_names=names, below=below)
            if not report.ok:
                return failed("build", f"not sealed: {'; '.join(report.problems)}", step="seal")
            step("tests")
            base = self._tests(task, container)
            if isinstance(base, Failed):
                return base
            wrong = self._doubted(task, image, base, step)
            if wrong:
                return wrong
            step("benchmarks")
            wrong = None if task.suite else self._benchmarks(task, container)
        wrong = self._foreign_benchmarks(task, image) if task.suite else wrong
        if wrong:
            return wrong
        step("tests with the expert's patch")
        return self._with_patch(task, image) or Verified(
            image_digest=image.digest,
            tests_passed=len(base.passed),
            tests_failed=len(base.failed),
            benchmarks=len(task.workloads),
        )

    def _tests(self, task: Task, container: Container) -> TestReport | Failed:
        """The run, where every test passes that the task expects to pass."""
        report = run_tests(container, task.test_command, timeout=self.times.tests_s)
        if report.timed_out or not report.passed:
            return tests_failed(report, "no test passes", self.times.tests_s)
        lost = sorted(set(task.passing_tests) - report.passed)
        if lost:
            return tests_failed(report, f"{len(lost)} expected tests do not pass: {some(lost)}", self.times.tests_s)
        return report

    def _doubted(self, task: Task, image: ImageRef, base: TestReport, step: Step) -> Failed | None:
        """Where it is not ours alone that decides the tests: why they cannot be believed."""
        runs = for_tier(DockerContext(task.build.files), "pr").texts
        if not is_strangers(runs, _OURS) and is_usual(task.test_command):
            return None
        step("broken tests")
        doubt = told_falsely(lambda: self._arm(task, image), base.passed, task.test_command, self.times.tests_s)
        if doubt is None:
            return None
        code, said = (doubt.report.rc, doubt.report.tail) if doubt.report else (-1, "")
        return failed("tests", doubt.reason, code=code, stderr=said, step="broken tests")

    def _benchmarks(self, task: Task, container: Container) -> Failed | None:
        """Why the task's workloads cannot be measured: all must be listed, and one of them must run."""
        found = discover(container, task.benchmark_dir, default_timeout_s=task.benchmark_timeout_s)
        lost = sorted(set(task.workloads) - {workload.id for workload in found.workloads})
        if lost:
            said = f"not in the suite: {counted(len(lost), 'workload')}: {some(lost)}"
            return failed("measure", said, stderr="\n".join(found.errors))
        own = {workload.id: (workload.benchmark, workload.index) for workload in found.workloads}
        calls = tuple(own[each] for each in task.workloads)
        called = ProfileVerifier(self.times.benchmarks_s, task.benchmark_dir, calls).verify(container)
        if called.ok:
            return None
        said = "none of the task's workloads can be called"
        return failed("measure", said, code=called.rc, stdout=called.stdout, stderr=called.stderr)

    def _foreign_benchmarks(self, task: Task, image: ImageRef) -> Failed | None:
        """See `_benchmarks`: of a suite that is not base's own, which no image holds and each arm gets."""
        try:
            arm = self._arm(task, image, suite=task.suite_patch)
        except MeasurementFailed as error:
            return failed("measure", str(error))
        with arm:
            return self._benchmarks(task, arm)

    def _arm(self, task: Task, image: ImageRef, *, patch: str = "", suite: str = "") -> Container:
        engine, timeout = self.container_engine, self.times.build_s
        return task_arm(engine, image, task, patch=patch, suite=suite, limits=None, timeout=timeout)

    def _with_patch(self, task: Task, image: ImageRef) -> Failed | None:
        try:
            arm = self._arm(task, image, patch=task.expert_patch)
        except MeasurementFailed as error:
            return failed("tests", f"the expert's patch cannot be used: {error}")
        with arm:
            patched = self._tests(task, arm)
        if isinstance(patched, Failed):
            said = f"with the expert's patch: {patched.error_message}"
            return patched.model_copy(update={"error_message": said})
        return None
