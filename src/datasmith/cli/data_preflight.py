"""fc-data preflight: what a run needs and does not find here, and what to do about it."""

from pathlib import Path
from typing import Annotated

import typer

from datasmith.cli.document import document
from datasmith.cli.logs import our_redactor
from datasmith.cli.options import DataDir, Engine, Json


def preflight(
    *,
    stage: Annotated[
        list[int] | None, typer.Option("--stage", help="Check only what this stage needs (1-6); repeatable.")
    ] = None,
    forge: Annotated[
        str,
        typer.Option(
            "--forge", help="Where pull requests will come from (default: what the next two imply, else git)."
        ),
    ] = "",
    repo: Annotated[list[str] | None, typer.Option("--repo", help="As the run will get it; repeatable.")] = None,
    offline_source: Annotated[
        list[Path] | None, typer.Option("--offline-source", help="As the run will get it; repeatable.")
    ] = None,
    engine: Engine = "",
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Check settings, store, engine, disks, programs and accounts; exits with 1 where something is missing."""
    from datasmith.github.forges import Sources
    from datasmith.preflight.checks import look

    sources = Sources.read(forge or ("" if repo or offline_source else "git"), repo or (), offline_source or ())
    found = look(stages=tuple(stage or ()), forge=sources.forge, data_dir=data_dir, engine=engine, sources=sources)
    clean = our_redactor()
    print(document({"ok": not found.failed, "checks": found.rows(clean)}) if as_json else found.text(clean))
    if found.rc:
        raise typer.Exit(found.rc)
