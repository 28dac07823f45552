"""The seam to coding agents: a task and a sandbox go in, a patch comes out."""

from dataclasses import dataclass
from typing import Protocol

from datasmith.docker.engine import Container
from datasmith.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Usage:
    """What an agent spent; None is unknown, never zero."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class AgentResult:
    """What an agent handed in.

    `patch` is a git diff against base ("" for no change); `failure` says why there is none.
    """

    patch: str
    usage: Usage
    wall_s: float
    log: str
    failure: str | None = None
    timed_out: bool = False


class Agent(Protocol):
    """Something that tries to make the code in a sandbox faster."""

    @property
    def name(self) -> str:
        """Short name, used in run folders and tables."""

    def solve(self, task: Task, container: Container, *, timeout_s: float) -> AgentResult:
        """Work in `container` (a fresh, writable sandbox of the task's sealed image) and hand in a patch.

        Raises:
            AgentFailed: the agent itself broke down; this is not the task's and not the sandbox's fault.
        """
