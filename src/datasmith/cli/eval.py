"""fc-eval: run coding agents on tasks, report on runs, and re-grade them; heavy modules are imported where used."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.common import run_app, show_version
from datasmith.cli.logs import set_up_logging
from datasmith.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from datasmith.metrics.score import FailurePolicy
    from datasmith.tasks.task import Task

app = typer.Typer(
    name="fc-eval",
    help="Score coding agents on measured tasks.",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
tasks_app = typer.Typer(help="Look at task folders.")
app.add_typer(tasks_app, name="tasks")

DatasetOption = Annotated[str, typer.Option("--dataset", "-d", help="Directory of task folders, or a registered name.")]
TaskOption = Annotated[
    list[str] | None, typer.Option("--task-id", "-t", help="Id or glob of tasks; may be repeated. Default: all.")
]
RunsOption = Annotated[Path, typer.Option("--runs-dir", help="Where run folders lie.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run folder, or the id of a run in --runs-dir.")]
PolicyOption = Annotated[str, typer.Option("--policy", help="How failed trials count: floor, baseline or exclude.")]
RegistryOption = Annotated[Path, typer.Option("--registry", help="JSON file of dataset names.")]
RUNS = Path("runs")
REGISTRY = Path("datasets.json")


@app.callback(invoke_without_command=True)
def _common(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Score coding agents on measured tasks."""
    _help_without_command(context)


@tasks_app.callback(invoke_without_command=True)
def _tasks(context: typer.Context) -> None:
    """Look at task folders."""
    _help_without_command(context)


def _help_without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(ConfigError.exit_code)


@app.command()
def run(
    *,
    dataset: DatasetOption,
    config: Annotated[Path, typer.Option("--config", "-c", help="JSON list of agents.")],
    task_id: TaskOption = None,
    runs_dir: RunsOption = RUNS,
    run_id: Annotated[str, typer.Option(help="Name of the run; the default follows from its configuration.")] = "",
    n_attempts: Annotated[int, typer.Option(min=1, help="Attempts of each agent at each task.")] = 1,
    n_concurrent: Annotated[int, typer.Option(min=1, help="Tasks at once, each on a core of its own.")] = 1,
    engine: Annotated[str, typer.Option(help="auto, docker, podman or bubblewrap; default: FC_ENGINE.")] = "",
    precise: Annotated[bool, typer.Option("--precise", help="Intervals of ±1 % within 96 rounds.")] = False,
    max_rounds: Annotated[int | None, typer.Option(min=6, help="At most this many rounds per workload.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the rounds' order.")] = 0,
    timeout: Annotated[float, typer.Option(min=1.0, help="Seconds an agent may work on a task.")] = 3600.0,
    policy: PolicyOption = "floor",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a stopped run; without it the same.")] = True,  # noqa: ARG001
    registry: RegistryOption = REGISTRY,
    json_output: JsonOption = False,
) -> None:
    """Run agents on tasks; the same command goes on with a run that was stopped."""
    from datasmith.cli.trial_progress import TrialBars
    from datasmith.evaluation.run import RunRequest, run_evaluation
    from datasmith.settings import load_settings

    settings = load_settings(engine=engine)
    set_up_logging(settings.log_level)
    chosen = _policy(policy)
    request = RunRequest(
        dataset=dataset,
        task_ids=tuple(task_id or ()),
        config=config,
        runs_dir=runs_dir,
        run_id=run_id,
        n_attempts=n_attempts,
        n_concurrent=n_concurrent,
        precise=precise,
        max_rounds=max_rounds,
        seed=seed,
        timeout_s=timeout,
        registry=registry,
    )
    with TrialBars() as progress:
        folder = run_evaluation(request, settings, progress)
    _show(folder.root, chosen, json_output)


@app.command()
def report(
    run: RunArgument, policy: PolicyOption = "floor", runs_dir: RunsOption = RUNS, json_output: JsonOption = False
) -> None:
    """Print a run's tables and write its HTML page."""
    from datasmith.evaluation.run_folder import open_run

    _show(open_run(runs_dir, run).root, _policy(policy), json_output)


@app.command()
def regrade(
    run: RunArgument, policy: PolicyOption = "floor", runs_dir: RunsOption = RUNS, json_output: JsonOption = False
) -> None:
    """Compute outcomes and scores anew from a run's raw files; nothing is run."""
    from datasmith.evaluation.regrade import regrade_run
    from datasmith.evaluation.run_folder import open_run

    folder = open_run(runs_dir, run)
    chosen = _policy(policy)
    with folder.alone():
        changed = regrade_run(folder)
    print(f"{len(changed)} trials changed", *changed, sep="\n  ", file=sys.stderr)
    _show(folder.root, chosen, json_output)


@tasks_app.command("list")
def list_tasks(
    dataset: DatasetOption,
    task_id: TaskOption = None,
    registry: RegistryOption = REGISTRY,
    json_output: JsonOption = False,
) -> None:
    """List the tasks of a dataset; the exit code is that of an invalid task where one cannot be read."""
    from datasmith.errors import InvalidTask
    from datasmith.tasks.dataset import load_dataset

    rows, problems = load_dataset(dataset, registry=registry).readable(tuple(task_id or ()))
    _print_tasks(rows, json_output)
    if problems:
        raise InvalidTask(problems)


def _print_tasks(rows: "Sequence[Task]", json_output: bool) -> None:
    import json

    if json_output:
        fields = {"task_id", "owner", "repo", "pr_number", "base_commit", "difficulty", "category"}
        print(json.dumps([task.model_dump(mode="json", include=fields) for task in rows], indent=1))
        return
    for task in rows:
        status = task.certificate.status if task.certificate else "no certificate"
        print(f"{task.task_id}\t{task.repository}#{task.pr_number}\t{len(task.workloads)} workloads\t{status}")


@tasks_app.command("check")
def check_tasks(dataset: DatasetOption, registry: RegistryOption = REGISTRY) -> None:
    """Check task folders without running them; the exit code is that of an invalid task where one is."""
    from datasmith.errors import InvalidTask
    from datasmith.tasks.dataset import load_dataset
    from datasmith.tasks.folder import check_task

    folders = load_dataset(dataset, registry=registry).folders
    problems = [problem for folder in folders.values() for problem in check_task(folder)]
    if problems:
        raise InvalidTask(problems)
    bare = sum(not (folder / "certificate.json").exists() for folder in folders.values())
    print(f"task folders in order: {len(folders)}" + (f"; without a certificate: {bare}" if bare else ""))


def _policy(name: str) -> "FailurePolicy":
    from datasmith.metrics.score import POLICIES

    for policy in POLICIES:
        if policy == name:
            return policy
    raise ConfigError(f"--policy {name!r}: not one of {', '.join(POLICIES)} (example: --policy floor)")


def _show(root: Path, policy: "FailurePolicy", json_output: bool) -> None:
    import json
    from datetime import UTC, datetime

    from datasmith.cli.tables import print_report
    from datasmith.evaluation.html import render
    from datasmith.evaluation.report import build_report
    from datasmith.evaluation.run_folder import open_run, write_text
    from datasmith.evaluation.summary import as_json

    folder = open_run(root.parent, str(root))
    run_record = folder.read_run()
    if run_record is None:
        raise ConfigError(f"RUN {root}: no run.json there (example: fc-eval report runs/my-run)")
    found = build_report(folder, run_record, policy)
    write_text(folder.report, render(found, datetime.now(UTC)))
    if json_output:
        print(json.dumps(as_json(found, folder.report), indent=1))
    else:
        print_report(found, folder.report)


def main() -> None:
    """Run fc-eval and exit with its code."""
    sys.exit(run_app(app))


if __name__ == "__main__":
    main()
