"""fc-eval redteam: attack a task's grading with patches that must not score, and print what became of each."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.document import document
from datasmith.cli.eval_options import SeedOption
from datasmith.cli.options import MOST_ROUNDS, Engine, Json, the_task
from datasmith.errors import ConfigError, MeasurementFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from datasmith.evaluation.redteam.attack import Attack
    from datasmith.evaluation.redteam.session import Siege, Terms
    from datasmith.settings import Settings
    from datasmith.tasks.task import Task


def redteam(
    task: Annotated[Path, typer.Argument(metavar="TASK", help="A task folder.")],
    *,
    attack: Annotated[
        list[str] | None, typer.Option("--attack", help="Name or glob of attacks; may be repeated. Default: all.")
    ] = None,
    patches: Annotated[
        Path | None, typer.Option("--patches", help="Directory of .patch files with attacks of your own.")
    ] = None,
    workload: Annotated[
        list[str] | None, typer.Option("--workload", help="Id or glob of the workloads to attack. Default: one.")
    ] = None,
    max_rounds: Annotated[
        int,
        typer.Option(
            min=6,
            max=MOST_ROUNDS,
            help="At most this many rounds per workload; two and three times as many for what they leave open.",
        ),
    ] = 6,
    seed: SeedOption = 0,
    past_policy: Annotated[
        bool, typer.Option("--past-policy", help="Also run what the policy refuses, to see what would hold it then.")
    ] = False,
    pin: Annotated[
        bool, typer.Option("--pin/--no-pin", help="Pin launches to a core and drop those that others disturbed.")
    ] = True,
    engine: Engine = "",
    json_output: Json = False,
) -> None:
    """Attack a task's grading; exits with 1 where one scores above doing nothing, 35 where none could tell.

    Beside them the expert's patch is handed in as another's: where it is not measured, or refuted, that is 1, too.
    """
    from datasmith.cli.logs import set_up_logging
    from datasmith.evaluation.redteam.session import Terms
    from datasmith.settings import load_settings
    from datasmith.tasks.folder import read_task

    task = the_task("TASK", task)
    settings = load_settings(engine=engine)
    set_up_logging(settings.log_level)
    found = read_task(task)
    chosen = _chosen(found, task, patches, attack or [])
    narrowed = found.model_copy(update={"workloads": _workloads(found, workload or [])})
    siege = _besieged(narrowed, task, chosen, settings, Terms(max_rounds, seed, past_policy, pin))
    if json_output:
        from datasmith.evaluation.redteam.table import as_json

        print(document(as_json(siege), indent=1))
    else:
        from datasmith.cli.redteam_table import print_siege

        print_siege(siege)
    if siege.got_through or siege.alarms:
        raise typer.Exit(1)
    if siege.undecided:
        names = ", ".join(ended.attack.name for ended in siege.undecided)
        more = min(2 * max_rounds, MOST_ROUNDS)
        raise MeasurementFailed(f"the machine is too noisy to tell of {names} (example: --max-rounds {more})")


def _chosen(task: "Task", folder: Path, patches: Path | None, wanted: "Sequence[str]") -> "tuple[Attack, ...]":
    """The control, where there can be one, and the attacks that are wanted."""
    import fnmatch

    from datasmith.evaluation.outcome import named
    from datasmith.evaluation.redteam.attack import experts, read_patches, without_doubles
    from datasmith.evaluation.redteam.generic import generic_attacks
    from datasmith.evaluation.redteam.tree import Tree
    from datasmith.misfits import nearest

    own = read_patches(patches) if patches else ()
    everything = without_doubles([*generic_attacks(Tree.of_task(task, folder)), *own])
    patterns = wanted or ["*"]
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(attack.name, pattern) for attack in everything):
            names = [attack.name for attack in everything]
            like = nearest(pattern, names)
            meant = f"did you mean {like!r}?" if like else f"example: --attack {names[0]}"
            raise ConfigError(f"--attack {pattern!r}: no attack has this name ({meant}; there are {named(names)})")
    asked = [one for one in everything if any(fnmatch.fnmatchcase(one.name, pattern) for pattern in patterns)]
    control = experts(task.expert_patch)
    return (control, *asked) if control else tuple(asked)


def _workloads(task: "Task", wanted: "Sequence[str]") -> tuple[str, ...]:
    """Those named; else the one that the expert's patch makes fastest, as its certificate says, or the first."""
    import fnmatch

    if wanted:
        found = tuple(name for name in task.workloads if any(fnmatch.fnmatchcase(name, glob) for glob in wanted))
        if not found:
            raise ConfigError(f"--workload {wanted[0]!r}: the task has no such workload (example: --workload '*')")
        return found
    rows = task.certificate.expert.valid if task.certificate else ()
    best = max(rows, key=lambda row: row.ratio or 0.0, default=None)
    return (best.workload if best else task.workloads[0],)


def _besieged(task: "Task", folder: Path, attacks: "Sequence[Attack]", settings: "Settings", terms: "Terms") -> "Siege":
    import tempfile
    import time
    from contextlib import nullcontext

    from datasmith.docker.engines import limits_of, open_engine
    from datasmith.evaluation.images import build_again
    from datasmith.evaluation.placing import own_core
    from datasmith.evaluation.redteam.session import besiege

    opened = open_engine(settings)
    with tempfile.TemporaryDirectory(prefix="fc-redteam-") as logs:
        image = opened.inspect(task.image_digest)
        image = image or build_again(opened, settings, task, folder, log=Path(logs) / "build.log")

    def say(what: str, done: int = 0, total: int | None = None) -> None:
        print(f"{what}" + (f" ({done}/{total})" if total else ""), file=sys.stderr)

    with own_core(settings, say) if terms.pin else nullcontext(()) as cores:
        return besiege(
            opened,
            image,
            task,
            attacks,
            terms=terms,
            limits=limits_of(settings, cores[:1]),
            say=say,
            now=time.monotonic,
        )
