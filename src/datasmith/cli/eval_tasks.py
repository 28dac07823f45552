"""fc-eval tasks: look at task folders."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.document import document
from datasmith.cli.eval_interact import interact
from datasmith.cli.eval_options import (
    REGISTRY,
    DatasetOption,
    RegistryOption,
    TaskOption,
)
from datasmith.cli.options import Json, help_without_command
from datasmith.cli.trial_progress import ratio_of
from datasmith.counted import counted
from datasmith.errors import ConfigError
from datasmith.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from datasmith.tasks.certificate import Certificate
    from datasmith.tasks.dataset import Places
    from datasmith.tasks.task import Task

tasks = typer.Typer(help="Look at task folders.", name="tasks")
tasks.command("interact")(interact)


@tasks.callback(invoke_without_command=True)
def _tasks(context: typer.Context) -> None:
    """Look at task folders."""
    help_without_command(context)


@tasks.command("list")
def list_tasks(
    dataset: DatasetOption,
    task_id: TaskOption = None,
    registry: RegistryOption = REGISTRY,
    json_output: Json = False,
) -> None:
    """List the tasks of a dataset; the exit code is that of an invalid task where one cannot be read."""
    from datasmith.errors import InvalidTask
    from datasmith.settings import load_settings
    from datasmith.tasks.dataset import Places, load_dataset

    rows, problems = load_dataset(dataset, Places.of(load_settings(), registry)).readable(tuple(task_id or ()))
    _print_tasks(rows, json_output)
    if problems:
        raise InvalidTask(problems)


@tasks.command("show")
def show_task(
    task: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="A task folder; with --dataset an id or glob of tasks, also as owner/repo#1."
        ),
    ],
    *,
    dataset: DatasetOption = "",
    registry: RegistryOption = REGISTRY,
    json_output: Json = False,
) -> None:
    """Print what a task is: its problem, its workloads, and what each machine found of it; never its solution."""
    from datasmith.settings import load_settings
    from datasmith.tasks.certificates import read_certificates
    from datasmith.tasks.dataset import Places, load_dataset

    opened = load_dataset(dataset or _task_folder(task, "ID"), Places.of(load_settings(), registry))
    chosen = opened.select([task] if dataset else (), said="ID")
    found = [(one, read_certificates(opened.folders[one.task_id])) for one in chosen]
    if json_output:
        hidden = {"expert_patch", "build", "suite_patch"}
        rows = [
            {
                **one.model_dump(mode="json", exclude=hidden),
                "certificates": [certificate.model_dump(mode="json") for certificate in certificates],
            }
            for one, certificates in found
        ]
        print(document(rows, indent=1))
        return
    for one, certificates in found:
        print("\n".join(_card(one, certificates)))


def _task_folder(word: str, said: str) -> str:
    """The word, where it is a task folder: without --dataset it has to be one."""
    if not Path(word, "task.toml").is_file():
        raise ConfigError(
            f"{said} {word!r}: no task folder, and no --dataset is named (example: --dataset work/dataset/tasks)"
        )
    return word


def _local_tasks(word: str) -> str:
    """The word, where it is a directory: a task folder, or one with task folders in it."""
    return word if Path(word).is_dir() else _task_folder(word, "TASK")


def _card(task: "Task", certificates: "Sequence[Certificate]") -> list[str]:
    status = task.certificate.status if task.certificate else "no certificate"
    expert = task.certificate.expert if task.certificate else None
    workloads = counted(len(task.workloads), "workload")
    if task.not_impacted:
        workloads += f" ({task.not_impacted} others of the suite are not touched by the expert's patch)"
    if task.screened_out:
        workloads += f" ({task.screened_out} others were left out by a screening)"
    lines = [
        f"{task.task_id}: {task.title}",
        f"  {task.repository} at {task.base_commit[:12]}, merged {task.merged_at:%Y-%m-%d}, Python "
        f"{task.build.python_version}, licence {task.licence or 'unknown'}",
        f"  {task.difficulty}, {task.category}; {workloads} in {task.benchmark_dir}, "
        f"{counted(len(task.passing_tests), 'test')}{', compiled' if task.compiled else ''}",
        f"  image {task.image_name} {task.image_digest}",
        f"  certificate: {status}"
        + (f", expert {ratio_of(expert.speedup, expert.low, expert.high)} over all workloads" if expert else ""),
    ]
    lines += [
        f"    {row.workload}: {ratio_of(row.ratio, row.low, row.high)}{' SLOWER' if row.ratio < 1.0 else ''}"
        for row in (expert.changed if expert else ())
        if row.ratio is not None
    ]
    lines += [
        f"    {one.issued_at:%Y-%m-%d} {one.machine.cpu_model}, {one.engine}: {one.status}: {one.reason}"
        for one in certificates
    ]
    return [one_line(line) if not line.startswith(" ") else f"  {one_line(line)}" for line in lines] + [
        "",
        *(f"{' ' * (len(line) - len(line.lstrip(' ')))}{one_line(line)}" for line in task.instruction.splitlines()),
    ]


@tasks.command("pack")
def pack(
    *,
    dataset: DatasetOption,
    to: Annotated[Path, typer.Option("--to", help="Directory of the release; an earlier one is replaced.")],
    name: Annotated[str, typer.Option("--name", help="The dataset's name.")],
    release: Annotated[str, typer.Option("--release", help="The release's name, as in 2026-03.")],
    task_id: TaskOption = None,
    registry: RegistryOption = REGISTRY,
    json_output: Json = False,
) -> None:
    """Pack tasks into a release: an archive for each, and release.json; the same tasks give the same bytes."""
    from datasmith.settings import load_settings
    from datasmith.tasks.dataset import Places, load_dataset
    from datasmith.tasks.release import RELEASE_NAME, write_release

    for flag, value, example in (("--name", name, "formulacode"), ("--release", release, "2026-03")):
        if not RELEASE_NAME.fullmatch(value):
            raise ConfigError(f"{flag} {value!r}: letters, digits, '.', '_' and '-' only (example: {flag} {example})")
    opened = load_dataset(dataset, Places.of(load_settings(), registry))
    chosen = {task.task_id: opened.folders[task.task_id] for task in opened.select(tuple(task_id or ()))}
    index = write_release(chosen, to, name=name, release=release)
    if json_output:
        print(document({"to": str(to), **index.model_dump(mode="json")}, indent=1))
        return
    size = sum(packed.bytes for packed in index.tasks.values())
    print(f"{name}@{release}: {counted(len(index.tasks), 'task')}, {size} bytes in {to}")


def _print_tasks(rows: "Sequence[Task]", json_output: bool) -> None:
    if json_output:
        fields = {"task_id", "owner", "repo", "pr_number", "base_commit", "difficulty", "category"}
        told = [
            {
                **task.model_dump(mode="json", include=fields),
                "n_workloads": len(task.workloads),
                "certificate": task.certificate.status if task.certificate else None,
            }
            for task in rows
        ]
        print(document(told, indent=1))
        return
    for task in rows:
        status = task.certificate.status if task.certificate else "no certificate"
        print(
            f"{task.task_id}\t{task.repository}#{task.pr_number}\t{counted(len(task.workloads), 'workload')}\t{status}"
        )


@tasks.command("check")
def check_tasks(
    task: Annotated[
        list[str] | None, typer.Argument(metavar="TASK", help="Task folders, or directories of them.")
    ] = None,
    *,
    dataset: DatasetOption = "",
    registry: RegistryOption = REGISTRY,
    json_output: Json = False,
) -> None:
    """Check task folders without running them; the exit code is that of an invalid task where one is."""
    from datasmith.errors import InvalidTask
    from datasmith.settings import load_settings
    from datasmith.tasks.dataset import Places
    from datasmith.tasks.folder_check import check_task

    if bool(task) == bool(dataset):
        what = "TASK and --dataset exclude each other" if task else "give TASK folders or --dataset"
        raise ConfigError(f"tasks check: {what} (example: fc-eval tasks check --dataset work/dataset/tasks)")
    places = Places.of(load_settings(), registry)
    given = [(dataset, "--dataset")] if dataset else [(_local_tasks(word), "TASK") for word in task or ()]
    folders = {folder.resolve(): name for word, said in given for name, folder in _whole(word, said, places)}
    problems = [check_task(folder) for folder in folders]
    bare = [not (folder / "certificate.json").is_file() for folder in folders]
    if json_output:
        rows = [
            {"task_id": name, "folder": str(folder), "problems": list(found), "has_certificate": not without}
            for (folder, name), found, without in zip(folders.items(), problems, bare, strict=True)
        ]
        print(document(rows, indent=1))
    if any(problems):
        alike = len({*folders.values()}) < len(folders)
        where = [f"{folder.parent}/" if alike else "" for folder in folders]
        told = [f"{at}{said}" for at, found in zip(where, problems, strict=True) for said in found]
        if not json_output:
            print(*map(one_line, told), sep="\n")
        wrong = sum(map(bool, problems))
        raise InvalidTask(told, f"{counted(len(told), 'problem')} in {wrong} of {counted(len(folders), 'task folder')}")
    if not json_output:
        without = f"; without a certificate: {sum(bare)}" if any(bare) else ""
        print(f"task folders in order: {len(folders)}{without}")


def _whole(word: str, said: str, places: "Places") -> "list[tuple[str, Path]]":
    """The task folders of a dataset by their names; of a release each archive is looked at, too."""
    from datasmith.tasks.dataset import load_dataset
    from datasmith.tasks.release import ReleasedFolders

    folders = load_dataset(word, places, said=said).folders
    if isinstance(folders, ReleasedFolders):
        for name in folders:
            folders.archive(name)  # a folder that was unpacked before says nothing of what the release holds now
    return list(folders.items())
