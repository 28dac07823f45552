"""fc-eval submit: a run as one file for a leaderboard, and the check that a board makes of it."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.document import document
from datasmith.cli.eval_options import REGISTRY, RUNS, RegistryOption, RunsOption
from datasmith.cli.options import Json
from datasmith.counted import counted
from datasmith.errors import ConfigError, TrialError, expect_file

if TYPE_CHECKING:
    from datasmith.evaluation.submission import Checked

_Run = Annotated[str, typer.Argument(metavar="RUN", help="A run folder, or the id of a run in --runs-dir.")]
_To = Annotated[
    Path | None, typer.Option("--to", metavar="FILE", help="The file to write; default: RUN.submission.tar.gz.")
]
_Check = Annotated[Path | None, typer.Option("--check", help="Check this submission instead; writes nothing.")]
_Dataset = Annotated[str, typer.Option("--dataset", "-d", help="With --check: whose tasks it must have.")]


def submit(
    run: _Run = "",
    *,
    to: _To = None,
    check: _Check = None,
    dataset: _Dataset = "",
    runs_dir: RunsOption = RUNS,
    registry: RegistryOption = REGISTRY,
    json_output: Json = False,
) -> None:
    """Pack a complete run into one file: configuration, patches, logs, tests and every launch; nothing is sent.

    It is graded again from its raw files before, and searched for secrets. --check does the same with a file of
    somebody else.
    """
    _refuse_what_does_not_go_together(run, to, check, dataset)
    found = _checked(check, dataset, registry) if check is not None else _written(run, to, runs_dir, json_output)
    if json_output:
        print(document(_as_json(found), indent=1))
    else:
        config = found.state.run.config
        print(
            f"{found.state.run.run_id}: {counted(found.state.n_complete, 'trial')} of {', '.join(config.labels)} at "
            f"{counted(len(config.task_ids), 'task')} of {config.dataset} ({config.release}); sha256 {found.digest}"
            f"{'' if found.problems else '; in order: every record follows from its raw files'}"
        )
    if found.problems:
        raise TrialError(f"not acceptable: {'; '.join(found.problems)}")


def _refuse_what_does_not_go_together(run: str, to: Path | None, check: Path | None, dataset: str) -> None:
    """To pack a run and to check a file are two things; nothing that is given is left unused."""
    if check is None and not run:
        raise ConfigError("submit: give a RUN to pack, or --check FILE (example: fc-eval submit my-run)")
    if check is not None and run:
        raise ConfigError(
            f"submit: RUN {run} is to be packed, and --check {check} is to be checked: these are two commands "
            f"(example: fc-eval submit --check {check})"
        )
    if check is not None and to is not None:
        raise ConfigError(f"--to {to}: with --check nothing is written (example: fc-eval submit --check {check})")
    if check is None and dataset:
        file = f"{Path(run).name}.submission.tar.gz"
        raise ConfigError(
            f"--dataset {dataset}: a run is packed without it, a file is checked with it "
            f"(example: fc-eval submit --check {file} --dataset {dataset})"
        )


def _written(run: str, to: Path | None, runs_dir: Path, json_output: bool) -> "Checked":
    from datasmith.evaluation.run_folder import open_run
    from datasmith.evaluation.submission import write_submission

    folder = open_run(runs_dir, run)
    target = to or Path(f"{folder.root.resolve().name}.submission.tar.gz")
    with folder.alone():
        found = write_submission(folder, target)
    if not json_output:
        check = f"fc-eval submit --check {shlex.quote(str(target))}"
        print(f"{target}: hand it in as it is; check it with: {check}", file=sys.stderr)
    return found


def _checked(file: Path, dataset: str, registry: Path) -> "Checked":
    from datasmith.evaluation.submission import check_submission
    from datasmith.settings import load_settings
    from datasmith.tasks.dataset import Places, load_dataset

    expect_file("--check", file, "my-run.submission.tar.gz", "a submission")
    tasks = load_dataset(dataset, Places.of(load_settings(), registry)) if dataset else None
    return check_submission(file, tasks)


def _as_json(found: "Checked") -> dict[str, object]:
    config = found.state.run.config
    agents = [
        {"label": label, "agent": entry.short_name, "model": entry.model, "config_id": entry.config_id(number)}
        for number, (label, entry) in enumerate(zip(config.labels, config.agents, strict=True), 1)
    ]
    return {
        "run_id": found.state.run.run_id,
        "dataset": config.dataset,
        "release": config.release,
        "agents": agents,
        "n_trials": found.state.n_complete,
        "counts": dict(found.state.counts),
        "sha256": found.digest,
        "problems": list(found.problems),
    }
