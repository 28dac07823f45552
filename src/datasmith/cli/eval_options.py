"""Options and arguments that several commands of fc-eval share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.options import EXECUTORS, finite
from datasmith.errors import expect_file, one_of

if TYPE_CHECKING:
    from datasmith.metrics.score import FailurePolicy

DatasetOption = Annotated[
    str,
    typer.Option(
        "--dataset", "-d", help="Directory of tasks, or a name[@YYYY-MM], registered or hf://datasets/OWNER/NAME."
    ),
]
TaskOption = Annotated[
    list[str] | None, typer.Option("--task-id", "-t", help="Id or glob of tasks; may be repeated. Default: all.")
]
RunsOption = Annotated[Path, typer.Option("--runs-dir", help="Where run folders lie.")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run folder, or the id of a run in --runs-dir.")]
PolicyOption = Annotated[str, typer.Option("--policy", help="How failed trials count: floor, baseline or exclude.")]
REGISTRY = Path("datasets.json")


def _registry(path: Path) -> Path:
    """Callback of `--registry`: the default need not be there, a file that is named must."""
    if path != REGISTRY:
        expect_file("--registry", path, str(REGISTRY))
    return path


RegistryOption = Annotated[Path, typer.Option("--registry", callback=_registry, help="JSON file of dataset names.")]
AtOnceOption = Annotated[
    int | None,
    typer.Option(
        "--n-concurrent", min=1, help="Tasks at once. Default: one here, as many as there are slots elsewhere."
    ),
]
ExecutorOption = Annotated[str, typer.Option("--executor", help=f"Where tasks are worked on: {EXECUTORS}.")]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of the rounds' order.")]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        min=0.0,
        callback=finite,
        help="Begin no trial once those whose cost is known have cost so many dollars.",
    ),
]
NoMaxCostOption = Annotated[
    bool, typer.Option("--no-max-cost", help="Without the --max-cost that was last given for this run.")
]
RUNS = Path("runs")


def policy_of(name: str) -> "FailurePolicy":
    """The failure policy of this name.

    Raises:
        ConfigError: there is none.
    """
    from datasmith.metrics.score import POLICIES

    return one_of("--policy", name, POLICIES, "floor")
