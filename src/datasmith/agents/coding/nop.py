"""The agent that does nothing: its score must not differ from 1, whatever the machine does."""

from datasmith.agents.coding.base import AgentResult, Usage
from datasmith.agents.coding.options import AgentOptions
from datasmith.docker.engine import Container
from datasmith.tasks.task import Task

FREE = Usage(input_tokens=0, output_tokens=0, cost_usd=0.0)
"""What an agent without a model spends."""


class NopAgent:
    """Hands in the empty patch."""

    def __init__(self, options: AgentOptions) -> None:
        options.refuse_unknown()

    @property
    def name(self) -> str:
        """`nop`."""
        return "nop"

    def solve(self, task: Task, container: Container, *, timeout_s: float) -> AgentResult:  # noqa: ARG002 the Protocol's
        """Hand in the empty patch at once."""
        return AgentResult(patch="", usage=FREE, wall_s=0.0, log="")
