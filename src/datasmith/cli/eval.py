"""fc-eval: run coding agents on tasks, report on runs, and re-grade them; heavy modules are imported where used."""

import os
import sys
import threading
from contextlib import suppress
from typing import Annotated

import typer

from datasmith.cli.common import run_app, show_version
from datasmith.cli.eval_certify import certify
from datasmith.cli.eval_confirm import confirm
from datasmith.cli.eval_export import export
from datasmith.cli.eval_findings import compare, findings
from datasmith.cli.eval_redteam import redteam
from datasmith.cli.eval_report import regrade, report
from datasmith.cli.eval_run import run
from datasmith.cli.eval_runs import runs
from datasmith.cli.eval_submit import submit
from datasmith.cli.eval_tasks import tasks
from datasmith.cli.options import help_without_command

app = typer.Typer(
    name="fc-eval",
    help="Score coding agents on measured tasks.",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command()(certify)
app.command()(compare)
app.command()(confirm)
app.command()(findings)
app.command()(redteam)
app.command()(export)
app.command()(regrade)
app.command()(report)
app.command()(run)
app.command()(submit)
app.add_typer(runs)
app.add_typer(tasks)


@app.callback(invoke_without_command=True)
def _common(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Score coding agents on measured tasks."""
    help_without_command(context)


def main() -> None:
    """Run fc-eval and exit with its code; an agent of somebody else's that never came back is not waited for.

    Python itself would wait: for the threads of its pools, whatever they were started as.
    """
    code = run_app(app)
    if not _is_held_up():
        sys.exit(code)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


def _is_held_up() -> bool:
    if threading.active_count() == 1:
        return False
    from datasmith.agents.coding.strangers import at_work

    return at_work()


if __name__ == "__main__":
    main()
