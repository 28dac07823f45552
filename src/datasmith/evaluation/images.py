"""The sealed image of a task: the one its record names, or one built again from the task folder."""

from pathlib import Path

from datasmith.docker.engine import ContainerEngine, ImageRef
from datasmith.docker.images import ImageManager, ImagePlan
from datasmith.evaluation.records import RunLock
from datasmith.evaluation.run_folder import RunFolder
from datasmith.evaluation.whole_files import write_record
from datasmith.settings import Settings
from datasmith.tasks.task import Task


def sealed_image(
    engine: ContainerEngine, settings: Settings, task: Task, task_folder: Path, folder: RunFolder
) -> ImageRef:
    """Find the task's image by its digest or build it; run.lock notes its digest, and the task's where they differ.

    Raises:
        BuildFailed: the task folder does not build here.
        EngineUnavailable, IndexUnavailable: the engine is gone, or what the build downloads from is.
    """
    log = folder.root / "trials" / task.task_id / "_arms" / "build.log"
    image = image_of(engine, settings, task, task_folder, log=log)
    with folder.shared():
        lock = folder.read_lock()
        other = {} if image.digest == task.image_digest else {task.task_id: task.image_digest}
        write_record(
            folder.root / "run.lock",
            RunLock(
                tasks=lock.tasks,
                images={**lock.images, task.task_id: image.digest},
                rebuilt={**lock.rebuilt, **other},
            ),
        )
    return image


def image_of(engine: ContainerEngine, settings: Settings, task: Task, task_folder: Path, *, log: Path) -> ImageRef:
    """The task's image, found by its digest or built again.

    Raises:
        BuildFailed: the task folder does not build here.
        EngineUnavailable, IndexUnavailable: the engine is gone, or what the build downloads from is.
    """
    found = engine.inspect(task.image_digest)
    if found is not None:
        return found
    log.parent.mkdir(parents=True, exist_ok=True)
    return build_again(engine, settings, task, task_folder, log=log)


def build_again(engine: ContainerEngine, settings: Settings, task: Task, task_folder: Path, *, log: Path) -> ImageRef:
    """The image that a task folder's environment/ makes.

    Raises:
        BuildFailed: the task folder does not build here.
        EngineUnavailable, IndexUnavailable: the engine is gone, or what the build downloads from is.
    """
    plan = ImagePlan.from_directory(
        task_folder / "environment",
        owner=task.owner,
        repo=task.repo,
        tag=str(task.pr_number),
        python_version=task.build.python_version,
    )
    return ImageManager(engine, namespace=settings.namespace).build(plan, log=log)
