"""fc-eval report and regrade: what a run's files say."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.document import document
from datasmith.cli.eval_options import RUNS, PolicyOption, RunArgument, RunsOption, policy_of
from datasmith.cli.options import Json
from datasmith.counted import counted
from datasmith.errors import ConfigError, StoreUnavailable, said_by

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from datasmith.metrics.score import FailurePolicy


def report(
    run: RunArgument,
    policy: PolicyOption = "floor",
    runs_dir: RunsOption = RUNS,
    *,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="PAGE",
            help="Where the page goes, in the place of an earlier one. Default: the run's folder.",
        ),
    ] = None,
    compat: Annotated[
        bool, typer.Option("--compat", help="Also print the run by the reference's definitions.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Print a run's tables and write its HTML page."""
    from datasmith.evaluation.run_folder import open_run

    root = open_run(runs_dir, run).root
    if to is not None:
        _refuse_what_is_no_page(to, root)
    show_report(root, policy_of(policy), json_output, page=to, compat=compat)


def regrade(
    run: RunArgument, policy: PolicyOption = "floor", runs_dir: RunsOption = RUNS, json_output: Json = False
) -> None:
    """Compute outcomes and scores anew from a run's raw files; nothing is run."""
    from datasmith.evaluation.regrade import regrade_run
    from datasmith.evaluation.run_folder import open_run

    folder = open_run(runs_dir, run)
    chosen = policy_of(policy)
    with folder.alone():
        changed = regrade_run(folder)
    print(f"{counted(len(changed), 'trial')} changed", *changed, sep="\n  ", file=sys.stderr)
    show_report(folder.root, chosen, json_output, more={"changed": list(changed)})


def show_report(
    root: Path,
    policy: "FailurePolicy",
    json_output: bool,
    *,
    page: Path | None = None,
    compat: bool = False,
    more: "Mapping[str, JsonValue] | None" = None,
) -> None:
    """Print a run's tables, or the same as JSON with `more` in it, and write its HTML page.

    page: where, instead of in the run's folder. `compat` adds the reference's definitions.

    Raises:
        StoreUnavailable: the page cannot be written, as in a run of somebody else's; all else was printed.
    """
    from datetime import UTC, datetime

    from datasmith.cli.tables import print_reference, print_report
    from datasmith.evaluation.html import render
    from datasmith.evaluation.reference import reference_as_json, reference_report
    from datasmith.evaluation.report import build_report
    from datasmith.evaluation.run_folder import open_run
    from datasmith.evaluation.summary import as_json

    folder = open_run(root.parent, str(root))
    run_record = folder.read_run()
    if run_record is None:
        raise ConfigError(f"RUN {root}: no run.json there (example: fc-eval report runs/my-run)")
    found = build_report(folder, run_record, policy)
    target = page or folder.report
    advice = "" if page else f" (example: fc-eval report {root} --to report.html)"
    unwritten = _not_written(target, render(found, datetime.now(UTC)), advice)
    written = None if unwritten else target
    reference = reference_report(folder, found) if compat else ()
    if json_output:
        added = {"compat": reference_as_json(reference)} if compat else {}
        print(document(as_json(found, written) | added | dict(more or {}), indent=1))
    else:
        print_report(found, written)
        if compat:
            print_reference(reference)
    if unwritten:
        raise unwritten


def _refuse_what_is_no_page(to: Path, root: Path) -> None:
    """An earlier page is replaced, and nothing else; of the run's own files none but its page."""
    from datasmith.evaluation.html import is_page

    example = "(example: --to report.html)"
    try:
        if to.exists() and not to.is_file():
            raise ConfigError(f"--to {to}: is {'a directory' if to.is_dir() else 'no plain file'} {example}")
        if to.is_file() and not is_page(to):
            raise ConfigError(f"--to {to}: is there already, and is no page of a run {example}")
        inside = to.resolve()
    except (OSError, RuntimeError) as error:
        raise ConfigError(f"--to {to}: cannot be written: {said_by(error)} {example}") from error
    if inside.is_relative_to(root.resolve()) and inside != (root / "report.html").resolve():
        raise ConfigError(f"--to {to}: lies in the run's own folder {example}")


def _not_written(page: Path, text: str, advice: str) -> StoreUnavailable | None:
    """Why the page could not be written; None where it was."""
    from datasmith.evaluation.whole_files import write_text

    try:
        write_text(page, text)
    except StoreUnavailable as error:
        return StoreUnavailable(f"{error}{advice}")
    return None
