"""A run: every agent's attempts at every task, resumable trial by trial."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from socket import gethostname
from typing import Protocol

import anyio

from datasmith import __version__
from datasmith.agents.coding.base import Agent, Priced
from datasmith.docker.engine import ContainerEngine
from datasmith.docker.engines import open_engine
from datasmith.errors import ConfigError, InvalidTask
from datasmith.evaluation.budget import CostLimit
from datasmith.evaluation.config import RunConfig, as_asked, load_agents, renamed
from datasmith.evaluation.overview import lost_to_outage
from datasmith.evaluation.placing import TaskJob, TaskWork, elsewhere, side_by_side
from datasmith.evaluation.records import RunLimit, RunLock, RunRecord, TrialRecord
from datasmith.evaluation.request import RunRequest, kept_tasks, too_few_rounds
from datasmith.evaluation.run_folder import RunFolder, keys
from datasmith.evaluation.trial import StepObserver, StopToken, Surroundings
from datasmith.evaluation.whole_files import write_record
from datasmith.executors.base import Executor
from datasmith.executors.cores import core_locks
from datasmith.executors.executors import open_executor
from datasmith.misfits import LONGEST
from datasmith.printable import cut
from datasmith.settings import Settings
from datasmith.tasks.certificate import Machine
from datasmith.tasks.dataset import Dataset, Places, load_dataset
from datasmith.tasks.folder import task_digest
from datasmith.tasks.folder_check import patch_problems
from datasmith.tasks.task import Task
from datasmith.workloads.machine import this_machine

TOO_FEW_CORES = "--n-concurrent {asked}: each task needs a core, and there are {have} (example: --n-concurrent {have})"


@dataclass(frozen=True, slots=True)
class RunEnd:
    """A run's folder, and what kept trials from being done."""

    folder: RunFolder
    unbegun: str
    """Why not all trials were begun; empty where they were."""
    outage: str
    """Why no trial at all is complete, where none is and infrastructure is to blame; else empty."""


class RunObserver(StepObserver, Protocol):
    """Is told how a run goes on, from several threads."""

    def start(self, total: int, ended: Sequence[TrialRecord]) -> None:
        """The run has `total` trials, of which these were complete before."""

    def leave(self, task_id: str) -> None:
        """Nothing more comes from this task."""

    def note(self, text: str) -> None:
        """Something that the user should know."""


def run_evaluation(request: RunRequest, settings: Settings, observer: RunObserver) -> RunEnd:
    """Carry the run out, or what is left of it.

    Raises:
        ConfigError: the request, the configuration or the run folder does not fit; nothing was started.
        InvalidTask: a task's folder, or the expert's patch in it, cannot be read; nothing was started.
        EngineUnavailable: there is no engine to run in.
    """
    if not request.kept_in:  # a folder that is there may have been renamed
        _check_run_id(request.run_id)
    asked = _asked(request)
    agents = load_agents(request.entries, request.source, request.directory, settings)
    check_cost(request.max_cost_usd, agents)
    _check_slots(request, settings)
    with _elsewhere(request, settings) as executor:
        return _evaluate(request, asked, settings, observer, agents, executor)


def _evaluate(
    request: RunRequest,
    asked: RunConfig,
    settings: Settings,
    observer: RunObserver,
    agents: Sequence[Agent],
    executor: Executor | None,
) -> RunEnd:
    with kept_tasks(request):
        dataset = _dataset(request, settings)
        said = f"{request.kept_in}: config.task_ids:" if request.kept_in else "--task-id"
        tasks = dataset.select(request.task_ids, request.exclude, said=said)
    for note in dataset.notes:
        observer.note(note)
    if not tasks:
        raise ConfigError(f"--exclude: no task of {dataset.name} is left (example: --exclude 'shapely_*')")
    broken = [f"{task.task_id}: {problem}" for task in tasks for problem in patch_problems(task)]
    if broken:
        raise InvalidTask(broken)
    for note in filter(None, (too_few_rounds(request, tasks), renamed(request.entries))):
        observer.note(note)
    engine = open_engine(settings)
    names = tuple(task.task_id for task in tasks)
    found = {"dataset": dataset.name, "release": dataset.release, "task_ids": names, "engine": engine.name}
    config = asked.model_copy(update=found)
    folder = RunFolder(request.runs_dir / (request.run_id or config.run_id()))
    with folder.alone():
        _start(folder, config, dataset, None if executor else this_machine(), request)
        request = _limited(request, folder, observer.note)
        check_cost(request.max_cost_usd, agents, f"; without a limit: fc-eval runs resume {folder.root} --no-max-cost")
        work = _Work(folder, config, engine, dataset, tasks, agents)
        unbegun = _carry_out(request, settings, observer, work, executor)
    trials = map(folder.read_trial, keys(config.task_ids, config.labels, config.n_attempts))
    return RunEnd(folder, unbegun, lost_to_outage([trial for trial in trials if trial]))


@contextmanager
def _elsewhere(request: RunRequest, settings: Settings) -> Iterator[Executor | None]:
    """What places tasks on other machines, open for the body; None where they are worked on here.

    Raises:
        ConfigError: it cannot be used here.
    """
    executor = None if request.executor == "local" else open_executor(request.executor, settings)
    try:
        yield executor
    finally:
        if executor is not None:
            executor.close()


def _limited(request: RunRequest, folder: RunFolder, note: Callable[[str], None]) -> RunRequest:
    """The request with the limit of its cost that holds, which the folder keeps for who goes on later."""
    kept = folder.read_limit().max_cost_usd
    if request.keeps_limit and request.max_cost_usd is None and kept is not None:
        note(f"--max-cost {kept:g} holds, as it was last given for this run (--no-max-cost takes it away)")
        return replace(request, max_cost_usd=kept)
    if kept != request.max_cost_usd:
        write_record(folder.root / "limit.json", RunLimit(max_cost_usd=request.max_cost_usd))
    return request


def _dataset(request: RunRequest, settings: Settings) -> Dataset:
    """The dataset under the name that the run knows it by, wherever it is now; `_start` asks whether it is the same."""
    places = Places.of(settings, request.registry)
    if not request.tasks_at:
        commit = re.fullmatch(r"[0-9a-f]{40}", request.release)
        release = request.release if commit else ""
        return load_dataset(request.dataset, places, release=release, said=request.tasks_said)
    found = load_dataset(request.tasks_at, places, said=request.tasks_said)
    return replace(found, name=request.dataset, release=request.release)


@dataclass(frozen=True, slots=True)
class _Work:
    folder: RunFolder
    config: RunConfig
    engine: ContainerEngine
    dataset: Dataset
    tasks: Sequence[Task]
    agents: Sequence[Agent]

    def job(self, task: Task, request: RunRequest) -> TaskJob:
        """The task as it is sent elsewhere."""
        where = self.dataset.folders[task.task_id].absolute()
        return TaskJob(
            self.folder.root.absolute(),
            task.task_id,
            where,
            request.directory.absolute(),
            gethostname(),
            request.max_cost_usd,
        )


def check_cost(limit_usd: float | None, agents: Iterable[Agent], kept: str = "") -> None:
    """Raises ConfigError where --max-cost cannot be kept, since nobody says what an agent's model costs.

    `kept`: what else helps where the limit was given for the run before.
    """
    for agent in agents if limit_usd else ():
        if isinstance(agent, Priced) and not agent.tells_cost:
            raise ConfigError(
                f"--max-cost {limit_usd:g}: nobody says what {agent.name} costs (example: FC_PRICES=prices.json, which "
                f'holds {{"its-model": {{"input": 1.25, "output": 10}}}}{kept})'
            )


def _check_slots(request: RunRequest, settings: Settings) -> None:
    """Raises ConfigError where more tasks at once are asked for than there are slots on this machine."""
    have = len(core_locks(settings))
    if request.executor == "local" and (request.n_concurrent or 1) > have:
        raise ConfigError(TOO_FEW_CORES.format(asked=request.n_concurrent, have=have))


def _asked(request: RunRequest) -> RunConfig:
    """The configuration as it is asked for, before anybody has looked for the dataset, its tasks or an engine."""
    with as_asked():
        return RunConfig(
            dataset=request.dataset,
            release=request.release,
            task_ids=(),
            agents=request.entries,
            n_attempts=request.n_attempts,
            seed=request.seed,
            timeout_s=request.timeout_s,
            precise=request.precise,
            max_rounds=request.max_rounds,
            test_timeout_s=request.test_timeout_s,
            benchmark_timeout_s=request.benchmark_timeout_s,
            select=request.select,
            engine=request.engine,
        )


def _check_run_id(run_id: str | None) -> None:
    """An empty one is the unset variable of a script, and no wish for the default; it names a folder everywhere."""
    if run_id is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", run_id):
        raise ConfigError(
            f"--run-id {cut(run_id, LONGEST)!r}: must be 1 to 100 of the characters a-z, A-Z, 0-9, '.', '_' and '-', "
            "and begin with a letter or digit (example: --run-id my-run.1)"
        )


def _start(folder: RunFolder, config: RunConfig, dataset: Dataset, here: Machine | None, request: RunRequest) -> None:
    """Write run.json and run.lock, or see that those that are there agree.

    `here` is None where tasks are worked on elsewhere: each session says on what machine it was measured.

    Raises:
        ConfigError: the run of this id was started with another configuration or other tasks; names what changed.
    """
    digests = {task_id: task_digest(dataset.folders[task_id]) for task_id in config.task_ids}
    earlier = folder.read_run()
    if earlier is None:
        tasks_at = Path(request.tasks_at or request.dataset)
        run = RunRecord(
            run_id=folder.root.name,
            config=config,
            tool_version=__version__,
            machine=here or this_machine(),
            created_at=datetime.now(UTC),
            directory=str(request.directory.absolute()),
            tasks_at=str(tasks_at.absolute()) if tasks_at.is_dir() else "",
        )
        write_record(folder.root / "run.lock", RunLock(tasks=digests))
        write_record(folder.root / "run.json", run)
        return
    changes = list(earlier.config.changes(config))
    locked = folder.read_lock().tasks
    known = [name for name in config.task_ids if name in earlier.config.task_ids]
    changes += [f"task {name}: its files changed" for name in known if locked.get(name) != digests[name]]
    pairs = [(name, getattr(earlier.machine, name), value) for name, value in here or ()]
    moved = [f"machine.{name}: {was} -> {value}" for name, was, value in pairs if was != value]
    if moved and not all(map(folder.is_complete, keys(config.task_ids, config.labels, config.n_attempts))):
        changes += moved  # where all is there, nothing is measured here
    if changes:
        how = "it needs the machine and the tasks" if request.kept_in else "give what"
        how = "it needs the machine, with the cores (taskset), that" if changes == moved else how
        raise ConfigError(
            f"run {folder.root.name}: it exists with another configuration: {'; '.join(changes)} "
            f"(to go on with it, {how} it was started with; for another run, another name, as in "
            f"fc-eval run --run-id {folder.root.name}-2)"
        )


def _carry_out(
    request: RunRequest, settings: Settings, observer: RunObserver, work: _Work, executor: Executor | None
) -> str:
    """Returns why not all trials were begun."""
    everything = keys(work.config.task_ids, work.config.labels, work.config.n_attempts)
    known = map(work.folder.read_trial, everything)
    observer.start(len(everything), [trial for trial in known if trial and trial.is_complete])
    cost = CostLimit(request.max_cost_usd, work.folder, everything)
    if executor is None:
        _here(request, settings, observer, work, cost)
    else:
        jobs = [work.job(task, request) for task in work.tasks]
        anyio.run(partial(elsewhere, jobs, executor, folder=work.folder, observer=observer, most=request.n_concurrent))
    return _told(cost, observer)


def _told(cost: CostLimit, observer: RunObserver) -> str:
    """Why not all trials were begun; what the limit could not see is noted."""
    if cost.doubt:
        observer.note(cost.doubt)
    return cost.told


def _here(request: RunRequest, settings: Settings, observer: RunObserver, work: _Work, cost: CostLimit) -> None:
    around = Surroundings(
        folder=work.folder,
        config=work.config,
        agents=dict(zip(work.config.labels, work.agents, strict=True)),
        engine=work.engine,
        settings=settings,
        observer=observer,
        stop=StopToken(),
        cost=cost,
    )
    worker = TaskWork(around, core_locks(settings))

    def one(task: Task) -> None:
        try:
            worker.run(task, work.dataset.folders[task.task_id])
        finally:
            observer.leave(task.task_id)

    if request.n_concurrent in {None, 1}:
        for task in work.tasks:
            one(task)
    else:
        side_by_side(work.tasks, one, request.n_concurrent or 1, around.stop)
