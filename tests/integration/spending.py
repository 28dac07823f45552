"""An agent that changes nothing and says what that has cost: for --max-cost."""

from datasmith.agents.coding.base import AgentResult, Usage
from datasmith.agents.coding.options import AgentOptions
from datasmith.docker.engine import Container
from datasmith.tasks.task import Task


class SpendingAgent:
    """`agent_kwargs`: cost, in USD; without it nobody knows."""

    def __init__(self, options: AgentOptions) -> None:
        options.refuse_unknown(frozenset({"cost"}))
        cost = options.kwargs.get("cost")
        self._cost = float(cost) if isinstance(cost, int | float) else None

    @property
    def name(self) -> str:
        return "spending"

    def solve(self, task: Task, container: Container, *, timeout_s: float) -> AgentResult:
        return AgentResult("", Usage(cost_usd=self._cost), 0.1, "paid\n")
