"""A build context: the Dockerfiles and scripts of an image, as one frozen value."""

import hashlib
import io
import os
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Self

from datasmith.errors import ConfigError

DOCKERFILES = ("Dockerfile.base", "Dockerfile.repo", "Dockerfile.pr", "Dockerfile")
SCRIPTS = (
    "docker_build_base.sh",
    "docker_build_env.sh",
    "docker_build_pkg.sh",
    "docker_build_run.sh",
    "docker_build_final.sh",
)
LOCK = "lock.txt"
BOUND = "#bound "
"""Begins each line of a lock that says what the project itself asks of one of its pins: nothing is installed by it."""
FETCH_SOURCES = "fetch_sources.py"
BUILD_SOURCES = "docker_build_sources.sh"
"""Both are part of a context whose lock names packages that were never wheels."""
_RENAMED = {"run_tests.sh": "run-tests.sh"}
"""Names that files of older contexts carry -> the names they have now."""
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_ARCHIVES = (".tar", ".tar.gz", ".tgz")
SCRIPT = ".sh"
"""Ends the names of files that can be run where they are laid out."""
_MAX_FILE = 5_000_000
_AT_ONCE = 1 << 16
"""Bytes; most files are smaller."""


@dataclass(frozen=True, slots=True)
class DockerContext:
    """Text files by name; equal contexts have equal digests and equal tars. What is given is copied.

    Raises:
        ConfigError: a name is not that of a plain file (it could lead out of a directory it is written to).
    """

    texts: Mapping[str, str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "texts", dict(self.texts))
        for name in self.texts:
            if not _PLAIN.fullmatch(name):
                raise ConfigError(f"{name!r} cannot be a file of a build context (example: docker_build_pkg.sh)")

    @classmethod
    def default(cls, *, lock: str) -> Self:
        """Our own Dockerfiles and scripts around a lock file."""
        templates = files("datasmith.docker").joinpath("templates")
        names = (*DOCKERFILES, *SCRIPTS, *((FETCH_SOURCES, BUILD_SOURCES) if has_sources(lock) else ()))
        return cls({name: templates.joinpath(name).read_text(encoding="utf-8") for name in names} | {LOCK: lock})

    @classmethod
    def from_directory(cls, directory: Path | str) -> Self:
        """The files of a directory, without archives and hidden ones; older names are today's.

        Raises:
            ConfigError: there is no such directory, it holds a directory or a link, or a file is no text or larger than
                5 MB.
        """
        try:
            at = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            said = f"build context {directory} is not a directory that can be read"
            raise ConfigError(f"{said} (example: tasks/shapely_shapely_2283/environment)") from error
        texts: dict[str, str] = {}
        try:
            for name in _plain_files(at, directory):
                texts.setdefault(_RENAMED.get(name, name), _text(at, name, directory))
        finally:
            os.close(at)
        return cls(texts)

    def to_directory(self, directory: Path | str) -> Path:
        """Write all files into a directory, which is made where it is missing; returns it. Scripts can be run."""
        try:
            os.mkdir(directory)  # noqa: PTH102 - thousands of them, and most parents are there
        except (FileExistsError, FileNotFoundError):
            os.makedirs(directory, exist_ok=True)  # noqa: PTH103
        at = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name, text in self.texts.items():
                _write(at, name, text.encode("utf-8"))
        finally:
            os.close(at)
        return Path(directory)

    def __hash__(self) -> int:
        """As `==` compares: the order of the names does not matter."""
        return hash(frozenset(self.texts.items()))

    @property
    def digest(self) -> str:
        """sha256 over names and contents."""
        whole = hashlib.sha256()
        for name, text in sorted(self.texts.items()):
            data = text.encode()
            whole.update(b"%s\0%d\0%s" % (name.encode(), len(data), data))
        return whole.hexdigest()

    def tar(self) -> bytes:
        """The files as a tar; the same context always gives the same bytes."""
        target = io.BytesIO()
        with tarfile.open(fileobj=target, mode="w") as archive:
            for name, text in sorted(self.texts.items()):
                data = text.encode()
                member = tarfile.TarInfo(name)
                member.size = len(data)
                member.mode = 0o755 if name.endswith(SCRIPT) else 0o644
                archive.addfile(member, io.BytesIO(data))
        return target.getvalue()


def _plain_files(at: int, directory: Path | str) -> list[str]:
    """Names of the files of a directory, which is open as `at`, in their order; without archives and hidden ones."""
    names: list[str] = []
    with os.scandir(at) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith(".") or name.endswith(_ARCHIVES):
                continue
            if not entry.is_file(follow_symlinks=False):
                what = "a directory" if entry.is_dir(follow_symlinks=False) else "a link or no plain file"
                raise ConfigError(
                    f"build context {directory}: {name} is {what}: it may hold plain files (example: lock.txt)"
                )
            names.append(name)
    return sorted(names)


def has_sources(lock: str) -> bool:
    """True where a lock names packages that have to be built from sources."""
    return any(line.startswith("--no-binary ") for line in lock.splitlines())


def _write(at: int, name: str, data: bytes) -> None:
    """Replace a file of a directory; by its descriptor, because thousands of them are written at a time."""
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666, dir_fd=at)
    try:
        if name.endswith(SCRIPT):
            os.fchmod(descriptor, 0o755)
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)


def _text(at: int, name: str, directory: Path | str) -> str:
    """The text of a file of a directory, which is open as `at`."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    try:
        data = b""
        while more := os.read(descriptor, _AT_ONCE):
            data += more
            if len(data) > _MAX_FILE:
                said = f"is larger than {_MAX_FILE} bytes: no build file (example: docker_build_pkg.sh)"
                raise ConfigError(f"{Path(directory, name)} {said}")
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{Path(directory, name)} is not text (example: docker_build_pkg.sh)") from error
    finally:
        os.close(descriptor)
