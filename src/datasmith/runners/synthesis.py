"""Stage 5 for one pull request: build at base, seal, verify, apply the expert's patch, test, measure, certify."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from datasmith.agents.attempts import Commit, Synthesized, is_strangers, whole_context
from datasmith.agents.synthesize import Synthesizer, Wanted
from datasmith.counted import counted
from datasmith.docker import seal
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import Container, ContainerEngine, ImageRef, Limits
from datasmith.docker.images import ImagePlan
from datasmith.docker.pinned import pinned
from datasmith.docker.verifiers import MultiObjVerifier, ProfileVerifier, SmokeVerifier, TestReport
from datasmith.errors import MeasurementFailed
from datasmith.github.git import Git
from datasmith.github.render import render_instruction
from datasmith.process import find_uv, uv_version
from datasmith.runners.agenda import ENDS, SCREENED, Until
from datasmith.runners.build_args import build_args
from datasmith.runners.decided import decided, until_decided
from datasmith.runners.impacted import only_impacted
from datasmith.runners.order import Order, Refusal, Sealed, Verified
from datasmith.runners.screening import SCREENING_S, screened, write_glances
from datasmith.runners.solution import fix_of_order, solution
from datasmith.runners.suite_fit import Fitted, fitted
from datasmith.runners.testing import TEST_COMMAND, TestRuns, compared, last_line, narrowed, no_tests, told_falsely
from datasmith.runners.timed import Timing
from datasmith.tasks.certificate import Certificate
from datasmith.tasks.folder import REBUILD_TIMEOUT_S
from datasmith.tasks.task import BuildInputs, Task
from datasmith.workloads.arms import prepare, start_arm, suite_print
from datasmith.workloads.base import BASE, CONTROL, EXPERT, SCORED_KINDS
from datasmith.workloads.certify import certify
from datasmith.workloads.impact import Select
from datasmith.workloads.machine import this_machine
from datasmith.workloads.measure import Measured
from datasmith.workloads.mounts import inside_mounts
from datasmith.workloads.plan import MeasurePlan
from datasmith.workloads.touched import Suite

CALL_TIMEOUT_S = 900.0
"""Within this time one of the suite's benchmarks must have been called without an error."""


def source_path(data_dir: Path, task: str) -> Path:
    """Where the sealed base tree of a task lies while it is made."""
    return data_dir / "sources" / f"{task}.tar.gz"


class Synthesis:
    """Makes tasks. Every step runs in sandboxes pinned to one core, and goes on or refuses with a reason."""

    def __init__(
        self,
        engine: ContainerEngine,
        synthesizer: Synthesizer,
        *,
        data_dir: Path,
        plan: MeasurePlan,
        limits: Limits,
        now: Callable[[], datetime],
        reuse: bool = True,
        until: Until = "measured",
        tests: TestRuns | None = None,
        select: Select = "all",
        most_workloads: int | None = None,
        screening_s: float = SCREENING_S,
    ) -> None:
        """`reuse`: an image may be built as it was for this commit before. An order is taken as far as `until`.

        `select`: a task has all workloads of the suite, or those that the expert's patch can touch; of these
        `most_workloads` at most, None: all; to find those takes `screening_s` or less.
        """
        self._until = until
        self._select = select
        self._most = most_workloads
        self._screening_s = screening_s
        self._tests = tests or TestRuns()
        self._engine = engine
        self._synthesizer = synthesizer
        self._reuse = reuse
        self._data_dir = data_dir
        self._plan = plan
        self._limits = limits
        self._now = now

    @property
    def engine_name(self) -> str:
        """Which engine builds here."""
        return self._engine.name

    def base_image(self, task: Task) -> str:
        """What the image of a task that was made here stands on: name@sha256:… of the operating system."""
        return self._engine.base_of(ImageRef(self._engine.name, task.image_name, task.image_digest))

    def make(self, order: Order, core: int, progress: Callable[[str], None]) -> Task | Refusal:
        """The certified task of an order, or why there is none.

        Raises:
            EngineUnavailable: the engine is gone; says nothing about the order.
        """
        progress("build")
        sealed = self._build(order, progress)
        if isinstance(sealed, Refusal):
            return sealed
        progress("verify")
        verified = self._verify(order, sealed, core, progress)
        if isinstance(verified, Refusal):
            return verified
        if self._select == "impacted":
            verified = self._impacted(order, sealed, verified, core, progress)
            if isinstance(verified, Refusal):
                return verified
        if self._until == "verified":
            said = f"{counted(len(verified.workloads), 'workload')}, {counted(len(verified.passing), 'test')}"
            return Refusal(f"{ENDS[self._until]}: {said}")
        verified = self._screened(order, sealed, verified, core, progress)
        measured = until_decided(partial(self._measure, order, sealed, verified, core), progress)
        if isinstance(measured, Refusal):
            return _after_screening(measured.reason, verified)
        certificate = self._certify(order, sealed, verified, measured)
        if certificate.status != "valid":
            return _after_screening(certificate.reason, verified)
        return _task(order, sealed, verified, certificate)

    def _build(self, order: Order, progress: Callable[[str], None]) -> Sealed | Refusal:
        pr, resolution = order.pr, order.resolution
        git = Git(order.clone)
        patch = solution(order, git)
        if isinstance(patch, Refusal):
            return patch
        source = source_path(self._data_dir, order.task_id)
        source.parent.mkdir(parents=True, exist_ok=True)
        git.sealed_source(pr.base_sha, source, commit_date=git.commit(pr.base_sha).committed_at)
        context = DockerContext.default(lock=resolution.lock)
        args = build_args(resolution, order.pretend_version)
        plan = ImagePlan(
            owner=pr.owner,
            repo=pr.repo,
            tag=str(pr.issue_number),
            python_version=resolution.python_version,
            apt_packages=resolution.apt_packages,
            context=context,
            build_args=args,
            source=source,
        )
        found = self._synthesizer.synthesize(self._wanted(order, plan), progress)
        if found.found is None or found.found.image is None:
            return _does_not_build(found)
        plan, image = found.found.plan, found.found.image
        context = pinned(whole_context(plan), image, self._engine, uv_version(find_uv()))
        inputs = BuildInputs(
            python_version=plan.python_version,
            apt_packages=plan.apt_packages,
            files=dict(context.texts),
            build_args=plan.build_args,
        )
        return Sealed(image, inputs, source, patch)

    def _wanted(self, order: Order, plan: ImagePlan) -> Wanted:
        """What the image has to show before its tests are run: its modules import, and a benchmark can be called.

        A suite that is not base's own is not in the image.
        """
        pr, names = order.pr, order.resolution.import_names
        smoke = (SmokeVerifier(*names),) if names else ()
        profile = () if order.suite else (ProfileVerifier(CALL_TIMEOUT_S, order.benchmark_dir),)
        return Wanted(
            commit=Commit(pr.owner, pr.repo, pr.issue_number, pr.base_sha),
            plan=plan,
            verifier=MultiObjVerifier((*smoke, *profile)),
            log=self._data_dir / "logs" / f"{order.task_id}.build.log",
            pr_context=pr.title,
            cutoff=order.resolution.cutoff,
            reuse=self._reuse,
        )

    def _verify(self, order: Order, sealed: Sealed, core: int, progress: Callable[[str], None]) -> Verified | Refusal:
        """Seal, imports, benchmarks and tests of the untouched tree; then the tests with the expert's patch."""
        git, pr = Git(order.clone), order.pr
        fix = fix_of_order(order, git)
        with self._engine.start(sealed.image, limits=self._on(core), mounts=inside_mounts()) as container:
            report = seal.check(
                container,
                fix=fix,
                base_tree=git.tree_id(pr.base_sha),
                import_names=order.resolution.import_names,
                below=self._engine.below(sealed.image),
            )
            if not report.ok:
                return Refusal(f"not sealed: {'; '.join(report.problems)}")
            progress("benchmarks")
            found = self._fitted(order, sealed, core, container, fix)
            if isinstance(found, Refusal):
                return found
            if self._until == "built":
                return Refusal(f"{ENDS[self._until]}: {counted(len(found.workloads), 'workload')}")
            progress("tests")
            paths = git.paths(pr.base_sha)
            base = self._tests.at_base(order, sealed.image, paths, container)
        command = TEST_COMMAND
        if self._tests.cut_short(base):
            base, command = narrowed(base, paths)
        if not base.passed:
            return Refusal(no_tests(base))
        if is_strangers(sealed.inputs.files):
            doubt = told_falsely(lambda: self._arm(sealed, "", order, core), base.passed, command)
            if doubt:
                return Refusal(doubt.reason)
        progress("tests with the expert's patch")
        expert = self._expert_tests(order, sealed, core, command)
        if isinstance(expert, Refusal):
            return expert
        return compared(
            order,
            Verified(
                found.workloads,
                base,
                expert,
                suite=found.record,
                suite_patch=found.patch,
                test_command=command,
                seal=report,
            ),
        )

    def _fitted(self, order: Order, sealed: Sealed, core: int, container: Container, fix: seal.Fix) -> Fitted | Refusal:
        """What of the suite can be measured and is scored."""
        found = fitted(order, container, partial(self._arm, sealed, "", order, core), fix=fix)
        if isinstance(found, Refusal):
            return found
        scored = tuple(workload for workload in found.workloads if workload.kind in SCORED_KINDS)
        if not scored:
            return Refusal("the suite has no timing benchmarks")
        if self._select == "all":
            self._check(len(scored))
        return replace(found, workloads=scored)

    def _expert_tests(self, order: Order, sealed: Sealed, core: int, command: tuple[str, ...]) -> TestReport | Refusal:
        patch = sealed.expert_patch
        try:
            return self._tests.with_patch(sealed.image, patch, command, lambda: self._arm(sealed, patch, order, core))
        except MeasurementFailed as error:
            return Refusal(f"the expert's patch cannot be used: {error}")

    def _arm(self, sealed: Sealed, patch: str, order: Order, core: int, suite: str = "") -> Container:
        return start_arm(
            self._engine,
            sealed.image,
            patch=patch,
            rebuild_script=sealed.inputs.files["docker_build_pkg.sh"] if order.resolution.compiled else None,
            build_args=sealed.inputs.build_args,
            limits=self._on(core),
            timeout=REBUILD_TIMEOUT_S,
            suite=suite,
        )

    def _impacted(
        self, order: Order, sealed: Sealed, verified: Verified, core: int, progress: Callable[[str], None]
    ) -> Verified | Refusal:
        """The same with only those workloads that the expert's patch can touch."""
        place, workloads = order.benchmark_dir, verified.workloads
        with ExitStack() as stack:
            writable = stack.enter_context(self._arm(sealed, "", order, core, verified.suite_patch))
            suite = Suite(workloads, place, suite_print(writable, place), sealed.image.digest)
            left = only_impacted(
                verified,
                stack.enter_context(prepare(writable, workloads, place, suite=suite.print)),
                suite,
                sealed.expert_patch,
                kept_in=self._data_dir / "coverage",
                say=lambda step, done, expected: progress(f"{step} {done}/{expected}"),
            )
        if isinstance(left, Verified):
            self._check(len(left.workloads))
        return left

    def _check(self, workloads: int) -> None:
        """Raises ConfigError where so many workloads are to be measured in too few rounds."""
        if self._until == "measured":
            self._plan.check(min(workloads, self._most or workloads))

    def _screened(
        self, order: Order, sealed: Sealed, verified: Verified, core: int, progress: Callable[[str], None]
    ) -> Verified:
        """The same with no more workloads than a task may have."""
        if self._most is None or len(verified.workloads) <= self._most:
            return verified
        timing, kept_in = self._timing(order, sealed, verified, core)
        seen = timing.screen(
            (BASE, EXPERT),
            self._most,
            core,
            lambda done: progress(f"measure: screening {done}"),
            patch=sealed.expert_patch,
            budget_s=self._screening_s,
        )
        write_glances(kept_in.with_suffix(".screening.jsonl"), seen)
        return screened(verified, seen, self._most)

    def _measure(
        self, order: Order, sealed: Sealed, verified: Verified, core: int, progress: Callable[[str], None]
    ) -> Measured | Refusal:
        timing, kept_in = self._timing(order, sealed, verified, core)
        plan = replace(self._plan, cpu=core)
        return decided(timing.measure((BASE, CONTROL, EXPERT), plan, kept_in, progress))

    def _timing(self, order: Order, sealed: Sealed, verified: Verified, core: int) -> tuple[Timing, Path]:
        """What is timed, and the file that keeps it."""

        def start(arm: str) -> Container:
            return self._arm(sealed, sealed.expert_patch if arm == EXPERT else "", order, core, verified.suite_patch)

        kept_in = self._data_dir / "measurements" / f"{order.task_id}.jsonl"
        return Timing(start, verified.workloads, order.benchmark_dir), kept_in

    def _certify(self, order: Order, sealed: Sealed, verified: Verified, measured: Measured) -> Certificate:
        return certify(
            order.task_id,
            sealed.image.digest,
            measured,
            tests_base=len(verified.base.passed - verified.excused),
            tests_expert=len(verified.passing),
            seal=verified.seal,
            engine=self._engine.name,
            now=self._now(),
            machine=this_machine(),
            plan=self._plan,
            suite=verified.suite,
            not_impacted=verified.not_impacted,
            screened_out=verified.screened_out,
        )

    def _on(self, core: int) -> Limits:
        return replace(self._limits, cpus=(core,))


def _after_screening(reason: str, verified: Verified) -> Refusal:
    """A refusal that says so where it rests on what a screening left."""
    left, others = len(verified.workloads), verified.screened_out
    unseen = f"; of {verified.unseen} nothing was seen" if verified.unseen else ""
    return Refusal(f"{SCREENED} ({left} of {left + others} workloads{unseen}): {reason}" if others else reason)


def _does_not_build(search: Synthesized) -> Refusal:
    failed = search.failed
    if failed is None:
        return Refusal("does not build: nothing could be tried")
    why = f" ({failed.reason})" if failed.reason else ""
    what = "does not build" if failed.image is None else "is built, but does not work"
    more = f"; an agent's scripts end in stage {search.by_agent.stage}" if search.by_agent else ""
    return Refusal(f"{what}{why}: stage {failed.stage}, exit code {failed.rc}: {last_line(failed.log)}{more}")


def _task(order: Order, sealed: Sealed, verified: Verified, certificate: Certificate) -> Task:
    pr = order.pr
    if pr.merged_at is None:
        raise MeasurementFailed(f"{pr.cache_key} has no merge date")
    workloads = tuple(workload.id for workload in verified.workloads)
    return Task(
        task_id=order.task_id,
        owner=pr.owner,
        repo=pr.repo,
        pr_number=pr.issue_number,
        base_commit=pr.base_sha,
        merge_commit=pr.merge_commit_sha,
        merged_at=pr.merged_at,
        title=pr.title,
        instruction=render_instruction(
            pr,
            repository=pr.repository,
            benchmark_dir=order.benchmark_dir,
            workloads=workloads,
            unseen=verified.suite.hidden if verified.suite else (),
        ),
        expert_patch=sealed.expert_patch,
        image_name=sealed.image.name,
        image_digest=sealed.image.digest,
        benchmark_dir=order.benchmark_dir,
        workloads=workloads,
        not_impacted=verified.not_impacted,
        screened_out=verified.screened_out,
        test_command=verified.test_command,
        passing_tests=verified.passing,
        compiled=order.resolution.compiled,
        benchmark_timeout_s=order.benchmark_timeout_s,
        difficulty=order.classification.difficulty,
        category=order.classification.category,
        licence=order.licence,
        stars=order.stars,
        build=sealed.inputs,
        certificate=certificate,
        suite=verified.suite,
        suite_patch=verified.suite_patch,
    )
