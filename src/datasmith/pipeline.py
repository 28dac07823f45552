"""The six stages in their order: what a request means, what is done again, and what is left alone."""

import logging
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from socket import gethostname
from types import TracebackType
from typing import Protocol, Self

from datasmith.agents.coding.writers import check_writer
from datasmith.agents.synthesis_tools import SynthesisTools
from datasmith.agents.synthesize import Synthesizer
from datasmith.counted import counted
from datasmith.docker.engine import ContainerEngine
from datasmith.docker.engines import limits_of, open_engine
from datasmith.errors import ForgeError, NothingToDo
from datasmith.executors.base import Executor
from datasmith.executors.cores import core_locks, usable_cores
from datasmith.executors.executors import HERE, open_executor
from datasmith.executors.local import LocalExecutor
from datasmith.github.base import Forge
from datasmith.github.forges import check_sources, count_merged, local_names, open_clones, open_forge
from datasmith.publish.funnel import Funnel, funnel
from datasmith.publish.images import ImagePublisher
from datasmith.redact import Redactor
from datasmith.resolution.hook import MetadataHook
from datasmith.resolution.resolver import Resolver
from datasmith.runners.abandoned import release_abandoned
from datasmith.runners.agenda import agenda, first_not_run, repository_of, work_of
from datasmith.runners.base import default_worker
from datasmith.runners.classify_prs import ClassifyPRsRunner
from datasmith.runners.loop import RunOptions, StageSummary
from datasmith.runners.placed import PlacedStage, check_ledger
from datasmith.runners.plan import details
from datasmith.runners.publish import PublishRunner
from datasmith.runners.request import Request
from datasmith.runners.resolve_packages import ResolvePackagesRunner
from datasmith.runners.scrape_commits import ScrapeCommitsRunner
from datasmith.runners.scrape_repos import ScrapeReposRunner
from datasmith.runners.suites import SuiteSource
from datasmith.runners.synthesis import Synthesis
from datasmith.runners.synthesize_images import MakeTasksRunner
from datasmith.runners.testing import TestRuns
from datasmith.settings import EngineName, Settings, environment, load_settings, secrets_of
from datasmith.storage import open_store
from datasmith.storage.base import STAGES, StageItem, Store, utc_now
from datasmith.storage.window_lock import Holder, file_lock

TESTS = "tests"
"""Part of the cache directory with the reports of test runs."""
NEEDS = {4: ("docker",), 5: ("docker", "bench")}
"""The stages that may run elsewhere, and the tags of a machine that may run them: it has an engine, it can measure."""

Show = Callable[[str, int, int, str], None]
"""Told of progress: stage name, items done, items in all, what is under way."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a stage would do: the text of a dry run, and the facts beside it."""

    stage: int
    name: str
    waiting: int
    text: str
    details: tuple[str, ...] = ()


def plan(settings: Settings, request: Request) -> list[Step]:
    """What each asked stage would do now; reads the ledger and clones that are here, and changes nothing.

    Raises:
        ConfigError: a source is missing or unusable, no clone holds the wished suite, or the agent cannot be used.
    """
    check_sources(request.sources, settings)
    names = local_names(request.sources)
    check_asked(settings, request)
    open_executor(request.executor, settings).close()
    with open_store(settings, create=False) as store:
        return [_step(store, settings, request, stage, names) for stage in request.stages]


def _merged(settings: Settings, request: Request) -> tuple[str, ...]:
    """How many pull requests stage 2 has to look at, where files that are here say so."""
    merged = count_merged(request.sources, settings, request.window)
    return () if merged is None else (f"{counted(merged, 'pull request')} merged in the window",)


def check_asked(settings: Settings, request: Request) -> None:
    """Look for the wished suite's commit where clones were given, and for the agent of a stage that runs here.

    Raises:
        ConfigError: none of the clones holds it, or the agent cannot be used, or held to its budget.
    """
    request.suite.check(request.sources.clones if request.sources.forge == "git" else ())
    if 5 in request.stages and request.executor in HERE:
        check_writer(request.agent or settings.agent, settings)


def _step(store: Store, settings: Settings, request: Request, stage: int, names: Sequence[str] | None) -> Step:
    rows = store.stage_items(request.window.key, stage)
    found = agenda(stage, rows, request.terms(names))
    if found.known:
        text = f"would work on {found.to_do} of {found.known} items known"
    elif stage == 1 and names:
        text = f"would look at {', '.join(names)}"
    else:
        text = f"would work on what stage {stage - 1} passes" if stage > 1 else "would ask the forge"
    facts = details(stage, rows, names, settings, request)
    facts = (*_merged(settings, request), *facts) if stage == 2 else facts
    return Step(stage, STAGES[stage], found.to_do, text, facts)


@dataclass(frozen=True, slots=True)
class Shift:
    """One worker's turn at a stage, as it is sent to another process: no live object, and no secret.

    `host` is the machine that gives it out, `repositories` ("owner/repo") are those of its run, None for any.
    """

    request: Request
    stage: int
    data_dir: Path
    engine: EngineName
    host: str
    repositories: tuple[str, ...] | None = None


async def work_shift(shift: Shift) -> StageSummary:
    """Work on what waits at the stage, here, until nothing is left to claim.

    The store, the forge and the engine are opened as this machine's own environment says. The window's lock is held
    by who gives out the shifts.

    Raises:
        ConfigError: the ledger here is not the one that the shift is about.
    """
    settings = load_settings(data_dir=shift.data_dir, engine=shift.engine)
    forge = open_forge(shift.request.sources, settings)
    try:
        with open_store(settings) as store:
            return await Pipeline(store, forge, settings, shift.request).work(shift)
    finally:
        await forge.aclose()


class _Stage(Protocol):
    async def run_stage(self) -> StageSummary: ...


class Pipeline:
    """Runs the stages of one request; what it needs is opened on the way in and closed on the way out."""

    def __init__(
        self, store: Store, forge: Forge, settings: Settings, request: Request, executor: Executor | None = None
    ) -> None:
        self._store = store
        self._executor = executor or LocalExecutor()
        self._forge = forge
        self._settings = settings
        self._request = request
        self._window = request.window.key
        self._data_dir = settings.data_dir.absolute()
        self._engine: ContainerEngine | None = None
        self._held = ExitStack()
        self._redact = Redactor(secrets_of(environment()))

    @classmethod
    def open(cls, settings: Settings, request: Request) -> Self:
        """Open the forge, the executor and the store; entering the pipeline holds the window.

        Raises:
            ConfigError, ForgeError, StoreError: what cannot be opened, no place for an asked stage, or no clone that
                was given holds the wished suite.
        """
        check_asked(settings, request)
        forge = open_forge(request.sources, settings)
        executor = open_executor(request.executor, settings)
        for stage in NEEDS.keys() & set(request.stages):
            executor.places(NEEDS[stage])
        return cls(open_store(settings), forge, settings, request, executor)

    def __enter__(self) -> Self:
        me = Holder(gethostname(), os.getpid(), utc_now())
        with ExitStack() as held:
            held.callback(self._executor.close)
            held.callback(self._store.close)
            held.enter_context(file_lock(self._data_dir, self._window, me, join=self._request.join))
            held.enter_context(self._store.hold(self._window, me, join=self._request.join))
            self._held = held.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def funnel(self) -> Funnel:
        """Where the window's pull requests are now."""
        return funnel(self._window, self._store.stage_items(self._window))

    async def run(self, show: Show) -> list[StageSummary]:
        """Run the asked stages in order.

        Raises:
            NothingToDo: no repository has an asv suite, none had a pull request merged in the window, or a stage
                was asked for before one that it needs.
        """
        try:
            return await self._run(show)
        finally:
            await self._forge.aclose()

    async def _run(self, show: Show) -> list[StageSummary]:
        names = [repository.full_name for repository in await self._forge.repositories()]
        if 1 in self._request.stages:
            self._store.enter(self._window, 1, [(name, "repository") for name in names], utc_now())
        summaries = []
        for stage in self._request.stages:
            self._prepare(stage, names)
            summaries.append(await self._stage(stage, names, show).run_stage())
            self._check_found(stage, names)
        return summaries

    def _stage(self, stage: int, names: Sequence[str], show: Show) -> _Stage:
        elsewhere = self._request.executor != "local" and stage in NEEDS
        return self._placed(stage, names, show) if elsewhere else self._runner(stage, names, show)

    def _placed(self, stage: int, names: Sequence[str], show: Show) -> _Stage:
        """The stage as shifts on other machines, or in other processes."""
        sources = self._request.sources.absolute()
        request = replace(self._request, sources=sources)
        return PlacedStage(
            self._store,
            self._window,
            stage,
            self._executor,
            work=work_shift,
            shift=Shift(request, stage, self._data_dir, self._settings.engine, gethostname(), tuple(names)),
            needs=NEEDS[stage],
            repositories=frozenset(names),
            show=lambda done, total: show(STAGES[stage], done, total, self._request.executor),
        )

    async def work(self, shift: Shift) -> StageSummary:
        """Work on what waits at a stage that somebody else has prepared.

        Raises:
            ConfigError: the ledger here is not the one that the shift is about.
        """
        check_ledger(self._store, self._settings, self._window, shift.stage, given_out_by=shift.host)
        release_abandoned(self._store, self._window, shift.stage)
        return await self._runner(shift.stage, shift.repositories, lambda *_: None).run_stage()

    def _check_reached(self, stage: int, names: Sequence[str]) -> None:
        """Refuse a stage that has no work because one before it has not run."""
        before = range(1, stage)
        missing = first_not_run([work_of(each, self._store.stage_items(self._window, each), names) for each in before])
        if missing:
            flags = " ".join(f"--stage {number}" for number in range(missing, stage + 1))
            raise NothingToDo(
                f"--stage {stage}: nothing has come there yet, as stage {missing} ({STAGES[missing]}) has not run"
                f" in {self._window} (example: {flags})"
            )

    def _prepare(self, stage: int, names: Sequence[str]) -> None:
        """Bring the ledger to where this request starts; refuse a stage that nothing has reached."""
        release_abandoned(self._store, self._window, stage)
        rows = self._store.stage_items(self._window, stage)
        if not work_of(stage, rows, names):
            self._check_reached(stage, names)
        found = agenda(stage, rows, self._request.terms(names))
        out = {row.item for row in found.left_out}
        # What another worker has taken up since the rows were read is its own.
        self._store.amend([row for row in found.again if row.item not in out], "pending", "", utc_now())
        self._store.amend([row for row in rows if row.item in out], "refused", found.reason, utc_now())

    def reason_of(self, stage: int) -> str:
        """What most failures of a stage say; empty where none did."""
        rows = self._store.stage_items(self._window, stage)
        reasons = Counter(row.reason for row in rows if row.state == "failed")
        return reasons.most_common(1)[0][0] if reasons else ""

    def _check_found(self, stage: int, names: Sequence[str]) -> None:
        """Refuse to go on after stages 1 and 2 where nothing was found; a failure on the way is no empty month."""
        rows = [row for row in self._store.stage_items(self._window, stage) if repository_of(row.item) in names]
        passed = [row for row in rows if row.kind == "repository" and row.state == "passed"]
        failed = [row for row in rows if row.state == "failed"]
        if stage == 1 and not passed:
            reasons = _reasons(rows) or "the forge offers none"
            raise (ForgeError if failed else NothingToDo)(f"no repository can be used: {reasons}")
        if stage == 2 and passed and not any(row.kind == "pull_request" for row in rows):
            if failed:
                raise ForgeError(f"no pull request was found in {self._window}: {_reasons(failed)}")
            raise NothingToDo(
                f"no pull request was merged in {self._window} (try other dates: --start-date, --end-date)"
            )

    def _runner(self, stage: int, names: Sequence[str] | None, show: Show) -> _Stage:
        store, forge, options = self._store, self._forge, self._options(stage, names, show)
        match stage:
            case 1:
                elsewhere = bool(self._request.suite.repository)
                since = self._request.window.start
                return ScrapeReposRunner(
                    store, self._window, options, forge=forge, suite_elsewhere=elsewhere, since=since
                )
            case 2:
                return ScrapeCommitsRunner(store, self._request.window, options, forge=forge)
            case 3:
                return ClassifyPRsRunner(store, self._window, options)
            case 4:
                resolver = self._resolver()
                return ResolvePackagesRunner(
                    store, self._window, options, forge=forge, resolver=resolver, suites=self._suites()
                )
            case 5:
                return self._synthesis_runner(options, show)
            case _:
                return PublishRunner(store, self._window, options, data_dir=self._data_dir, images=self._images())

    def _options(self, stage: int, names: Sequence[str] | None, show: Show) -> RunOptions:
        wanted = self._request.n_concurrent or len(usable_cores())
        at_once = min(wanted, len(core_locks(self._settings))) if stage == 5 else wanted
        options = RunOptions(worker=default_worker(), n_concurrent=at_once)
        progress = partial(show, STAGES[stage])
        ours = None if names is None else frozenset(names)
        return replace(options, progress=progress, redact=self._redact, repositories=ours)

    def engine(self) -> ContainerEngine:
        """The container engine, opened at its first use.

        Raises:
            EngineUnavailable: none can be used; says what to do.
        """
        if self._engine is None:
            self._engine = open_engine(self._settings)
        return self._engine

    def _images(self) -> ImagePublisher | None:
        """What pushes images; None where no registry is set."""
        return ImagePublisher(self._settings, self.engine) if self._settings.registries else None

    def _resolver(self) -> Resolver:
        settings = self._settings
        return Resolver(
            self.engine().pythons(),
            index_url=settings.index_url,
            ca_bundle=settings.certificates,
            cache_dir=settings.cache_dir.absolute() / "uv",
            hook=MetadataHook(self.engine(), namespace=settings.namespace, logs=self._data_dir / "logs"),
        )

    def _synthesis_runner(self, options: RunOptions, show: Show) -> MakeTasksRunner:
        engine = self.engine()
        tools = SynthesisTools.of(self._settings, engine, self._store, self._request.agent)
        synthesis = Synthesis(
            engine,
            Synthesizer(self._settings.agent_attempts, tools=tools, trace=logging.getLogger(__name__).info),
            reuse=not self._request.force,
            data_dir=self._data_dir,
            plan=self._request.plan,
            limits=limits_of(self._settings),
            now=utc_now,
            until=self._request.until,
            select=self._request.select,
            most_workloads=self._request.most_workloads,
            screening_s=self._request.screening_s,
            tests=TestRuns(
                self._request.test_budget_s, self._settings.cache_dir.absolute() / TESTS, not self._request.force
            ),
        )
        return MakeTasksRunner(
            self._store,
            self._window,
            options,
            forge=self._forge,
            synthesis=synthesis,
            cores=core_locks(self._settings),
            data_dir=self._data_dir,
            needs_room=(self._settings.cache_dir.absolute(),),
            note=partial(_under_way, show),
            suites=self._suites(),
        )

    def _suites(self) -> SuiteSource:
        return SuiteSource(self._request.suite, open_clones(self._settings))


def _reasons(rows: Sequence[StageItem]) -> str:
    return "; ".join(f"{row.item}: {row.reason or row.state}" for row in rows)


def _under_way(show: Show, item: str, step: str) -> None:
    show(STAGES[5], -1, -1, f"{item} {step}")
