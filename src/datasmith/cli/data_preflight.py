"""fc-data preflight: what a run needs and does not find here, and what to do about it."""

import json
from typing import Annotated

import typer

from datasmith.cli.logs import our_redactor
from datasmith.cli.options import DataDir, Json


def preflight(
    stage: Annotated[
        list[int] | None, typer.Option("--stage", help="Check only what this stage needs (1-6); repeatable.")
    ] = None,
    forge: Annotated[str, typer.Option("--forge", help="Where pull requests will come from.")] = "git",
    engine: Annotated[str, typer.Option("--engine", help="auto, docker, podman or bubblewrap (default: auto).")] = "",
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Check settings, store, engine, disks, programs and accounts; exits with 1 where something is missing."""
    from datasmith.preflight.checks import look

    found = look(stages=tuple(stage or ()), forge=forge, data_dir=data_dir, engine=engine)
    clean = our_redactor()
    print(json.dumps({"ok": not found.failed, "checks": found.rows(clean)}) if as_json else found.text(clean))
    if found.rc:
        raise typer.Exit(found.rc)
