"""The seam to coding agents: a task and a sandbox go in, a patch comes out."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from datasmith.agents.coding.trajectory import TrajectoryStep
from datasmith.docker.engine import Container, Mount
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

    `patch` is a git diff against base ("" for no change); `failure` says why there is none. `stopped_by` names the
    budget that ended its work (as in "max_steps=30"): what it had done counts. `outage` says what was wrong with its
    model, where that ended its work: nothing follows about the agent. `steps` is what it did, as far as that is known.
    """

    patch: str
    usage: Usage
    wall_s: float
    log: str
    failure: str | None = None
    timed_out: bool = False
    stopped_by: str | None = None
    outage: str | None = None
    steps: tuple[TrajectoryStep, ...] = ()


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


@runtime_checkable
class Equipped(Protocol):
    """An agent whose sandbox must be shown something: a program, a way to a model."""

    def equip(self) -> AbstractContextManager[tuple[Agent, Sequence[Mount]]]:
        """Who works in one sandbox, and what that one must be shown while it does.

        Raises:
            ModelUnavailable: its model cannot be reached: there is no use in starting a sandbox.
        """


@contextmanager
def equipped(agent: Agent) -> Iterator[tuple[Agent, Sequence[Mount]]]:
    """See Equipped; most agents need nothing."""
    if isinstance(agent, Equipped):
        with agent.equip() as found:
            yield found
    else:
        yield agent, ()


@runtime_checkable
class Priced(Protocol):
    """An agent that knows beforehand whether its cost will be known."""

    @property
    def tells_cost(self) -> bool:
        """Whether anybody says what its model costs."""
