"""fc-eval confirm: other channels than a certificate's own, on what it calls changed."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.document import document
from datasmith.cli.eval_options import REGISTRY, DatasetOption, RegistryOption, TaskOption
from datasmith.cli.options import Engine, Json
from datasmith.counted import counted

if TYPE_CHECKING:
    from datasmith.evaluation.confirm import Confirmation, Confirmed


def confirm(
    *,
    dataset: DatasetOption,
    task_id: TaskOption = None,
    everything: Annotated[bool, typer.Option("--all-workloads", help="Also those that did not change.")] = False,
    engine: Engine = "",
    registry: RegistryOption = REGISTRY,
    json_output: Json = False,
) -> None:
    """Time the fastest calls and count instructions of base and expert, beside the certificate; it decides nothing."""
    from datasmith.cli.trial_progress import TrialBars
    from datasmith.docker.engines import open_engine
    from datasmith.evaluation.confirm import Confirmer
    from datasmith.evaluation.placing import own_core
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
            with own_core(settings, lambda what: say(what, 0, None)) as cores:
                confirmer = Confirmer(opened, settings, cores[0], say)
                confirmed.append(confirmer.confirm(task, folder, log=log, everything=everything))
    show(confirmed, json_output=json_output)


def show(confirmed: "list[Confirmed]", *, json_output: bool) -> None:
    """Print what was confirmed, a line per workload."""
    from dataclasses import asdict

    if json_output:
        print(document([asdict(one) for one in confirmed], indent=1))
        return
    for one in confirmed:
        against = sum(row.disagrees for row in one.rows)
        by = f"fastest samples and {one.counter}" if one.counter else "fastest samples"
        print(f"{one.task_id}: {counted(len(one.rows), 'workload')} by {by}, {against} disagree{_slower(one)}")
        if one.no_counter:
            print(f"  {one.no_counter}")
        for row in one.rows:
            print(f"  {row.workload}: {_told(row, one.counter)}{_marks(row)}")


def _slower(one: "Confirmed") -> str:
    number = sum(row.slower for row in one.rows)
    return f"; the expert's patch makes {number} of them slower" if number else ""


def _marks(row: "Confirmation") -> str:
    return ("  SLOWER" if row.slower else "") + ("  DISAGREES" if row.disagrees else "")


def _told(row: "Confirmation", counter: str | None) -> str:
    timed = "no time" if row.time_ratio is None else f"{row.time_ratio:.3f} by the certificate"
    quick, work = row.fastest, row.counted
    calls = f"no fastest samples ({quick.reason})"
    if quick.ratio is not None:
        calls = f"{quick.ratio:.3f} [{quick.low:.3f}, {quick.high:.3f}] by the fastest samples"
    said = [timed, calls]
    if work.ratio is not None:
        said.append(f"{work.ratio:.3f} by instructions")
    elif counter:
        said.append(f"no instructions ({work.reason})")
    return ", ".join(said)
