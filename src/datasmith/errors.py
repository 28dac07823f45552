"""The error family: what went wrong, in a class whose exit code is its own."""

import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import ClassVar, TypeVar

from datasmith.printable import ending
from datasmith.redact import redact

_Name = TypeVar("_Name", bound=str)
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""What the system says of a disk without room: no setting is wrong."""


class DatasmithError(Exception):
    """Any failure that the user is told about in one line."""

    exit_code: ClassVar[int] = 1

    def __reduce__(self) -> tuple[Callable[..., "DatasmithError"], tuple[object, ...]]:
        """The same error in another process, whatever its constructor takes."""
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[DatasmithError], args: tuple[object, ...], facts: Mapping[str, object]) -> DatasmithError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(facts)
    return error


class ConfigError(DatasmithError):
    """A setting, flag or input is wrong; the message names it and gives an example value."""

    exit_code = 2


def one_of(setting: str, given: str, choices: Sequence[_Name], example: str) -> _Name:
    """The choice that `given` is.

    Raises:
        ConfigError: it is none of them; names the setting.
    """
    for choice in choices:
        if choice == given:
            return choice
    raise ConfigError(f"{setting} {given!r}: must be one of {', '.join(choices)} (example: {setting} {example})")


@contextmanager
def naming(setting: str, path: Path, example: str) -> Iterator[None]:
    """Inside, what the system refuses is told of the setting that gave `path`.

    Raises:
        ConfigError: it refuses something.
        StoreUnavailable: the disk is full.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise StoreUnavailable(f"{setting} {path}: {error.strerror}") from error
        raise ConfigError(f"{setting} {path}: {error.strerror} (example: {setting} {example})") from error


def expect_file(setting: str, path: Path, example: str, kind: str = "a file") -> None:
    """See that `path` is a file that can be read.

    Raises:
        ConfigError: it is none; names the setting that gave it.
    """
    refuse_directory(setting, path, example, kind)
    if not path.is_file():
        raise ConfigError(f"{setting} {path}: no such file (example: {setting} {example})")
    with naming(setting, path, example):
        path.open("rb").close()


def refuse_directory(setting: str, path: Path, example: str, kind: str = "a file") -> None:
    """See that `path`, where a file is read or will be written, is no directory.

    Raises:
        ConfigError: it is one.
    """
    if path.is_dir():
        raise ConfigError(f"{setting} {path}: is a directory, and {kind} is expected (example: {setting} {example})")


def said_by(error: Exception) -> str:
    """What an error says; of the system's without its number and the path, which the line around it names."""
    return str(error.strerror) if isinstance(error, OSError) else str(error)


class NothingToDo(DatasmithError):
    """The request is valid, and selects nothing."""

    exit_code = 3


class ForgeError(DatasmithError):
    """The place that holds repositories and pull requests did not give what was asked."""

    exit_code = 10


class NotFound(ForgeError, LookupError):
    """The forge answered that the thing does not exist."""

    exit_code = 20


class RateLimited(ForgeError):
    """The forge refuses further calls until `resets_at` (aware, UTC)."""

    exit_code = 21

    def __init__(self, message: str, resets_at: datetime) -> None:
        super().__init__(message)
        self.resets_at = resets_at


class ForgeUnavailable(ForgeError):
    """The forge could not be reached, or answered with a fault of its own."""

    exit_code = 22


class StoreError(DatasmithError):
    """The database did not do what was asked."""

    exit_code = 11


class StoreUnavailable(StoreError):
    """The database, or another file of ours, cannot be opened, reached, read or written: a full disk, too."""

    exit_code = 23


class SchemaMismatch(StoreError):
    """The database was migrated to another schema than this version reads."""

    exit_code = 24

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(
            f"database schema is {found}, this version needs {expected}: the next run of fc-data brings an older one up"
        )
        self.found = found
        self.expected = expected


class WindowTaken(StoreError):
    """Another run works on this window; the message says who."""

    exit_code = 40


class ModelError(DatasmithError):
    """A language model gave no usable answer."""

    exit_code = 12


class ModelUnavailable(ModelError):
    """The model's endpoint could not be reached: an outage, never a negative answer."""

    exit_code = 25


class UnusableReply(ModelError):
    """The model answered, in a form that cannot be read."""

    exit_code = 26


class BudgetSpent(ModelError):
    """The budget of calls, tokens or dollars is used up."""

    exit_code = 27


class ResolutionError(DatasmithError):
    """No environment could be chosen for a commit."""

    exit_code = 13


class NoPythonFits(ResolutionError):
    """No interpreter that is available satisfies the project's constraints."""

    exit_code = 28


class Unsatisfiable(ResolutionError):
    """No set of versions published before the cutoff satisfies the requirements."""

    exit_code = 29


class IndexUnavailable(ResolutionError):
    """The package index could not be reached: an outage, never an answer about the commit."""

    exit_code = 36


class ContainerError(DatasmithError):
    """A sandbox could not be built, started or used."""

    exit_code = 14


class EngineUnavailable(ContainerError):
    """The container engine is missing, not permitted or not answering: infrastructure, not the task's fault."""

    exit_code = 30


class BuildFailed(ContainerError):
    """A build script ended with a non-zero exit code (or ran into its time limit)."""

    exit_code = 31

    def __init__(self, stage: str, rc: int, log_tail: str, *, timed_out: bool = False) -> None:
        clean = redact(log_tail)
        super().__init__(f"build stage {stage!r} failed with exit code {rc}: {clean.strip()[-300:]}")
        self.stage = stage
        self.rc = rc
        self.log_tail = clean
        self.timed_out = timed_out


class PackagesMissing(BuildFailed):
    """This machine lacks Debian packages, and what would fetch them: other machines may have them."""

    exit_code = 42


class DiskFull(ContainerError):
    """What a build says ends with a disk that is full: no verdict on the commit, which is tried again."""

    exit_code = 41

    def __init__(self, stage: str, log_tail: str) -> None:
        said = ending(log_tail, 300)
        super().__init__(f"the disk was full in build stage {stage!r}, which says nothing about the commit: {said}")


class CommandTimedOut(ContainerError):
    """A command that had to finish did not finish in time."""

    exit_code = 32


class TaskError(DatasmithError):
    """A task folder or dataset cannot be used."""

    exit_code = 15


class InvalidTask(TaskError):
    """A task folder breaks its contract; `problems` lists every breach found, and `said` sums them up."""

    exit_code = 33

    def __init__(self, problems: Sequence[str], said: str = "") -> None:
        super().__init__(said or "; ".join(problems))
        self.problems = tuple(problems)


class TrialError(DatasmithError):
    """A trial could not be carried out, its files lack what they must say, or outages left no trial complete."""

    exit_code = 16


class AgentFailed(TrialError):
    """The agent broke down before it could hand in a patch."""

    exit_code = 34


class MeasurementFailed(TrialError):
    """Nothing could be measured: there is no score, and none is invented."""

    exit_code = 35


class PublishError(DatasmithError):
    """Something could not be given away; nothing is marked published that was not."""

    exit_code = 17
