"""Where the tasks of a run are worked on: side by side on cores of this machine, or wherever an executor finds room."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from socket import gethostname

import anyio
from anyio import to_thread

from datasmith import process
from datasmith.docker.engines import open_engine
from datasmith.errors import ConfigError
from datasmith.evaluation.budget import CostLimit
from datasmith.evaluation.config import KEPT_AGENTS, load_agents
from datasmith.evaluation.leases import LEASE_S, Holder, claim, holder_of
from datasmith.evaluation.records import TrialRecord
from datasmith.evaluation.run_folder import RunFolder, TrialKey, keys
from datasmith.evaluation.trial import StepObserver, Stopped, StopToken, Surroundings, TaskRun
from datasmith.executors.base import Executor
from datasmith.executors.cores import CoreLocks, CoreSet, core_locks
from datasmith.executors.local import first_error
from datasmith.settings import Settings, load_settings
from datasmith.tasks.folder import read_task, task_digest
from datasmith.tasks.task import Task

NEEDS = ("bench",)
"""What a machine must be to work on a task: quiet enough to measure. It offers as many as it has slots."""
POLL_S = 1.0


@contextmanager
def own_core(settings: Settings, say: Callable[[str], None]) -> Iterator[CoreSet]:
    """A slot of this machine for the body; `say` is told, once, where it has to be waited for.

    Raises:
        ConfigError: FC_BENCH_CORES cannot be used here.
    """
    with core_locks(settings).hold(lambda: None, say=say) as cores:
        yield cores


class TaskWork:
    """Completes tasks, each under a lease, so that no two processes or machines do, and on a slot of its own."""

    def __init__(
        self,
        around: Surroundings,
        cores: CoreLocks,
        *,
        lease_s: float = LEASE_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._around = around
        self._cores = cores
        self._me = Holder.me()
        self._lease_s = lease_s
        self._sleep = sleep

    def run(self, task: Task, folder: Path) -> None:
        """Complete what is left of a task, once nobody else is at work on it; whoever loses its lease waits again."""
        stop = self._around.stop
        while not self.is_complete(task.task_id):
            stop.check()
            lease = claim(self._around.folder.leases(task.task_id), self._me, lease_s=self._lease_s)
            if lease is None:
                self._around.observer.step(task.task_id, "somebody else is at work on it")
                self._sleep(POLL_S)
                continue
            with lease.kept(self._lease_s):
                if self._completed(task, folder, stop.under(lease.holds)):
                    return

    def is_complete(self, task_id: str) -> bool:
        """True where no trial of the task is left to do."""
        config, folder = self._around.config, self._around.folder
        return all(folder.is_complete(key) for key in keys([task_id], config.labels, config.n_attempts))

    def _completed(self, task: Task, folder: Path, stop: StopToken) -> bool:
        """False where the lease was lost before the end."""
        try:
            with self._cores.hold(stop.check, say=partial(self._around.observer.step, task.task_id)) as cores:
                TaskRun(replace(self._around, stop=stop), task, folder, cores).run()
        except Stopped:
            if stop.is_set:
                raise
            return False
        return True


def side_by_side(tasks: Sequence[Task], one: Callable[[Task], None], n: int, stop: StopToken) -> None:
    """At most `n` tasks at once, each in a thread; the first failure or Ctrl-C stops all others."""
    with ThreadPoolExecutor(n) as pool:
        running = [pool.submit(_unless_stopped, one, task, stop) for task in tasks]
        try:
            wait(running, return_when=FIRST_EXCEPTION)
        finally:
            unfinished = [future for future in running if not future.done()]
            if unfinished:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                process.kill_descendants()
    failures = [error for future in running if not future.cancelled() and (error := future.exception())]
    for error in sorted(failures, key=lambda error: isinstance(error, Stopped)):
        raise error


def _unless_stopped(one: Callable[[Task], None], task: Task, stop: StopToken) -> None:
    stop.check()
    one(task)


@dataclass(frozen=True, slots=True)
class TaskJob:
    """A task of a run as it is sent to another place: paths that all places see; no live object, and no secret."""

    run: Path
    task_id: str
    task_folder: Path
    config_dir: Path
    host: str
    max_cost_usd: float | None = None


class _Unseen:
    """Nobody looks on: what is done is read from the run folder."""

    def step(self, task_id: str, what: str, done: int = 0, total: int | None = None) -> None:
        """See StepObserver."""

    def complete(self, n_trials: int) -> None:
        """See StepObserver."""

    def ended(self, trial: TrialRecord) -> None:
        """See StepObserver."""


async def work_on_task(job: TaskJob) -> None:
    """Complete a task here; settings, keys and engine are this machine's own.

    Raises:
        ConfigError: the run's files, or the same tasks, are not seen from here.
    """
    stop = StopToken()
    try:
        await to_thread.run_sync(_work, job, stop, abandon_on_cancel=True)
    except anyio.get_cancelled_exc_class():
        stop.set()
        process.kill_descendants()
        raise


def _work(job: TaskJob, stop: StopToken) -> None:
    folder = RunFolder(job.run)
    record = folder.read_run()
    if record is None or not job.task_folder.is_dir():
        missing = job.task_folder if record else job.run
        raise ConfigError(
            f"{gethostname()} does not see {missing}, which {job.host} works with: all nodes need the same files at "
            "the same place (example: --runs-dir /shared/runs --dataset /shared/tasks)"
        )
    if task_digest(job.task_folder) != folder.read_lock().tasks.get(job.task_id):
        raise ConfigError(f"{job.task_folder} on {gethostname()} is not the task that the run began with on {job.host}")
    config = record.config
    settings = load_settings(engine=config.engine)
    agents = dict(zip(config.labels, load_agents(config.agents, KEPT_AGENTS, job.config_dir, settings), strict=True))
    cost = CostLimit(job.max_cost_usd, folder, keys(config.task_ids, config.labels, config.n_attempts))
    around = Surroundings(folder, config, agents, open_engine(settings), settings, _Unseen(), stop, cost)
    TaskWork(around, core_locks(settings)).run(read_task(job.task_folder), job.task_folder)


async def elsewhere(
    jobs: Sequence[TaskJob], executor: Executor, *, folder: RunFolder, observer: StepObserver, most: int | None
) -> None:
    """Complete the jobs' tasks where the executor finds room, at most `most` at once; tell what the run folder says.

    Raises:
        ConfigError: no place can measure.
        DatasmithError: what ended a job, or that its process died again and again.
    """
    places = executor.places(NEEDS)
    n = min(places, len(jobs), most or places)
    watch = RunWatch(folder, observer)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(watch.forever, [job.task_id for job in jobs])
            await executor.map(work_on_task, jobs, n_concurrent=n, needs=NEEDS)
            group.cancel_scope.cancel()
    except BaseExceptionGroup as several:
        raise first_error(several) from several
    watch.look([job.task_id for job in jobs])


class RunWatch:
    """Tells an observer what others have done, as the run folder shows it."""

    def __init__(self, folder: RunFolder, observer: StepObserver) -> None:
        self._folder = folder
        self._observer = observer
        self._complete = set[TrialKey]()
        self._complete |= self._new().keys()

    def _new(self) -> dict[TrialKey, TrialRecord]:
        """Complete trials that were not seen before; of a long run only these are read."""
        found = [record for record in self._folder.trials(but=self._complete) if record.outcome != "infra_error"]
        return {TrialKey.of(record): record for record in found}

    def look(self, task_ids: Sequence[str]) -> None:
        """Tell what is new."""
        new = self._new()
        for record in new.values():
            self._observer.ended(record)
        self._observer.complete(len(new))
        self._complete |= new.keys()
        for task_id in task_ids:
            holder = holder_of(self._folder.leases(task_id))
            if holder:
                self._observer.step(task_id, f"at work on {holder.host}, process {holder.pid}")

    async def forever(self, task_ids: Sequence[str]) -> None:
        """Look now and then."""
        while True:
            await to_thread.run_sync(self.look, task_ids)
            await anyio.sleep(POLL_S)
