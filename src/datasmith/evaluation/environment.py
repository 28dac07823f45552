"""A task as an environment to learn in: reset, exec and score, in the sandbox and with the grading of fc-eval run."""

import math
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from datasmith.agents.coding.diff import Baseline, baseline, extract_patch
from datasmith.docker.engine import Container, ContainerEngine, ExecResult, ImageRef, Limits
from datasmith.docker.engines import limits_of, open_engine
from datasmith.errors import AgentFailed, ConfigError, MeasurementFailed, TrialError, one_of
from datasmith.evaluation.config import NO_MODEL, AgentEntry, RunConfig, as_asked
from datasmith.evaluation.grading import Graded, Grader, Submission
from datasmith.evaluation.images import image_of
from datasmith.evaluation.outcome import (
    ENOUGH_SESSIONS,
    EXCLUDED,
    AgentFacts,
    Ending,
    Outcome,
    is_own_noise,
    settled,
)
from datasmith.evaluation.run_folder import RunFolder, TrialKey
from datasmith.evaluation.suite import show_suite
from datasmith.executors.cores import CoreLocks, core_sets, locks_of, usable_cores
from datasmith.metrics.compat import shaped_reward
from datasmith.settings import Settings, load_settings
from datasmith.stats.multiple import rounds_needed
from datasmith.tasks.environment import Options, Shape
from datasmith.tasks.folder import read_task
from datasmith.tasks.quantities import MOST
from datasmith.tasks.task import Task
from datasmith.workloads.summary import FALSE_DISCOVERY_RATE

_SHAPES: Mapping[Shape, tuple[Callable[[float, float], float], float]] = {
    "speedup": (lambda ratio, _expert: ratio, 0.0),
    "log": (lambda ratio, _expert: max(math.log(ratio), -1.0), -1.0),
    "shaped": (shaped_reward, -1.0),
}
"""What a ratio is worth beside the expert's, and what a failure is: never more than the slowest patch that works."""


_LONGEST_WORD = 100_000
"""Bytes: a kernel takes words of a command up to 128 KiB."""
_FROM_STDIN = 'eval "$(head -c "$0")"'


def _words(command: str | Sequence[str]) -> tuple[list[str], bytes]:
    """A command's words, and what it reads first: a text that is too long for a word comes that way."""
    example = "(example: exec('python -m pytest -q'))"
    words = ["/bin/bash", "-c", command] if isinstance(command, str) else list(command)
    if not words or not all(isinstance(word, str) for word in words):
        raise TrialError(f"command={command!r:.60} is neither a text nor a list of words {example}")
    if any("\0" in word for word in words):
        raise TrialError(f"the command holds a NUL, which no program can be given {example}")
    longest = max((word.encode("utf-8", "surrogateescape") for word in words), key=len)
    if len(longest) <= _LONGEST_WORD:
        return words, b""
    if isinstance(command, str):
        return ["/bin/bash", "-c", _FROM_STDIN, str(len(longest))], longest
    raise TrialError(f"a word of the command has {len(longest)} bytes, more than {_LONGEST_WORD}: give it as stdin=...")


@dataclass(frozen=True, slots=True)
class Reward:
    """What the work so far is worth. A failure has a reward, no speed-up and no workloads.

    speedup: geometric mean of t_base / t_patched over the workloads that were timed. reward: that, in the shape asked
    for. workloads: the same for each workload by itself.
    """

    outcome: Outcome
    reason: str | None
    reward: float
    speedup: float | None = None
    workloads: Mapping[str, float] = field(default_factory=dict)


class TaskEnvironment:
    """One task in a sandbox without network; `with` it, since it holds a sandbox until it is closed."""

    def __init__(
        self,
        task: Task,
        image: ImageRef,
        engine: ContainerEngine,
        limits: Limits,
        *,
        max_rounds: int | None = None,
        shape: Shape = "speedup",
        seed: int = 0,
        locks: CoreLocks | None = None,
    ) -> None:
        """`locks`: the cores that `limits` names, held while something is timed; None where nothing is pinned."""
        self._locks = locks
        self._task = task
        self._image = image
        self._engine = engine
        self._limits = limits
        self._shape = shape
        with as_asked(str):
            self._config = RunConfig(
                dataset=task.task_id,
                release="",
                task_ids=(task.task_id,),
                agents=(AgentEntry(agent="nop", model=NO_MODEL),),
                seed=seed,
                max_rounds=max_rounds,
                engine=engine.name,
            )
        self._container: Container | None = None
        self._start: Baseline | None = None

    @property
    def task(self) -> Task:
        """The task."""
        return self._task

    def reset(self) -> str:
        """A fresh sandbox with the tree at base; returns the instruction."""
        self.close()
        self._container = self._engine.start(self._image, limits=self._limits, writable_env=True)
        show_suite(self._container, self._task)
        self._start = baseline(self._container)
        return self._task.instruction

    def exec(self, command: str | Sequence[str], *, timeout: float = 600.0, stdin: bytes = b"") -> ExecResult:
        """Run a command (a text is one for bash) in the tree; files stay, processes, /tmp and HOME do not.

        Raises:
            TrialError: there was no reset(), the command is none, or `timeout` are no seconds.
        """
        words, first = _words(command)
        given: object = timeout
        if not (isinstance(given, int | float) and 0 < given <= threading.TIMEOUT_MAX):
            raise TrialError(f"timeout={timeout!r} are no seconds that can pass (example: timeout=600.0)")
        return self._running[0].exec(words, timeout=timeout, stdin=first + stdin)

    def patch(self) -> str:
        """The git diff from base to the tree as it is now.

        Raises:
            TrialError: there was no reset(), or (AgentFailed) no diff can be taken.
        """
        return extract_patch(*self._running)

    def score(self) -> Reward:
        """Grade the tree as it is now, as fc-eval run does: policy, tests, outputs, timing, all in fresh sandboxes.

        Code that scatters too much to be decided is timed in a second session, and is `tampered_or_unreliable` where
        that says as little. The sandbox is left as it is: more can be done in it, and be scored again. Where another
        command or environment measures on the same core, this one waits for it.

        Raises:
            MeasurementFailed: nothing can be said now: the host was disturbed, or the task does not work here.
            ContainerError: the sandboxes failed.
        """
        worth, failed = _SHAPES[self._shape]
        try:
            patch = self.patch()
        except AgentFailed as error:
            return Reward("agent_error", str(error), failed)
        key = TrialKey(self._task.task_id, "nop", 1)
        alone = self._locks.hold(lambda: None) if self._locks else nullcontext()
        with tempfile.TemporaryDirectory(prefix="fc-score-") as place, alone:
            graded, ending = self._settled(key, patch, Path(place))
        score = graded.score(key)
        if ending.outcome in EXCLUDED:
            raise MeasurementFailed(f"{self._task.task_id}: {ending.reason}")
        if score is None or score.speedup is None or score.expert_speedup is None or graded.session is None:
            return Reward(ending.outcome, ending.reason, failed)
        experts = {row.workload: row.ratio for row in graded.session.expert.valid}
        workloads = {
            row.workload: worth(row.ratio, expert)
            for row in graded.ratios[key].valid
            if row.ratio is not None and (expert := experts.get(row.workload)) is not None
        }
        reward = worth(score.speedup, score.expert_speedup)
        return Reward(ending.outcome, ending.reason, reward, score.speedup, workloads)

    def _settled(self, key: TrialKey, patch: str, place: Path) -> tuple[Graded, Ending]:
        """How it ended; in a second session where the first left it undecided for the patch's own noise."""
        for sessions in range(1, ENOUGH_SESSIONS + 1):
            graded = self._graded(key, patch, RunFolder(place / str(sessions)))
            ending = settled(graded.endings[key], sessions)
            if not is_own_noise(ending):
                break
        return graded, ending

    def _graded(self, key: TrialKey, patch: str, folder: RunFolder) -> Graded:
        grader = Grader(
            self._engine,
            self._image,
            self._task,
            folder=folder,
            config=self._config,
            limits=self._limits,
            say=lambda _what, _done, _total: None,
            check=lambda: None,
        )
        return grader.grade([Submission(key, AgentFacts(wall_s=0.0, measure_empty=True), patch)])

    @property
    def _running(self) -> tuple[Container, Baseline]:
        if self._container is None or self._start is None:
            raise TrialError(f"{self._task.task_id}: call reset() first")
        return self._container, self._start

    def close(self) -> None:
        """Stop the sandbox; a second call does nothing."""
        container, self._container = self._container, None
        if container is not None:
            container.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_environment(folder: Path | str, **options: Unpack[Options]) -> TaskEnvironment:
    """The environment of a task folder, see `environment_of`.

    Raises:
        InvalidTask: the folder is none of a task.
        EngineUnavailable: there is no engine to run in.
        BuildFailed: its image does not build here.
    """
    return _opened(read_task(folder), folder, **options)


def environment_of(task: Task, folder: Path | str | None, **options: Unpack[Options]) -> TaskEnvironment:
    """The environment of a task, see `Task.environment`; `folder` is held against it.

    Raises:
        ConfigError: the folder is another task's; and what `Task.environment` says.
        InvalidTask: the folder is none of a task.
    """
    if folder and read_task(folder).task_id != task.task_id:
        raise ConfigError(f"{folder} is no folder of {task.task_id} (example: work/dataset/tasks/{task.task_id})")
    return _opened(task, folder, **options)


def _opened(
    task: Task,
    folder: Path | str | None,
    *,
    max_rounds: int | None = None,
    shape: Shape = "speedup",
    seed: int = 0,
    cores: Sequence[int] | None = None,
    settings: Settings | None = None,
) -> TaskEnvironment:
    """The environment of a task, on the engine of the settings; its image is found, or built from its folder.

    `max_rounds` and `seed` are those of fc-eval run. `shape`: "speedup" (t_base / t_patched, a failure 0), "log" (its
    logarithm, a failure -1) or "shaped" (`metrics.compat.shaped_reward` against the expert's, a failure -1).
    `cores`: where it is timed, None for the first of FC_BENCH_CORES (without that the last one of this process);
    environments side by side need one each. With none, (), launches are not pinned, and none is refused as disturbed:
    on a busy machine rewards are then noisy.

    Raises:
        ConfigError: its image is not here, and no folder was named; or there is no such shape or core, or so few rounds
            that no effect could show.
        EngineUnavailable: there is no engine to run in.
        BuildFailed: its image does not build here.
    """
    one_of("shape", shape, tuple(_SHAPES), "shaped")
    for name, number in (("max_rounds", max_rounds), ("seed", seed)):
        if number is not None and not (type(number) is int and 0 <= number <= MOST):
            raise ConfigError(f"{name}={number!r} is no whole number that can be had (example: {name}=12)")
    fewest = rounds_needed(1, FALSE_DISCOVERY_RATE)
    if max_rounds is not None and max_rounds < fewest:
        why = f"no effect could be told from chance in less than {fewest} rounds"
        raise ConfigError(f"max_rounds {max_rounds}: {why} (example: max_rounds={fewest})")
    _check_cores(cores)
    known = settings or load_settings()
    engine = open_engine(known)
    log = known.data_dir / "logs" / f"{task.task_id}.build.log"
    image = image_of(engine, known, task, Path(folder), log=log) if folder else engine.inspect(task.image_digest)
    if image is None:
        raise ConfigError(
            f"the image of {task.task_id} is not here: name its folder, to build it from"
            f' (example: task.environment("work/dataset/tasks/{task.task_id}"))'
        )
    cpus = core_sets(known.bench_cores, usable_cores())[0][:1] if cores is None else tuple(cores)
    limits, locks = limits_of(known, cpus), locks_of(known, (cpus,)) if cpus else None
    return TaskEnvironment(task, image, engine, limits, max_rounds=max_rounds, shape=shape, seed=seed, locks=locks)


def _check_cores(cores: object) -> None:
    """Raises ConfigError where cores are no list of cores of this process."""
    example = f"(example: cores=({usable_cores()[-1]},))"
    if not isinstance(cores, Sequence | None):
        raise ConfigError(f"cores={cores!r:.60} is no list of cores {example}")
    strange = next((core for core in cores or () if core not in usable_cores()), None)
    if strange is not None:
        raise ConfigError(f"cores: {strange!r:.60} cannot be used here {example}")
