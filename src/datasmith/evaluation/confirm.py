"""fc-eval confirm: instruction counts beside the times of a certificate; they are reported, and decide nothing."""

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
from datasmith.workloads.instructions import Confirmation, Counter, confirm, counter_in
from datasmith.workloads.task_arm import scored_workloads, task_arm


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What one task's workloads showed, and by which counter."""

    task_id: str
    counter: Counter
    rows: tuple[Confirmation, ...]


def confirm_task(
    engine: ContainerEngine,
    settings: Settings,
    task: Task,
    folder: Path,
    *,
    log: Path,
    everything: bool,
    say: Callable[[str, int, int | None], None],
) -> Confirmed:
    """Count the workloads that a task's certificate calls changed (with `everything`: all that it timed), once each.

    Raises:
        MeasurementFailed: the task has no certificate, nothing of it changed, or there is no counter in its sandbox.
        ContainerError: the sandboxes failed.
    """
    if task.certificate is None:
        raise MeasurementFailed(f"{task.task_id}: no certificate, so there are no times to confirm (fc-eval certify)")
    expert = task.certificate.expert
    timed = {row.workload: row for row in (expert.valid if everything else expert.changed)}
    if not timed:
        raise MeasurementFailed(f"{task.task_id}: no workload changed by its certificate")
    image = image_of(engine, settings, task, folder, log=log)
    with ExitStack() as stack:
        arms: dict[str, Container] = {}
        workloads: list[Workload] = []
        for name, patch in {BASE: "", EXPERT: task.expert_patch}.items():
            say(f"prepare {name}", 0, None)
            limits = limits_of(settings)
            writable = task_arm(engine, image, task, patch=patch, suite=task.suite_patch, limits=limits)
            with ExitStack() as unprepared:
                unprepared.callback(writable.stop)
                found = workloads or scored_workloads(task, writable)
                workloads = [workload for workload in found if workload.id in timed]
                arms[name] = stack.enter_context(prepare(writable, workloads, task.benchmark_dir))
                unprepared.pop_all()
        return _counted(task, arms, workloads, timed, say)


def _counted(
    task: Task,
    arms: dict[str, Container],
    workloads: list[Workload],
    timed: dict[str, WorkloadRatio],
    say: Callable[[str, int, int | None], None],
) -> Confirmed:
    counter = counter_in(arms[BASE])
    rows = []
    for number, workload in enumerate(workloads):
        say(f"count, {counter}", number, len(workloads))
        rows.append(
            confirm(counter, arms[BASE], arms[EXPERT], workload, timed[workload.id], benchmark_dir=task.benchmark_dir)
        )
    return Confirmed(task.task_id, counter, tuple(rows))
