"""Datasets: a set of task folders, addressed by a directory, a registered name, or a place on the Hub."""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from datasmith.errors import ConfigError, InvalidTask, TaskError
from datasmith.tasks.folder import read_task
from datasmith.tasks.folder_check import misnamed
from datasmith.tasks.hub import Hub, HubAddress, HubFiles, HubListing
from datasmith.tasks.ids import canonical, spellings
from datasmith.tasks.names import EXAMPLE, Named, example, resolve
from datasmith.tasks.plain import OF_A_TASK, PlainFolders, expect_open, is_task_folder, no_tasks, task_folders
from datasmith.tasks.release import INDEX, ReleasedFolders, read_index
from datasmith.tasks.task import Task

if TYPE_CHECKING:
    from datasmith.settings import Settings

LOCAL = "local"
"""The release of a plain directory."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """Task folders by task id, ordered; `release` names the state of the dataset (LOCAL for a plain directory).

    Folders of a release are fetched when they are asked for. `notes` are what a user should know of how the name was
    understood.
    """

    name: str
    release: str
    folders: Mapping[str, Path]
    notes: tuple[str, ...] = ()

    def select(self, patterns: Sequence[str], exclude: Sequence[str] = (), *, said: str = "--task-id") -> list[Task]:
        """The tasks that a pattern means: an id in any spelling, or a shell glob of written ids; none means all.

        `said` is the word by which the patterns were given.

        Raises:
            ConfigError: a pattern matches nothing; names it and an id that exists.
            InvalidTask: a selected folder breaks the contract.
        """
        kept = self._chosen(patterns, said) - {name for pattern in exclude for name in self._left_out(pattern)}
        return [self._read(name) for name in sorted(kept)]

    def readable(self, patterns: Sequence[str]) -> tuple[list[Task], list[str]]:
        """The tasks that `select` would give and that can be read, and the problems of the other folders.

        Raises:
            ConfigError: a pattern matches nothing.
        """
        tasks: list[Task] = []
        problems: list[str] = []
        for name in sorted(self._chosen(patterns, "--task-id")):
            try:
                tasks.append(self._read(name))
            except InvalidTask as error:
                problems += error.problems
        return tasks, problems

    def _read(self, name: str) -> Task:
        """The task of a folder, which must be named after it: trials and records are found by the task's id."""
        task = read_task(self.folders[name])
        if task.task_id != name:
            raise InvalidTask([f"{name}: {misnamed(task.task_id)}"])
        return task

    def _chosen(self, patterns: Sequence[str], said: str) -> set[str]:
        return {name for pattern in patterns or ("*",) for name in self._wanted(pattern, said)}

    def _wanted(self, pattern: str, said: str) -> list[str]:
        found = self._named(pattern)
        if not found:
            raise ConfigError(
                f"{said} {pattern!r} matches no task of {self.name} (example: {example(said, self._any())})"
            )
        return found

    def _left_out(self, pattern: str) -> list[str]:
        """A glob may match nothing, as where one configuration is for several datasets; a name that does is a slip."""
        return self._named(pattern) if _is_glob(pattern) else self._wanted(pattern, "--exclude")

    def _named(self, pattern: str) -> list[str]:
        """Names that match; the older spelling cuts elsewhere, so a folder that it may mean is asked who it is."""
        glob = canonical(pattern)
        found = [name for name in self.folders if fnmatch.fnmatchcase(name, glob)]
        if found or _is_glob(pattern):
            return found
        alike = [name for name in self.folders if name.replace("-", "_") == glob.replace("-", "_")]
        return [name for name in alike if glob in _spellings_of(self.folders[name])]

    def _any(self) -> str:
        return next(iter(self.folders), "shapely_shapely_2283")


def _is_glob(pattern: str) -> bool:
    return any(char in pattern for char in "*?[")


def _spellings_of(folder: Path) -> tuple[str, ...]:
    task = read_task(folder)
    return spellings(task.owner, task.repo, task.pr_number)


@dataclass(frozen=True, slots=True)
class Places:
    """Where datasets are looked for, beside the directory that a reference may be.

    `registries` are files of names by the settings that name them, the nearest first; `cache` holds what was fetched
    and unpacked.
    """

    registries: Mapping[str, Path] = field(default_factory=dict)
    hub: Hub | None = None
    cache: Path = Path()

    @classmethod
    def of(cls, settings: "Settings", registry: Path | None = None) -> Self:
        """`registry` first, then the user's own; the Hub as the settings say."""
        registries = {"--registry": registry} if registry else {}
        registries["FC_DATASETS_FILE"] = settings.datasets_file
        cache = settings.cache_dir
        hub = Hub(settings.hf_endpoint.rstrip("/"), cache / "hub", lambda: settings.hub_token)
        return cls(registries, hub, cache / "tasks")


def load_dataset(
    reference: str, places: Places | None = None, *, release: str = "", said: str = "--dataset"
) -> Dataset:
    """Open the dataset at a directory, or under a name.

    A directory is one task, holds tasks, holds a release (release.json), or holds tasks below `tasks/`. A name is
    looked up in the registries of `places`; see docs/reference/dataset.md. `release` is the state to open, as a run
    has noted it; empty means the one that the reference names. `said` is the word by which the reference was given.

    Raises:
        ConfigError: neither a directory nor a known name, or a directory without tasks, or no such release.
        TaskError: a registry or a release cannot be read now.
    """
    where = places or Places()
    if not reference:
        raise ConfigError(
            f"{said} '': is empty, as the unset variable of a script is (example: {example(said, EXAMPLE)})"
        )
    if Path(reference).is_dir():
        return _directory(reference, Path(reference), where, said)
    named = resolve(reference, where.registries, said)
    if isinstance(named.target, HubAddress):
        return _on_the_hub(reference, named, where, release, said)
    if not named.target.is_dir():
        problem = f"the registry names {named.target}, which is no directory"
        raise ConfigError(f"{said} {reference}: {problem} (example: {example(said, EXAMPLE)})")
    found = _directory(reference, named.target, where, said, named.release if not named.exact else "")
    if not named.release and named.releases:
        note = f"no release is named: its newest state is used (to name one: {reference}@{named.releases[-1]})"
        return replace(found, notes=(f"{said} {reference}: {note}",))
    return found


def _directory(reference: str, path: Path, places: Places, said: str, release: str = "") -> Dataset:
    """`release` is what a name asked for: the directory has to say of itself that it is that one."""
    stem = example(said, reference.partition("@")[0])
    if (path / INDEX).is_file() and not is_task_folder(path):
        index = read_index(path / INDEX)
        if release not in ("", index.release):
            raise ConfigError(
                f"{said} {reference}: {path} is release {index.release} (example: {stem}@{index.release})"
            )
        return Dataset(reference, index.release, ReleasedFolders(index, _Beside(path), places.cache))
    if release:
        raise ConfigError(f"{said} {reference}: {path} has no {INDEX} that says its release (example: {stem})")
    if is_task_folder(path):
        return Dataset(reference, LOCAL, {path.resolve().name: path})
    expect_open(f"{said} {reference}: ", (path, path / "tasks"))
    patterns = ("*.parquet", *(f"{at}*/{name}" for at in ("", "tasks/") for name in OF_A_TASK))
    files = [file.relative_to(path).as_posix() for pattern in patterns for file in path.glob(pattern)]
    folders = {name: path / place for name, place in task_folders(files).items()}
    if folders:
        return Dataset(reference, LOCAL, folders)
    raise ConfigError(f"{said} {reference}: {no_tasks(files)} (example: {example(said, EXAMPLE)})")


@dataclass(frozen=True, slots=True)
class _Beside:
    """The files of a release in a directory."""

    root: Path

    def fetch(self, name: str) -> Path:
        """See FileSource."""
        path = self.root / name
        if not path.is_file():
            raise TaskError(f"{path} is missing")
        return path


def _on_the_hub(reference: str, named: Named, places: Places, release: str, said: str) -> Dataset:
    assert isinstance(named.target, HubAddress)
    if places.hub is None:
        raise ConfigError(f"{said} {reference}: the Hub is not asked here (example: {example(said, EXAMPLE)})")
    address = named.target
    asked = "" if named.exact else named.release
    if address.revision and asked:
        raise ConfigError(
            f"{said} {reference}: the registry fixes it to {address.revision} "
            f"(example: {example(said, reference.partition('@')[0])})"
        )
    wanted = release or address.revision or asked
    listing = places.hub.listing(address.at(wanted))
    source = HubFiles(places.hub, address.at(listing.commit))
    if INDEX not in listing.files:
        return _plain_on_the_hub(reference, listing, source, places, said)
    index = read_index(source.fetch(INDEX))
    found = Dataset(reference, listing.commit, ReleasedFolders(index, source, places.cache))
    if wanted:
        return found
    stem = reference.partition("@")[0]
    note = f"no release is named: its newest state is used, {index.release}, commit {listing.commit[:12]}"
    return replace(found, notes=(f"{said} {reference}: {note} (to name one: {stem}@{index.release})",))


def _plain_on_the_hub(reference: str, listing: HubListing, source: HubFiles, places: Places, said: str) -> Dataset:
    """The same kinds of datasets as a plain directory may be."""
    repo = source.address.repo
    one = {repo.partition("/")[2]: ""} if "task.toml" in listing.files else {}
    found = one or task_folders(listing.files)
    if not found:
        raise ConfigError(f"{said} {reference}: {no_tasks(listing.files)} (example: {example(said, EXAMPLE)})")
    folders = PlainFolders(found, listing.files, source, places.cache / repo / listing.commit)
    note = (
        f"no release ({INDEX} is missing): its task folders are used as they are at commit {listing.commit[:12]}, "
        f"and no digest says what they should be (to stay at this state: {source.address})"
    )
    return Dataset(reference, listing.commit, folders, notes=(f"{said} {reference}: {note}",))
