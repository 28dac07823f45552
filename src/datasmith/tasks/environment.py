"""The seam to learning on a task: a sandbox to work in, and a reward for what was done there."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, Self, TypedDict, Unpack, cast

from datasmith.docker.engine import ExecResult
from datasmith.settings import Settings

if TYPE_CHECKING:
    from types import TracebackType

    from datasmith.tasks.task import Task

ENVIRONMENTS = "datasmith.evaluation.environment:environment_of"
"""What `Task.environment` calls; `module:name` takes a task, its folder or None, and the options."""

Shape = Literal["speedup", "log", "shaped"]
"""What a reward is: t_base / t_patched (a failure 0), its logarithm (a failure -1), or shaped to the expert's (-1)."""


class Options(TypedDict, total=False):
    """How an environment is made; what is left out is as `environment_of` has it."""

    max_rounds: int | None
    shape: Shape
    seed: int
    cores: Sequence[int] | None
    settings: Settings | None


class Rewarded(Protocol):
    """What the work so far is worth. `speedup` is None, and `workloads` empty, where it failed."""

    @property
    def outcome(self) -> str:
        """One of the outcomes of a trial."""

    @property
    def reason(self) -> str | None:
        """Why it is that one."""

    @property
    def reward(self) -> float:
        """Of all workloads together, in the shape asked for."""

    @property
    def speedup(self) -> float | None:
        """Geometric mean of t_base / t_patched."""

    @property
    def workloads(self) -> Mapping[str, float]:
        """The reward of each workload by itself."""


class Environment(Protocol):
    """A task in a sandbox without network; `with` it."""

    def reset(self) -> str:
        """A fresh sandbox with the tree at base; returns the instruction."""

    def exec(self, command: str | Sequence[str], *, timeout: float = 600.0, stdin: bytes = b"") -> ExecResult:
        """Run a command in the tree; a text is one for bash.

        Raises:
            TrialError: there was no reset().
        """

    def patch(self) -> str:
        """The git diff from base to the tree as it is now.

        Raises:
            TrialError: there was no reset(), or no diff can be taken.
        """

    def score(self) -> Rewarded:
        """Grade the tree as it is now; the sandbox is left as it is.

        Raises:
            MeasurementFailed: nothing can be said now.
            ContainerError: the sandboxes failed.
        """

    def close(self) -> None:
        """Stop the sandbox; a second call does nothing."""

    def __enter__(self) -> Self:
        """Itself."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        """Close it."""


class _Maker(Protocol):
    def __call__(self, task: "Task", folder: Path | str | None, **options: Unpack[Options]) -> Environment:
        """The environment of a task."""


def made(task: "Task", folder: Path | str | None, **options: Unpack[Options]) -> Environment:
    """The environment of a task, by whoever makes them."""
    module, _, name = ENVIRONMENTS.partition(":")
    return cast("_Maker", getattr(importlib.import_module(module), name))(task, folder, **options)
