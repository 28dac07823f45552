"""A release: task folders as archives beside release.json, fetched one by one, checked, and unpacked into a cache."""

import gzip
import hashlib
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, Protocol

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from datasmith.docker.archive import unpack
from datasmith.errors import ConfigError, ContainerError, InvalidTask, TaskError, naming
from datasmith.misfits import misfit
from datasmith.tasks.drafts import alone, replacing
from datasmith.tasks.folder import read_task, task_digest
from datasmith.tasks.folder_check import check_task

INDEX = "release.json"
MOST_INDEX_BYTES = 50_000_000
RELEASE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,219}")
_CHUNK = 1 << 20


def _plain_id(name: str) -> str:
    if not _ID.fullmatch(name) or ".." in name:
        raise ValueError(f"{name[:80]!r} cannot be the id of a task")
    return name


class PackedTask(BaseModel):
    """One task of a release: `bytes` and `sha256` are its archive's, `digest` is `task_digest` of its folder."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")


class ReleaseIndex(BaseModel):
    """release.json: which tasks a release has. A task's archive is `tasks/<task_id>.tar.gz`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: Literal[1] = 1
    name: str
    release: str
    tasks: Mapping[Annotated[str, AfterValidator(_plain_id)], PackedTask]


class FileSource(Protocol):
    """Where the files of a release come from."""

    def fetch(self, name: str) -> Path:
        """A local file that holds the file `name` of the release.

        Raises:
            TaskError: it cannot be had now.
            ConfigError: there is no such release, or no such file in it.
        """


def archive_name(task_id: str) -> str:
    """The path of a task's archive in a release."""
    return f"tasks/{task_id}.tar.gz"


def read_index(path: Path) -> ReleaseIndex:
    """Read release.json.

    Raises:
        TaskError: it is no index of a release.
    """
    try:
        if path.stat().st_size > MOST_INDEX_BYTES:
            raise TaskError(f"{path}: larger than {MOST_INDEX_BYTES} bytes")
        return ReleaseIndex.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        first = misfit(error) if isinstance(error, ValidationError) else error.strerror
        raise TaskError(f"{path}: no index of a release: {first}") from error


class ReleasedFolders(Mapping[str, Path]):
    """Task folders of a release; one is fetched, checked and unpacked when it is first asked for."""

    def __init__(self, index: ReleaseIndex, source: FileSource, cache: Path) -> None:
        self._index = index
        self._source = source
        self._cache = cache
        self._checked: set[str] = set()

    def __len__(self) -> int:
        return len(self._index.tasks)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._index.tasks))

    def __getitem__(self, task_id: str) -> Path:
        """The folder of a task, on this machine.

        Raises:
            TaskError: the archive cannot be had, or is not what release.json says.
        """
        packed = self._index.tasks[task_id]
        target = self._cache / packed.sha256 / task_id
        if task_id in self._checked:
            return target
        with alone(self._cache / f"{packed.sha256}.lock"):
            if not target.is_dir() or task_digest(target) != packed.digest:
                self._unpack(task_id, packed, target)
        self._checked.add(task_id)
        return target

    def archive(self, task_id: str) -> Path:
        """A task's archive, whether or not its folder is here already.

        Raises:
            TaskError: it cannot be had, or is not what release.json says.
        """
        packed = self._index.tasks[task_id]
        archive = self._source.fetch(archive_name(task_id))
        if archive.stat().st_size != packed.bytes or _sha256(archive) != packed.sha256:
            raise TaskError(f"{archive_name(task_id)}: not the file that {INDEX} names: its sha256 is another one")
        return archive

    def _unpack(self, task_id: str, packed: PackedTask, target: Path) -> None:
        archive = self.archive(task_id)
        with replacing(target) as draft:
            draft.mkdir()
            try:
                unpack(archive, draft, links=False)
            except ContainerError as error:
                raise TaskError(f"{archive_name(task_id)}: {error}") from error
            if task_digest(draft) != packed.digest or read_task(draft).task_id != task_id:
                raise TaskError(f"{archive_name(task_id)}: holds another task than {INDEX} says")


def _sha256(path: Path) -> str:
    whole = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            whole.update(chunk)
    return whole.hexdigest()


def write_release(folders: Mapping[str, Path], target: Path, *, name: str, release: str) -> ReleaseIndex:
    """Pack task folders into `target`, release.json last; the same folders always give the same bytes.

    Raises:
        ConfigError: `target` is there and is no release, so it is not replaced; or it cannot be made.
        InvalidTask: a folder breaks the contract; nothing is written.
    """
    if _holds_something_else(target):
        raise ConfigError(f"--to {target}: is there and is no release, so it is not replaced (example: --to release)")
    problems = [problem for folder in folders.values() for problem in check_task(folder)]
    if problems:
        raise InvalidTask(problems)
    with naming("--to", target, "release"):
        target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as draft:
        (draft / "tasks").mkdir(parents=True)
        packed = {task_id: _pack(folder, draft / archive_name(task_id)) for task_id, folder in sorted(folders.items())}
        index = ReleaseIndex(name=name, release=release, tasks=packed)
        (draft / INDEX).write_text(index.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return index


def _holds_something_else(target: Path) -> bool:
    """True where replacing `target` would take away what no release wrote."""
    if not target.is_dir():
        return os.path.lexists(target)
    found = {path.name for path in target.iterdir()}
    return bool(found) and (INDEX not in found or not found <= {INDEX, "tasks"})


def _pack(folder: Path, archive: Path) -> PackedTask:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    with (
        archive.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w") as tar,
    ):
        for path in files:
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            member.size = path.stat().st_size
            member.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
            with path.open("rb") as file:
                tar.addfile(member, file)
    return PackedTask(bytes=archive.stat().st_size, sha256=_sha256(archive), digest=task_digest(folder))
