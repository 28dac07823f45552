"""A run: every agent's attempts at every task, resumable trial by trial."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from socket import gethostname
from typing import Protocol

import anyio

from datasmith import __version__
from datasmith.agents.coding.base import Agent
from datasmith.docker.engine import ContainerEngine
from datasmith.docker.engines import open_engine
from datasmith.errors import ConfigError
from datasmith.evaluation.config import AgentEntry, RunConfig, load_agents, parse_entries
from datasmith.evaluation.placing import TaskJob, TaskWork, core_locks, elsewhere, side_by_side
from datasmith.evaluation.records import RunLock, RunRecord
from datasmith.evaluation.run_folder import RunFolder, keys, write_record
from datasmith.evaluation.trial import StepObserver, StopToken, Surroundings
from datasmith.executors.cores import core_sets, usable_cores
from datasmith.executors.executors import check_executor, open_executor
from datasmith.settings import Settings
from datasmith.tasks.certificate import Machine
from datasmith.tasks.dataset import Dataset, load_dataset
from datasmith.tasks.folder import task_digest
from datasmith.tasks.task import Task
from datasmith.workloads.machine import this_machine

TOO_FEW_CORES = "--n-concurrent {asked}: each task needs a core, and there are {have} (example: --n-concurrent {have})"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What `fc-eval run` was asked, before anything is read; empty `run_id` and `task_ids` mean the default."""

    dataset: str
    task_ids: tuple[str, ...]
    config: Path
    runs_dir: Path
    run_id: str = ""
    n_attempts: int = 1
    n_concurrent: int | None = None
    """Tasks at once; None: one on this machine, as many as there are slots elsewhere."""
    executor: str = "local"
    precise: bool = False
    max_rounds: int | None = None
    seed: int = 0
    timeout_s: float = 3600.0
    registry: Path | None = None


class RunObserver(StepObserver, Protocol):
    """Is told how a run goes on, from several threads."""

    def start(self, total: int, done: int) -> None:
        """The run has `total` trials, of which `done` were complete before."""

    def leave(self, task_id: str) -> None:
        """Nothing more comes from this task."""


def run_evaluation(request: RunRequest, settings: Settings, observer: RunObserver) -> RunFolder:
    """Carry the run out, or what is left of it; returns its folder.

    Raises:
        ConfigError: the request, the configuration or the run folder does not fit; nothing was started.
        EngineUnavailable: there is no engine to run in.
    """
    entries = _entries(request.config)
    agents = load_agents(entries, str(request.config), request.config.parent, settings)
    dataset = load_dataset(request.dataset, registry=request.registry)
    tasks = dataset.select(request.task_ids)
    _check_slots(request, settings)
    engine = open_engine(settings)
    config = _config(request, dataset, tasks, entries, engine)
    folder = RunFolder(request.runs_dir / _run_id(request, config))
    with folder.alone():
        _start(folder, config, dataset, this_machine() if request.executor == "local" else None)
        _carry_out(request, settings, observer, _Work(folder, config, engine, dataset, tasks, agents))
    return folder


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
            self.folder.root.absolute(), task.task_id, where, request.config.parent.absolute(), gethostname()
        )


def _check_slots(request: RunRequest, settings: Settings) -> None:
    """Raises ConfigError where more tasks at once are asked for than there are slots on this machine."""
    have = len(core_sets(settings.bench_cores, usable_cores()))
    if request.executor == "local" and (request.n_concurrent or 1) > have:
        raise ConfigError(TOO_FEW_CORES.format(asked=request.n_concurrent, have=have))
    check_executor(request.executor)


def _entries(config: Path) -> tuple[AgentEntry, ...]:
    try:
        text = config.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--config {config}: cannot be read: {error} (example: --config agents.json)") from error
    return parse_entries(text, str(config))


def _config(
    request: RunRequest,
    dataset: Dataset,
    tasks: Sequence[Task],
    entries: tuple[AgentEntry, ...],
    engine: ContainerEngine,
) -> RunConfig:
    return RunConfig(
        dataset=dataset.name,
        release=dataset.release,
        task_ids=tuple(task.task_id for task in tasks),
        agents=entries,
        n_attempts=request.n_attempts,
        seed=request.seed,
        timeout_s=request.timeout_s,
        precise=request.precise,
        max_rounds=request.max_rounds,
        engine=engine.name,
    )


def _run_id(request: RunRequest, config: RunConfig) -> str:
    if not request.run_id:
        return config.run_id()
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", request.run_id):
        raise ConfigError(f"--run-id {request.run_id!r}: letters, digits, '.', '_' and '-' only (example: my-run.1)")
    return request.run_id


def _start(folder: RunFolder, config: RunConfig, dataset: Dataset, here: Machine | None) -> None:
    """Write run.json and run.lock, or see that those that are there agree.

    `here` is None where tasks are worked on elsewhere: each session says on what machine it was measured.

    Raises:
        ConfigError: the run of this id was started with another configuration or other tasks; names what changed.
    """
    digests = {task_id: task_digest(dataset.folders[task_id]) for task_id in config.task_ids}
    earlier = folder.read_run()
    if earlier is None:
        run = RunRecord(
            run_id=folder.root.name,
            config=config,
            tool_version=__version__,
            machine=here or this_machine(),
            created_at=datetime.now(UTC),
        )
        write_record(folder.root / "run.lock", RunLock(tasks=digests))
        write_record(folder.root / "run.json", run)
        return
    changes = list(earlier.config.changes(config))
    locked = folder.read_lock().tasks
    known = [name for name in config.task_ids if name in earlier.config.task_ids]
    changes += [f"task {name}: its files changed" for name in known if locked.get(name) != digests[name]]
    if here and earlier.machine != here:
        changes.append(f"machine: {earlier.machine.cpu_model} -> {here.cpu_model}, or its cores, memory or kernel")
    if changes:
        raise ConfigError(
            f"--run-id {folder.root.name}: this run exists with another configuration: {'; '.join(changes)} "
            f"(to go on with it, give what it was started with; for another run, another name, as in "
            f"--run-id {folder.root.name}-2)"
        )


def _carry_out(request: RunRequest, settings: Settings, observer: RunObserver, work: _Work) -> None:
    everything = keys(work.config.task_ids, work.config.labels, work.config.n_attempts)
    done = sum(work.folder.is_complete(key) for key in everything)
    observer.start(len(everything), done)
    if request.executor == "local":
        _here(request, settings, observer, work)
        return
    executor = open_executor(request.executor, settings)
    try:
        jobs = [work.job(task, request) for task in work.tasks]
        anyio.run(partial(elsewhere, jobs, executor, folder=work.folder, observer=observer, most=request.n_concurrent))
    finally:
        executor.close()


def _here(request: RunRequest, settings: Settings, observer: RunObserver, work: _Work) -> None:
    around = Surroundings(
        folder=work.folder,
        config=work.config,
        agents=dict(zip(work.config.labels, work.agents, strict=True)),
        engine=work.engine,
        settings=settings,
        observer=observer,
        stop=StopToken(),
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
