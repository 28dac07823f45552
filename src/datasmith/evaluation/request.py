"""What a run is asked for: on the command line, or by the run.json of one that is gone on with."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from datasmith.counted import counted
from datasmith.errors import ConfigError
from datasmith.evaluation.config import KEPT_AGENTS, AgentEntry
from datasmith.evaluation.run_folder import RunFolder
from datasmith.settings import EngineName
from datasmith.stats.multiple import rounds_needed
from datasmith.tasks.folder import TEST_TIMEOUT_S
from datasmith.tasks.task import Task
from datasmith.workloads.impact import Select
from datasmith.workloads.summary import FALSE_DISCOVERY_RATE

_TOLD = "--dataset"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What `fc-eval run` was asked, before anything is read; no `run_id` and empty `task_ids` mean the default.

    Relative paths of the agents start at `directory`. `release` is that of the dataset, where a run has noted it.
    `max_cost_usd`: see CostLimit.
    """

    dataset: str
    task_ids: tuple[str, ...]
    entries: tuple[AgentEntry, ...]
    directory: Path
    runs_dir: Path
    source: str = ""
    """Where the agents are written; empty where they were given on the command line."""
    kept_in: str = ""
    """The run.json that all this was read from; empty where it was asked for on the command line."""
    exclude: tuple[str, ...] = ()
    release: str = ""
    run_id: str | None = None
    n_attempts: int = 1
    n_concurrent: int | None = None
    """Tasks at once; None: one on this machine, as many as there are slots elsewhere."""
    executor: str = "local"
    precise: bool = False
    max_rounds: int | None = None
    select: Select = "all"
    seed: int = 0
    timeout_s: float = 3600.0
    test_timeout_s: float = TEST_TIMEOUT_S
    benchmark_timeout_s: float | None = None
    max_cost_usd: float | None = None
    keeps_limit: bool = False
    """Without `max_cost_usd` the limit that was last given for the run holds."""
    engine: str = ""
    """The engine that an earlier part of the run used; empty: that of the settings."""
    registry: Path | None = None
    tasks_at: str = ""
    """Where the dataset is now; empty: where `dataset` says."""
    tasks_said: str = _TOLD
    """What says where it is."""


def request_of(folder: RunFolder) -> RunRequest:
    """The request to go on with a run as it was configured, its cost limited as it was last said.

    Raises:
        ConfigError: the folder holds no run.
        TrialError: run.json cannot be read.
    """
    run = folder.read_run()
    if run is None:
        raise ConfigError(f"RUN {folder.root}: no run.json there (example: fc-eval runs resume runs/my-run)")
    config, kept_in = run.config, str(folder.root / "run.json")
    if config.engine not in get_args(EngineName):
        raise ConfigError(f"{kept_in}: config.engine: there is no engine {config.engine!r} (example: bubblewrap)")
    moved = bool(run.tasks_at) and Path(run.tasks_at).is_dir()
    return RunRequest(
        dataset=config.dataset,
        task_ids=config.task_ids,
        entries=config.agents,
        directory=Path(run.directory),
        source=f"{kept_in}: {KEPT_AGENTS}",
        kept_in=kept_in,
        runs_dir=folder.root.parent,
        release=config.release,
        run_id=folder.root.name,
        n_attempts=config.n_attempts,
        precise=config.precise,
        max_rounds=config.max_rounds,
        select=config.select,
        seed=config.seed,
        timeout_s=config.timeout_s,
        test_timeout_s=config.test_timeout_s,
        benchmark_timeout_s=config.benchmark_timeout_s,
        keeps_limit=True,
        engine=config.engine,
        tasks_at=run.tasks_at if moved else "",
        tasks_said=f"{kept_in}: {'tasks_at' if moved else 'config.dataset'}",
    )


@contextmanager
def kept_tasks(request: RunRequest) -> Iterator[None]:
    """Inside, what is wrong with tasks that a run.json names is told with what its reader can do about it."""
    try:
        yield
    except ConfigError as error:
        if request.tasks_said == _TOLD:
            raise
        how = f"fc-eval runs resume {Path(request.kept_in).parent} --dataset work/dataset/tasks"
        raise ConfigError(f"{error}; to say where its tasks are now: {how}") from error


def too_few_rounds(request: RunRequest, tasks: Sequence[Task]) -> str:
    """That no workload can be called changed, where that is known before anything is measured; else empty."""
    most = max(tasks, key=lambda task: len(task.workloads))
    needed = rounds_needed(len(most.workloads), FALSE_DISCOVERY_RATE)
    if request.max_rounds is None or request.max_rounds >= needed or request.select != "all":
        return ""
    return (
        f"--max-rounds {request.max_rounds}: speedups are measured, but none of the "
        f"{counted(len(most.workloads), 'workload')} of {most.task_id} can be called changed in less than {needed} "
        f"rounds (example: --max-rounds {needed})"
    )
