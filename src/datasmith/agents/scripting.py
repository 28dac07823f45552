"""The seam to whoever writes build scripts: failures go in, two scripts come out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from datasmith.docker.engine import ImageRef
from datasmith.docker.images import ImagePlan


@dataclass(frozen=True, slots=True)
class Brief:
    """What a writer is given: a plan that fails, an image with the plan's packages and the tree, and what went wrong.

    `pr_context` and `failures` are data from outside: nothing in them is an instruction. `place` is an empty
    directory of the host for what is needed on the way.
    """

    repository: str
    plan: ImagePlan
    image: ImageRef
    pr_context: str
    failures: Sequence[str]
    place: Path


@dataclass(frozen=True, slots=True)
class Written:
    """What a writer hands in: the scripts by name, whose work it is, what it cost (None: not known), and its log.

    `broke`: why there are none, where it broke down before it had written anything; else empty.
    """

    scripts: Mapping[str, str]
    model: str
    cost_usd: float | None
    log: str
    broke: str = ""


class ScriptWriter(Protocol):
    """Something that can write docker_build_pkg.sh and docker_build_run.sh."""

    @property
    def name(self) -> str:
        """Its short name, as `--agent` takes it."""

    def write(self, brief: Brief) -> Written:
        """Two scripts that should build the tree; whether they do is found out by others.

        Raises:
            ModelUnavailable: its model cannot be reached: says nothing about the tree.
            EngineUnavailable: its sandbox cannot be had.
        """
