"""Datasets that are no release: folders of tasks as they lie somewhere, with nothing that says what they should be."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from datasmith.errors import TaskError
from datasmith.tasks.drafts import alone, replacing
from datasmith.tasks.release import FileSource

OF_A_TASK = ("task.toml", "instruction.md")
"""A directory that holds one of them is a task's; where the other is missing it is a damaged one, which is told."""


def is_task_folder(path: Path) -> bool:
    """Whether a directory is a task's, be it a damaged one."""
    return any((path / name).is_file() for name in OF_A_TASK)


def task_folders(files: Iterable[str]) -> dict[str, str]:
    """Where the folders of tasks are among the files of a dataset, by name: at its top, or else in `tasks/`."""
    found = {PurePosixPath(file).parent for file in files if file.rpartition("/")[2] in OF_A_TASK}
    seen = sorted(folder for folder in found if not folder.name.startswith("."))
    for parent in (PurePosixPath(), PurePosixPath("tasks")):
        folders = {folder.name: str(folder) for folder in seen if folder.name and folder.parent == parent}
        if folders:
            return folders
    return {}


def folders_below(places: Sequence[Path], names: Sequence[str] = ("task.toml",)) -> tuple[Path, ...]:
    """The folders with a file of one of these names, among directories and right below them, in order.

    Raises:
        TaskError: there is one that this user may not look into.
    """
    found = {place for place in places for name in names if (place / name).is_file()}
    expect_open("", (place for place in places if place not in found))
    found |= {path.parent for place in places for name in names for path in place.glob(f"*/{name}")}
    return tuple(sorted(found))


def expect_open(said: str, places: Iterable[Path]) -> None:
    """See that no directory in these is left out because this user may not look into it; `said` begins the error.

    Raises:
        TaskError: there is one.
    """
    below = (each for place in places if place.is_dir() for each in place.iterdir() if each.is_dir())
    for each in below:
        if not os.access(each, os.R_OK | os.X_OK):
            raise TaskError(f"{said}{each} may not be read (example: chmod -R u+rX {each})")


def no_tasks(files: Iterable[str]) -> str:
    """Why a dataset without folders of tasks has none."""
    tables = sorted(file for file in files if file.endswith(".parquet"))
    return (
        f"no task folder in it ({tables[0]} lists tasks, and does not hold them)" if tables else "no task folder in it"
    )


class PlainFolders(Mapping[str, Path]):
    """Folders of tasks that are fetched, file by file and once, when they are first asked for.

    `places` says where each lies among `files`, empty for their top; `cache` is for this state of `source` alone.
    """

    def __init__(self, places: Mapping[str, str], files: Iterable[str], source: FileSource, cache: Path) -> None:
        self._places = places
        self._files = tuple(files)
        self._source = source
        self._cache = cache

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._places))

    def __getitem__(self, name: str) -> Path:
        """The folder of a task, on this machine.

        Raises:
            TaskError: a file of it cannot be had.
        """
        target = self._cache / name
        with alone(self._cache / f".{name}.lock"):
            if not target.is_dir():
                self._bring(self._places[name], target)
        return target

    def _bring(self, place: str, target: Path) -> None:
        begin = f"{place}/" if place else ""
        with replacing(target) as draft:
            for file in self._files:
                if file.startswith(begin):
                    _copy(self._source.fetch(file), draft / file.removeprefix(begin))


def _copy(source: Path, target: Path) -> None:
    """A file of its own; of modes the Hub keeps none, so what begins like a program is one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    with target.open("rb") as file:
        target.chmod(0o755 if file.read(2) == b"#!" else 0o644)
