"""fc-eval confirm: count the instructions of what a certificate calls changed."""

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.eval_options import REGISTRY, DatasetOption, RegistryOption, TaskOption
from datasmith.cli.options import Engine, Json

if TYPE_CHECKING:
    from datasmith.evaluation.confirm import Confirmed


def confirm(
    *,
    dataset: DatasetOption,
    task_id: TaskOption = None,
    everything: Annotated[bool, typer.Option("--all-workloads", help="Also those that did not change.")] = False,
    engine: Engine = "",
    registry: RegistryOption = REGISTRY,
    json_output: Json = False,
) -> None:
    """Count instructions of base and the expert's patch, beside the certificate's times; nothing is decided by it."""
    from datasmith.cli.trial_progress import TrialBars
    from datasmith.docker.engines import open_engine
    from datasmith.evaluation.confirm import confirm_task
    from datasmith.settings import load_settings
    from datasmith.tasks.dataset import Places, load_dataset

    settings = load_settings(engine=engine)
    opened = open_engine(settings)
    found = load_dataset(dataset, Places.of(settings, registry))
    confirmed: list[Confirmed] = []
    with TrialBars() as bars, tempfile.TemporaryDirectory() as place:
        for task in found.select(tuple(task_id or ())):

            def say(what: str, done: int, total: int | None, name: str = task.task_id) -> None:
                bars.step(name, what, done, total)

            folder, log = found.folders[task.task_id], Path(place) / "build.log"
            confirmed.append(confirm_task(opened, settings, task, folder, log=log, everything=everything, say=say))
    _show(confirmed, json_output)


def _show(confirmed: "list[Confirmed]", json_output: bool) -> None:
    from dataclasses import asdict

    if json_output:
        print(json.dumps([asdict(one) for one in confirmed], indent=1))
        return
    for one in confirmed:
        against = sum(row.disagrees for row in one.rows)
        print(f"{one.task_id}: {len(one.rows)} workloads by {one.counter}, {against} disagree")
        for row in one.rows:
            counted = row.reason if row.instruction_ratio is None else f"{row.instruction_ratio:.3f} by instructions"
            timed = "no time" if row.time_ratio is None else f"{row.time_ratio:.3f} by time"
            print(f"  {row.workload}: {timed}, {counted}{'  DISAGREES' if row.disagrees else ''}")
