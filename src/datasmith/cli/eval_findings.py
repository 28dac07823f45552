"""fc-eval findings and compare: what several runs say together, and the published figures computed again."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.document import document
from datasmith.cli.eval_options import RUNS, PolicyOption, RunsOption, policy_of
from datasmith.cli.options import Json
from datasmith.errors import ConfigError, TrialError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from datasmith.evaluation.compare import Comparison
    from datasmith.evaluation.run_folder import RunFolder

_First = Annotated[
    str,
    typer.Argument(
        metavar="RUN1[:AGENT]",
        help="A run folder, or the id of a run in --runs-dir; with :AGENT one agent of it, by its name in the report.",
    ),
]
_Second = Annotated[
    str,
    typer.Argument(
        metavar="RUN2[:AGENT]",
        help="What the first is set against, named likewise: differences are the first less this one. Where no agent "
        "is named, each that both runs have is set against itself; of one run, each against each other.",
    ),
]


_OF_RUNS = {"policy": "--policy", "runs_dir": "--runs-dir", "stars": "--stars", "cutoffs": "--cutoffs"}
"""Options of findings that say how runs are read."""


def findings(
    context: typer.Context,
    runs: Annotated[list[str] | None, typer.Argument(metavar="RUN", help="Run folders, or ids of runs.")] = None,
    *,
    policy: PolicyOption = "floor",
    runs_dir: RunsOption = RUNS,
    stars: Annotated[
        Path | None, typer.Option(help="JSON file: stars by owner/repo or by task id, before those in tasks.")
    ] = None,
    cutoffs: Annotated[
        Path | None, typer.Option(help="JSON file: knowledge cutoffs by model; names may be globs.")
    ] = None,
    published: Annotated[
        Path | None, typer.Option(help="Directory of the published files: compute their figures again.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Print the seven analyses of one or more runs; with --published, the published figures beside ours."""
    from datasmith.cli.findings_tables import print_findings
    from datasmith.evaluation.findings import analyse
    from datasmith.evaluation.findings_json import findings_as_json
    from datasmith.evaluation.gather import gather
    from datasmith.evaluation.outside import Cutoffs, read_stars
    from datasmith.evaluation.run_folder import open_run

    if published is not None and not runs:
        _refuse_of_runs(context)
        _show_published(published, json_output)
        return
    if published is not None or not runs:
        what = "run folders and --published exclude each other" if runs else "give run folders, or --published DIR"
        raise ConfigError(f"findings: {what} (example: fc-eval findings runs/my-run)")
    folders = [open_run(runs_dir, run) for run in runs]
    _note_doubts(folders)
    gathered = gather(folders, policy_of(policy))
    found = analyse(gathered, stars=read_stars(stars), cutoffs=Cutoffs(cutoffs))
    if json_output:
        print(document(findings_as_json(found), indent=1))
    else:
        print_findings(found)


def _note_doubts(folders: "Sequence[RunFolder]") -> None:
    """Say beside the tables where tasks may be others of one name."""
    if len({folder.root.resolve() for folder in folders}) > 1:
        for folder in folders:
            if unlocked := folder.unlocked():
                print(f"warning: {folder.root}: {unlocked}; they are taken for the other runs' own", file=sys.stderr)


def _refuse_of_runs(context: typer.Context) -> None:
    """See that no option was given that published figures do not ask for.

    Raises:
        ConfigError: one was.
    """
    for name, option in _OF_RUNS.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            raise ConfigError(
                f"{option} is for runs, and published figures are computed again as they were: give run folders or "
                "leave it out (example: fc-eval findings --published published)"
            )


def _show_published(directory: Path, json_output: bool) -> None:
    from datasmith.cli.findings_tables import print_published
    from datasmith.evaluation.findings_json import published_as_json
    from datasmith.evaluation.published import read_published

    found = read_published(directory)
    if json_output:
        print(document(published_as_json(found), indent=1))
    else:
        print_published(found)
    if found.wrong:
        names = ", ".join(figure.name for figure in found.wrong)
        raise TrialError(f"{len(found.wrong)} of {len(found.figures)} published figures do not agree: {names}")


def compare(
    first: _First,
    second: _Second,
    policy: PolicyOption = "floor",
    runs_dir: RunsOption = RUNS,
    json_output: Json = False,
) -> None:
    """Compare two runs, or two agents, task by task: differences with intervals, wins, ties and losses."""
    from datasmith.cli.findings_tables import print_comparison
    from datasmith.evaluation.compare import compare_sides
    from datasmith.evaluation.findings_json import comparison_as_json

    sides = _side(runs_dir, first), _side(runs_dir, second)
    _note_doubts([folder for folder, _ in sides])
    found = compare_sides(*sides, policy_of(policy))
    if not any(each.tasks for each in found):
        raise TrialError(
            f"{first} and {second} have no task that both were scored at{_left_out(found)}: nothing can be compared "
            f"(example: fc-eval runs status {sides[0][0].root})"
        )
    if json_output:
        print(document([comparison_as_json(each) for each in found], indent=1))
        return
    for each in found:
        print_comparison(each)


def _left_out(found: "Sequence[Comparison]") -> str:
    unlike = {task for each in found for task in each.unlike}
    return f", and {len(unlike)} whose files or measured workloads are not the same in both" if unlike else ""


def _side(runs_dir: Path, text: str) -> "tuple[RunFolder, str]":
    """The run and the agent of RUN or RUN:AGENT; a colon in a folder's own name is part of it where that folder is."""
    from datasmith.evaluation.run_folder import open_run

    run, colon, agent = text.rpartition(":")
    if not colon or (Path(text) / "run.json").is_file():
        return open_run(runs_dir, text), ""
    if not agent:
        raise ConfigError(f"{text!r} names no agent (example: {run}:oracle)")
    return open_run(runs_dir, run), agent
