"""fc-data seal-check: is an image, or the image of a task, sealed against the fix; and what was looked at."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.document import document
from datasmith.cli.options import DataDir, Engine, Json, only_task
from datasmith.errors import ConfigError
from datasmith.printable import one_line

if TYPE_CHECKING:
    from datasmith.docker.engine import ContainerEngine, ImageRef
    from datasmith.docker.seal import SealReport
    from datasmith.settings import Settings
    from datasmith.tasks.task import Task


def seal_check(
    what: Annotated[str, typer.Argument(metavar="IMAGE|TASK", help="A task folder, or the name of an image.")],
    engine: Engine = "",
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Look in an image for every way to the fix; exits with 1 where there is one.

    Of an image alone the fix is not known: a full check needs the task folder.
    """
    from datasmith.docker.engines import open_engine
    from datasmith.settings import load_settings

    settings = load_settings(data_dir=data_dir, engine=engine)
    opened = open_engine(settings)
    folder = only_task("IMAGE|TASK", Path(what))
    fix_known = folder is not None
    image, report = _image(opened, what) if folder is None else _task(opened, settings, folder)
    if as_json:
        known = {"solution": "known" if fix_known else "not known", "not_looked_for": report.unknown}
        found = {"image": image.name, "digest": image.digest, "sealed": report.sealed}
        print(document({**found, **known, "looked_at": report.looked_at, "problems": report.problems}))
    else:
        print(f"{image.name} ({image.digest})")
        for line in report.looked_at:
            print(f"  looked at {line}")
        for line in report.problems:
            print(f"  LEAK {one_line(line)}")
        for line in report.unknown:
            print(f"  not looked for: {one_line(line)}")
        print(_LAST_LINE[report.sealed] if fix_known or report.problems else _UNKNOWN_FIX)
    if report.problems:
        raise typer.Exit(1)


_LAST_LINE = {
    True: "sealed: nothing found",
    False: "not sealed",
    None: "nothing found of what could be looked for",
}
_UNKNOWN_FIX = (
    "nothing found of what can be recognised without the fix; this does not say that the solution is absent"
    " (example: fc-data seal-check work/dataset/tasks/shapely_shapely_2283)"
)


def _task(engine: "ContainerEngine", settings: "Settings", folder: Path) -> "tuple[ImageRef, SealReport]":
    from datasmith.docker import seal
    from datasmith.evaluation.images import image_of
    from datasmith.tasks.folder import read_task
    from datasmith.tasks.telltale import fix_of

    task = read_task(folder)
    log = settings.data_dir / "logs" / f"{task.task_id}.build.log"
    image = image_of(engine, settings, task, folder, log=log)
    fix = fix_of(task.expert_patch, {task.merge_commit})
    with engine.start(image) as container:
        return image, seal.check(container, fix=fix, import_names=_import_names(task), below=engine.below(image))


def _image(engine: "ContainerEngine", name: str) -> "tuple[ImageRef, SealReport]":
    from datasmith.docker import seal

    image = engine.inspect(name)
    if image is None:
        raise ConfigError(
            f"IMAGE|TASK {name}: is no task folder, and {engine.name} holds no such image"
            " (example: fc-data seal-check work/dataset/tasks/shapely_shapely_2283)"
        )
    with engine.start(image) as container:
        return image, seal.check(container, below=engine.below(image))


def _import_names(task: "Task") -> list[str]:
    return task.build.build_args.get("FC_IMPORT_NAMES", "").split()
