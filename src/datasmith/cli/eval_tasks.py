"""fc-eval tasks: look at task folders."""

from typing import TYPE_CHECKING

import typer

from datasmith.cli.eval_options import (
    REGISTRY,
    DatasetOption,
    JsonOption,
    RegistryOption,
    TaskOption,
    help_without_command,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from datasmith.tasks.task import Task

tasks = typer.Typer(help="Look at task folders.", name="tasks")


@tasks.callback(invoke_without_command=True)
def _tasks(context: typer.Context) -> None:
    """Look at task folders."""
    help_without_command(context)


@tasks.command("list")
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


@tasks.command("check")
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
