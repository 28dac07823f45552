"""Task folders for other harnesses: copies of ours for Harbor, and terminal-bench's own form."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from datasmith.errors import ConfigError, InvalidTask, naming
from datasmith.tasks.dataset import Places, load_dataset
from datasmith.tasks.folder import read_task, write_task
from datasmith.tasks.folder_check import check_task
from datasmith.tasks.terminal_bench import FormulaCodeAdapter

_OURS = ("task.toml", "task.yaml")
"""What a folder that was written for a harness has: Harbor's or terminal-bench's."""
Harness = Literal["harbor", "terminal-bench"]


def export_tasks(folders: Sequence[Path], output: Path, harness: Harness, *, force: bool = False) -> tuple[Path, ...]:
    """Write each task folder below `output` in the form that `harness` reads; returns the new folders.

    For Harbor that is our own form, with the scripts of tests/ as this version writes them. `force` replaces.

    Raises:
        InvalidTask: a folder is not in order; then nothing was written.
        ConfigError: a folder is there already (with `force`: and is no task's), or `output` is no directory.
    """
    if output.exists() and not output.is_dir():
        raise ConfigError(f"--output {output}: is no directory (example: --output harbor-tasks)")
    if any((output / folder.name).resolve() == folder.resolve() for folder in folders):
        raise ConfigError(f"--output {output}: holds the tasks themselves (example: --output harbor-tasks)")
    problems = [problem for folder in folders for problem in check_task(folder)]
    if problems:
        raise InvalidTask(problems)
    there = [output / folder.name for folder in folders if (output / folder.name).exists()]
    other = next((each for each in there if not any((each / name).is_file() for name in _OURS)), None)
    if other:
        raise ConfigError(f"--output {output}: {other.name} is there already, and is no task (example: --output other)")
    if there and not force:
        raise ConfigError(f"--output {output}: {there[0].name} is there already (example: --force)")
    write = _for_harbor if harness == "harbor" else _for_terminal_bench
    with naming("--output", output, "harbor-tasks"):
        output.mkdir(parents=True, exist_ok=True)
        return tuple(write(folder, output) for folder in folders)


def _for_harbor(folder: Path, output: Path) -> Path:
    provenance = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    return write_task(read_task(folder), output, source=folder / "environment/repo.tar.gz", provenance=provenance)


def _for_terminal_bench(folder: Path, output: Path) -> Path:
    return FormulaCodeAdapter(output, force=True, tasks=folder.parent).generate_task(read_task(folder))


def folders_of(what: Sequence[str], places: Places) -> tuple[Path, ...]:
    """The task folders that are named: each word is one, a directory of them, or a dataset's name.

    Raises:
        ConfigError: there is none of that name.
    """
    found = [folder for name in what for folder in load_dataset(name, places, said="TASK").folders.values()]
    return tuple(dict.fromkeys(found))
