"""The arms and the workloads of a task, as its folder describes them."""

from datasmith.docker.engine import Container, ContainerEngine, ImageRef, Limits
from datasmith.errors import MeasurementFailed
from datasmith.tasks.folder import REBUILD_TIMEOUT_S
from datasmith.tasks.task import Task
from datasmith.workloads.arms import start_arm
from datasmith.workloads.base import SCORED_KINDS, Workload
from datasmith.workloads.discover import discover


def task_arm(
    engine: ContainerEngine,
    image: ImageRef,
    task: Task,
    *,
    patch: str,
    suite: str = "",
    limits: Limits | None,
    timeout: float = REBUILD_TIMEOUT_S,
) -> Container:
    """Start a writable container of a task's image with a patch applied, and built where that is needed.

    `suite`: the git diff of benchmarks that are not base's own. `timeout` holds for applying and for building, each.
    See `start_arm` for what it raises.
    """
    return start_arm(
        engine,
        image,
        patch=patch,
        rebuild_script=task.build.files.get("docker_build_pkg.sh") if task.compiled else None,
        build_args=task.build.build_args,
        limits=limits,
        timeout=timeout,
        suite=suite,
    )


def scored_workloads(task: Task, base: Container) -> list[Workload]:
    """The task's workloads as base has them.

    Raises:
        MeasurementFailed: there is none.
    """
    found = discover(base, task.benchmark_dir, default_timeout_s=task.benchmark_timeout_s).workloads
    kept = [workload for workload in found if workload.id in task.workloads and workload.kind in SCORED_KINDS]
    if not kept:
        raise MeasurementFailed(f"{task.task_id}: none of its workloads is found at base")
    return kept
