"""The coding agents of the command line under test: a task goes in, the diff of what they changed comes out."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from datasmith.agents.coding.base import Agent, AgentResult
from datasmith.agents.coding.budget import FIXED, Budget
from datasmith.agents.coding.clis import CLIS, TELL_COST, Ask, Lack
from datasmith.agents.coding.dialects import as_utf8
from datasmith.agents.coding.diff import baseline, extract_patch
from datasmith.agents.coding.options import AgentOptions
from datasmith.agents.coding.prices import price_of, read_prices
from datasmith.agents.coding.work import CodingCli, Turn, Workplace, last_line
from datasmith.docker.engine import Container, Mount
from datasmith.errors import AgentFailed, ConfigError
from datasmith.tasks.task import Task

if TYPE_CHECKING:
    from datasmith.settings import Settings

EXAMPLE = '(example: {"timeout_s": 1800, "max_steps": 50, "max_cost_usd": 2})'


class CliOptions(BaseModel):
    """agent_kwargs of all four: budgets. `timeout_s` counts where it is shorter than the run's own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    timeout_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    max_steps: int | None = Field(default=None, gt=0)
    max_cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class CliAgent:
    """One of CLIS as an agent under test: its subclass says which.

    It works in the task's tree, reaches its model and nothing else, and finds no secret.
    """

    short: ClassVar[str]

    def __init__(self, options: AgentOptions) -> None:
        """Find the program, the model and the prices.

        Raises:
            ConfigError: one of them is missing, or an option cannot be kept; names the setting and an example.
        """
        self._options = options.read_as(CliOptions, EXAMPLE)
        settings = options.settings or _settings()
        if options.model == "none":
            raise ConfigError(
                f"{self.short} asks a model: {self.short!r} cannot work with model 'none' (example: -m claude-sonnet-4)"
            )
        wrong = sorted(FIXED & options.model_kwargs.keys())
        if wrong:
            raise ConfigError(f'model_kwargs: {", ".join(wrong)} is said by the agent (example: {{"temperature": 0}})')
        ask = Ask(options.model, self._options.max_cost_usd, options.model_kwargs)
        made = CLIS[self.short](settings, ask)
        if isinstance(made, Lack):
            raise ConfigError(f"{self.short}: {made}")
        prices = read_prices(settings.prices)
        self._cli: CodingCli = made
        keeps = self.short in TELL_COST
        self._budget = Budget(self._options.max_steps, ask.max_cost_usd, prices, price_of(prices, ask.model), keeps)
        if ask.max_cost_usd and not self.tells_cost:
            raise ConfigError(
                f"agent_kwargs of {self.short!r}: max_cost_usd cannot be kept: nobody says what {ask.model!r} costs"
                f" (example: FC_PRICES=prices.json, which holds {{{ask.model!r}: ...}})".replace("'", '"')
            )

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return self.short

    @property
    def tells_cost(self) -> bool:
        """Whether anybody says what its model costs: the table of prices, or it."""
        return self._budget.fallback is not None or self._budget.keeps_dollars

    @contextmanager
    def equip(self) -> Iterator[tuple[Agent, Sequence[Mount]]]:
        """See Equipped."""
        with Workplace(self._cli, self._budget) as workplace:
            yield _AtWork(self, workplace), workplace.mounts

    def solve(self, task: Task, container: Container, *, timeout_s: float) -> AgentResult:  # noqa: ARG002 the Protocol's
        """Not to be called: who works is what `equip` gives.

        Raises:
            AgentFailed: always.
        """
        raise AgentFailed(f"{self.name} was given no way to its model in the sandbox of {task.task_id}")

    def patience(self, timeout_s: float) -> float:
        """Seconds that it may work."""
        return min(timeout_s, self._options.timeout_s or timeout_s)


class _AtWork:
    """An agent beside its open workplace."""

    def __init__(self, agent: CliAgent, workplace: Workplace) -> None:
        self._agent = agent
        self._workplace = workplace

    @property
    def name(self) -> str:
        return self._agent.name

    def solve(self, task: Task, container: Container, *, timeout_s: float) -> AgentResult:
        """See Agent."""
        start = baseline(container)
        begun = time.monotonic()
        turn = self._workplace.work(container, _prompt(task), timeout_s=self._agent.patience(timeout_s))
        wall = time.monotonic() - begun
        patch, failure = "", _failure(self.name, turn)
        try:
            patch = extract_patch(container, start)
        except AgentFailed as error:
            failure = str(error)
        return AgentResult(
            patch=patch,
            usage=turn.usage,
            wall_s=wall,
            log=f"{turn.log}\n[exit code {turn.done.rc}{', timed out' if turn.done.timed_out else ''}]\n",
            failure=failure,
            timed_out=turn.done.timed_out,
            stopped_by=turn.stopped_by,
            outage=None if turn.done.ok and patch else turn.outage,
            steps=turn.steps,
        )


class ClaudeAgent(CliAgent):
    """Claude Code."""

    short = "claude"


class CodexAgent(CliAgent):
    """OpenAI's codex."""

    short = "codex"


class GeminiAgent(CliAgent):
    """Google's gemini."""

    short = "gemini"


class MiniSweAgent(CliAgent):
    """mini-swe-agent."""

    short = "mini_swe"


def _failure(name: str, turn: Turn) -> str | None:
    """Why an agent that ended by itself, and badly, has failed."""
    if turn.done.ok or turn.done.timed_out or turn.stopped_by:
        return None
    return f"{name} ended with exit code {turn.done.rc}: {last_line(turn.log)}"


def _prompt(task: Task) -> str:
    template = files("datasmith.agents").joinpath("prompts", "solve.md").read_text(encoding="utf-8")
    instruction = as_utf8(task.instruction).replace("\0", "")
    return Template(template).substitute(instruction=instruction, benchmark_dir=task.benchmark_dir)


def _settings() -> "Settings":
    from datasmith.settings import load_settings

    return load_settings()
