"""fc-eval certify: is the expert's patch of a task measurably faster on this machine, too."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.document import document
from datasmith.cli.eval_options import REGISTRY, RegistryOption, SeedOption
from datasmith.cli.options import Engine, Json, MaxRounds, Precise, the_task
from datasmith.errors import ConfigError, InvalidTask

if TYPE_CHECKING:
    from datasmith.tasks.certificate import Certificate

_Tasks = Annotated[
    list[str], typer.Argument(metavar="TASK", help="Task folders; with --dataset also ids and globs of its tasks.")
]
_Dataset = Annotated[str, typer.Option("--dataset", "-d", help="Directory of tasks, or its registered name.")]


def certify(
    task: _Tasks,
    *,
    dataset: _Dataset = "",
    engine: Engine = "",
    precise: Precise = False,
    max_rounds: MaxRounds = None,
    seed: SeedOption = 0,
    registry: RegistryOption = REGISTRY,
    json_output: Json = False,
) -> None:
    """Measure base and the expert's patch, and keep the certificate beside those of other machines in the task folder.

    The exit code is that of an invalid task where a task is not valid on all machines.
    """
    from datetime import UTC, datetime

    from datasmith.cli.trial_progress import TrialBars
    from datasmith.docker.engines import open_engine
    from datasmith.evaluation.certify import Certifier
    from datasmith.evaluation.placing import own_core
    from datasmith.settings import load_settings
    from datasmith.tasks.certificates import add_certificate
    from datasmith.tasks.folder import read_task
    from datasmith.workloads.plan import MeasurePlan

    settings = load_settings(engine=engine)
    folders = _folders(task, dataset, registry)
    plan = MeasurePlan(seed=seed).precise() if precise else MeasurePlan(seed=seed)
    plan = plan.at_most(max_rounds) if max_rounds else plan
    tasks = [(folder, read_task(folder)) for folder in folders]
    for _, one in tasks:
        plan.check(len(one.workloads))  # what the task says is known before its image is built
    opened = open_engine(settings)
    found: list[tuple[Certificate, Certificate]] = []
    with TrialBars() as bars:
        for folder, one in tasks:

            def say(what: str, done: int, total: int | None, name: str = one.task_id) -> None:
                bars.step(name, what, done, total)

            log = settings.data_dir / "logs" / f"{one.task_id}.build.log"
            with own_core(settings, lambda what: say(what, 0, None)) as cores:
                certifier = Certifier(opened, settings, plan, cores[0], lambda: datetime.now(UTC), say)
                issued = certifier.certify(one, folder, log=log)
            found.append((issued, add_certificate(folder, issued)))
            bars.leave(one.task_id)
    _show(found, json_output)
    broken = [f"{whole.task_id}: {whole.status}: {whole.reason}" for _, whole in found if whole.status != "valid"]
    if broken:
        raise InvalidTask(broken)


def _folders(words: list[str], dataset: str, registry: Path) -> list[Path]:
    """The folders that are meant, each once."""
    from datasmith.settings import load_settings
    from datasmith.tasks.dataset import LOCAL, Places, load_dataset

    patterns = [word for word in words if dataset and not Path(word, "task.toml").is_file()]
    folders = [the_task("TASK", Path(word)) for word in words if word not in patterns]
    if patterns:
        opened = load_dataset(dataset, Places.of(load_settings(), registry))
        if opened.release != LOCAL:
            raise ConfigError(
                f"--dataset {dataset}: a release is not changed any more (example: --dataset work/dataset/tasks)"
            )
        folders += [opened.folders[one.task_id] for one in opened.select(patterns, said="TASK")]
    return list(dict.fromkeys(folder.resolve() for folder in folders))


def _show(found: "list[tuple[Certificate, Certificate]]", json_output: bool) -> None:
    if json_output:
        rows = [
            {"here": here.model_dump(mode="json"), "merged": whole.model_dump(mode="json")} for here, whole in found
        ]
        print(document(rows, indent=1))
        return
    for here, whole in found:
        print(f"{here.task_id}\t{here.status} here: {here.reason}\t{whole.status}: {whole.reason}")
