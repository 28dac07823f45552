"""Datasets: a set of task folders, addressed by a directory or by a registered name."""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from datasmith.errors import ConfigError, InvalidTask, TaskError
from datasmith.tasks.folder import read_task
from datasmith.tasks.ids import canonical, spellings
from datasmith.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Dataset:
    """Task folders by task id, ordered; `release` names the state of the dataset ("local" for a plain directory)."""

    name: str
    release: str
    folders: Mapping[str, Path]

    def select(self, patterns: Sequence[str], exclude: Sequence[str] = ()) -> list[Task]:
        """The tasks whose id matches a pattern (shell globs; every spelling of an id is read; none means all).

        Raises:
            ConfigError: a pattern matches nothing; names it and an id that exists.
            InvalidTask: a selected folder breaks the contract.
        """
        kept = self._chosen(patterns) - {name for pattern in exclude for name in self._named(pattern)}
        return [read_task(self.folders[name]) for name in sorted(kept)]

    def readable(self, patterns: Sequence[str]) -> tuple[list[Task], list[str]]:
        """The tasks that `select` would give and that can be read, and the problems of the other folders.

        Raises:
            ConfigError: a pattern matches nothing.
        """
        tasks: list[Task] = []
        problems: list[str] = []
        for name in sorted(self._chosen(patterns)):
            try:
                tasks.append(read_task(self.folders[name]))
            except InvalidTask as error:
                problems += error.problems
        return tasks, problems

    def _chosen(self, patterns: Sequence[str]) -> set[str]:
        return {name for pattern in patterns or ("*",) for name in self._wanted(pattern)}

    def _wanted(self, pattern: str) -> list[str]:
        found = self._named(pattern)
        if not found:
            raise ConfigError(
                f"--task-id {pattern!r} matches no task of {self.name} (example: --task-id {self._any()})"
            )
        return found

    def _named(self, pattern: str) -> list[str]:
        """Names that match; the older spelling cuts elsewhere, so a folder that it may mean is asked who it is."""
        glob = canonical(pattern)
        found = [name for name in self.folders if fnmatch.fnmatchcase(name, glob)]
        if found or any(char in pattern for char in "*?["):
            return found
        alike = [name for name in self.folders if name.replace("-", "_") == glob.replace("-", "_")]
        return [name for name in alike if glob in _spellings_of(self.folders[name])]

    def _any(self) -> str:
        return next(iter(self.folders), "shapely_shapely_2283")


def _spellings_of(folder: Path) -> tuple[str, ...]:
    task = read_task(folder)
    return spellings(task.owner, task.repo, task.pr_number)


def load_dataset(reference: str, *, registry: Path | None = None) -> Dataset:
    """Open the dataset at a directory (one task, or a directory of tasks), or under a name in the registry file.

    The registry is JSON: {"name": "path of a directory"}; relative paths are relative to the file. `name@release` is
    looked up as it stands, then without its release.

    Raises:
        ConfigError: neither a directory nor a known name, or a directory without tasks.
        TaskError: the registry cannot be read.
    """
    path = Path(reference)
    if not path.is_dir():
        path = _registered(reference, registry)
    if (path / "task.toml").is_file():
        return Dataset(reference, "local", {path.resolve().name: path})
    folders = {found.parent.name: found.parent for found in sorted(path.glob("*/task.toml"))}
    if not folders:
        raise ConfigError(f"--dataset {reference}: no task folder in it (example: --dataset work/dataset/tasks)")
    return Dataset(reference, "local", folders)


def _registered(name: str, registry: Path | None) -> Path:
    if registry is None or not registry.is_file():
        raise ConfigError(
            f"--dataset {name}: not a directory, and there is no registry file (example: --dataset work/dataset/tasks)"
        )
    known = _read_registry(registry)
    target = known.get(name, known.get(name.split("@")[0]))
    if target is None:
        raise ConfigError(
            f"--dataset {name}: no directory, and not in {registry}, which knows "
            f"{', '.join(sorted(known)) or 'nothing'} (example: --dataset {min(known, default='work/dataset/tasks')})"
        )
    return registry.parent / target


def _read_registry(registry: Path) -> dict[str, str]:
    try:
        return TypeAdapter(dict[str, str]).validate_json(registry.read_bytes())
    except (OSError, ValidationError) as error:
        problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error.strerror
        raise TaskError(
            f'cannot read the dataset registry {registry}: {problem} (example: {{"mine": "work/dataset/tasks"}})'
        ) from error
