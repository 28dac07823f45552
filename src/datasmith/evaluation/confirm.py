"""fc-eval confirm: two other channels beside the times of a certificate; they are reported, and decide nothing."""

import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from datasmith.docker.engine import Container, ContainerEngine
from datasmith.docker.engines import limits_of
from datasmith.errors import MeasurementFailed
from datasmith.evaluation.images import image_of
from datasmith.settings import Settings
from datasmith.tasks.certificate import WorkloadRatio
from datasmith.tasks.task import Task
from datasmith.workloads.arms import prepare
from datasmith.workloads.base import BASE, EXPERT, Workload
from datasmith.workloads.fastest import Fastest, fastest
from datasmith.workloads.instructions import FLOOR, Counted, Counter, counted, counter_in
from datasmith.workloads.summary import LEAST_FLOOR
from datasmith.workloads.task_arm import scored_workloads, task_arm


@dataclass(frozen=True, slots=True)
class Confirmation:
    """One workload's ratio base / expert by the certificate, by its fastest samples, and by instructions per call."""

    workload: str
    time_ratio: float | None
    disagrees: bool
    fastest: Fastest
    counted: Counted
    slower: bool = False
    """The certificate says that the expert's patch makes it slower."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What one task's workloads showed, and by which counter (None: there is none, `no_counter` says why)."""

    task_id: str
    counter: Counter | None
    no_counter: str | None
    rows: tuple[Confirmation, ...]


@dataclass(frozen=True, slots=True)
class Confirmer:
    """Asks both channels about tasks. `core` is where everything runs; `say` is told what happens."""

    engine: ContainerEngine
    settings: Settings
    core: int
    say: Callable[[str, int, int | None], None]

    def confirm(self, task: Task, folder: Path, *, log: Path, everything: bool) -> Confirmed:
        """Look at the workloads that a task's certificate calls changed (with `everything`: at all that it timed).

        Raises:
            MeasurementFailed: the task has no certificate, or nothing of it changed.
            ContainerError: the sandboxes failed.
        """
        timed = _timed(task, everything=everything)
        image = image_of(self.engine, self.settings, task, folder, log=log)
        limits = limits_of(self.settings, (self.core,))
        with ExitStack() as stack:
            arms: dict[str, Container] = {}
            workloads: list[Workload] = []
            for name, patch in {BASE: "", EXPERT: task.expert_patch}.items():
                self.say(f"prepare {name}", 0, None)
                arm = task_arm(self.engine, image, task, patch=patch, suite=task.suite_patch, limits=limits)
                writable = stack.enter_context(arm)
                found = workloads or scored_workloads(task, writable)
                workloads = [workload for workload in found if workload.id in timed]
                arms[name] = stack.enter_context(prepare(writable, workloads, task.benchmark_dir))
            return self._seen(task, arms, workloads, timed)

    def _seen(
        self, task: Task, arms: dict[str, Container], workloads: list[Workload], timed: dict[str, WorkloadRatio]
    ) -> Confirmed:
        counter, no_counter = _counter(arms[BASE])
        rows = []
        for number, workload in enumerate(workloads):
            row = timed[workload.id]
            two, where = (arms[BASE], arms[EXPERT], workload), task.benchmark_dir
            self.say("fastest samples", number, len(workloads))
            quick = fastest(*two, benchmark_dir=where, cpu=self.core)
            work = Counted(workload.id, None, no_counter)
            if counter:
                self.say(f"count, {counter}", number, len(workloads))
                work = counted(counter, *two, row.base_s, benchmark_dir=where)
            rows.append(Confirmation(workload.id, row.ratio, disagree(row, quick, work), quick, work, slower(row)))
        return Confirmed(task.task_id, counter, no_counter, tuple(rows))


def disagree(timed: WorkloadRatio, quick: Fastest, work: Counted) -> bool:
    """True where the certificate and a channel say opposite things, both beyond their noise."""
    if timed.ratio is None or not timed.changed:
        return False
    seconds = math.log(timed.ratio)
    if abs(seconds) <= (timed.floor if timed.floor is not None else LEAST_FLOOR):
        return False
    instructions = math.log(work.ratio) if work.ratio else 0.0
    calls = math.log(quick.ratio) if quick.ratio and quick.changed else 0.0
    return (abs(instructions) > FLOOR and seconds * instructions < 0) or seconds * calls < 0


def slower(timed: WorkloadRatio) -> bool:
    """True where the expert's patch was seen to take more time than base."""
    return timed.changed and timed.ratio is not None and timed.ratio < 1.0


def _timed(task: Task, *, everything: bool) -> dict[str, WorkloadRatio]:
    if task.certificate is None:
        raise MeasurementFailed(f"{task.task_id}: no certificate, so there are no times to confirm (fc-eval certify)")
    expert = task.certificate.expert
    timed = {row.workload: row for row in (expert.valid if everything else expert.changed)}
    if not timed:
        raise MeasurementFailed(f"{task.task_id}: no workload changed by its certificate")
    return timed


def _counter(container: Container) -> tuple[Counter | None, str | None]:
    """A counter that works in the sandbox, or why there is none."""
    try:
        return counter_in(container), None
    except MeasurementFailed as error:
        return None, str(error)
