"""fc-eval export: task folders for other harnesses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.document import document
from datasmith.cli.eval_options import REGISTRY, RegistryOption
from datasmith.cli.options import Json
from datasmith.errors import ConfigError

if TYPE_CHECKING:
    from datasmith.evaluation.export import Harness


def export(
    tasks: Annotated[list[str], typer.Argument(metavar="TASK", help="Task folders, or directories of them.")],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the new folders go.")],
    harbor: Annotated[bool, typer.Option("--harbor", help="As Harbor reads them.")] = False,
    terminal_bench: Annotated[bool, typer.Option("--terminal-bench", help="As terminal-bench reads them.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace folders that are there already.")] = False,
    registry: RegistryOption = REGISTRY,
    json_output: Json = False,
) -> None:
    """Write task folders in the form of another harness; prints the new folders."""
    from datasmith.evaluation.export import export_tasks, folders_of
    from datasmith.settings import load_settings
    from datasmith.tasks.dataset import Places

    chosen = _harness(harbor, terminal_bench)
    folders = folders_of(tasks, Places.of(load_settings(), registry))
    written = [str(folder) for folder in export_tasks(folders, output, chosen, force=force)]
    if json_output:
        print(document({"harness": chosen, "folders": written}, indent=1))
    else:
        print(*written, sep="\n")


def _harness(harbor: bool, terminal_bench: bool) -> "Harness":
    if harbor and terminal_bench:
        raise ConfigError("--harbor: --terminal-bench is given, too: these are two commands (example: --harbor)")
    if not harbor and not terminal_bench:
        raise ConfigError("export: --harbor or --terminal-bench is needed (example: --harbor)")
    return "harbor" if harbor else "terminal-bench"
