"""What a run is asked to do: the agents of the --config file, and the settings that make two runs the same run."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from datasmith.agents.coding.base import Agent
from datasmith.agents.coding.options import AgentOptions
from datasmith.agents.coding.registry import agent_address, load_agent
from datasmith.errors import ConfigError
from datasmith.misfits import misfit
from datasmith.settings import Settings, agent_name
from datasmith.tasks.folder import TEST_TIMEOUT_S
from datasmith.tasks.quantities import MOST
from datasmith.workloads.impact import Select
from datasmith.written_json import written_json

EXAMPLE = '(example: [{"agent": "nop", "model": "none"}])'
REPEAT = "(example, to let an agent try twice: --n-attempts 2)"
NAMED = '(to choose another name, of letters, digits, "." and "-": {"agent": "nop", "model": "none", "name": "first"})'
MOST_ATTEMPTS = 10_000
KEPT_AGENTS = "config.agents"
"""Where run.json says which agents a run has."""
NO_MODEL = "none"
"""What an entry says where its agent asks no model."""
WITHOUT_MODEL = ("nop", "oracle", "command")
"""Agents that ask none: the model that their entry gives is a part of their name, and no more."""


class AgentEntry(BaseModel):
    """One agent under test: exactly one of `agent` and `agent_import_path`, and always a model.

    `name` stands for the agent in folders and tables, where several entries have the same one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent: Annotated[str, AfterValidator(agent_name)] | None = None
    agent_import_path: str | None = None
    model: str = Field(min_length=1)
    agent_kwargs: Mapping[str, JsonValue] = Field(default_factory=dict)
    model_kwargs: Mapping[str, JsonValue] = Field(default_factory=dict)
    name: str | None = Field(default=None, min_length=1, max_length=80)

    @model_validator(mode="after")
    def _one_agent(self) -> Self:
        if self.agent is not None and self.agent_import_path is not None:
            raise ValueError("gives both agent and agent_import_path; keep one")
        if self.agent_import_path is not None and not re.fullmatch(r"[\w.]+:\w+", self.agent_import_path):
            raise ValueError(f"agent_import_path {self.agent_import_path!r} is not of the form module:Class")
        if self.agent is None and self.agent_import_path is None:
            raise ValueError("gives neither agent nor agent_import_path")
        return self

    @property
    def address(self) -> str:
        """`module:Class` of the agent.

        Raises:
            ConfigError: no agent has this name.
        """
        return self.agent_import_path or agent_address(self.agent or "")

    @property
    def short_name(self) -> str:
        """The name that the entry gives, else the agent's, or its class's."""
        return self.name or self.agent or (self.agent_import_path or "").rpartition(":")[2]

    def config_id(self, number: int) -> str:
        """The entry's name among its run's, as the older harness has it: `agent-2-terminus-2:anthropic-claude-4`."""
        words = (re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-") for text in (self.short_name, self.model))
        return f"agent-{number}-{':'.join(words)}"

    def options(self, directory: Path, settings: Settings | None = None) -> AgentOptions:
        """What the agent's constructor gets; relative paths in it start at `directory`."""
        return AgentOptions(self.short_name, self.model, self.agent_kwargs, self.model_kwargs, directory, settings)


def load_agents(entries: Sequence[AgentEntry], source: str, directory: Path, settings: Settings) -> tuple[Agent, ...]:
    """The agents of all entries.

    Raises:
        ConfigError: names `source` and the place of the entry (without a source, its agent on the command line) whose
            agent lacks a program, a key or an option.
    """
    found = []
    for index, entry in enumerate(entries):
        try:
            found.append(load_agent(entry.address, entry.options(directory, settings)))
        except ConfigError as error:
            named = f"-a {entry.agent or entry.agent_import_path}"
            where = f"{source}: {place_of(index, entries)}" if source else named
            raise ConfigError(f"{where}: {error}") from error
    return tuple(found)


def parse_entries(text: str, source: str) -> tuple[AgentEntry, ...]:
    """Read a --config file's text.

    Raises:
        ConfigError: names `source`, the entry's place and what is wrong with it; or an entry is there twice.
    """
    try:
        rows = written_json(text)
    except ValueError as error:
        raise ConfigError(f"--config {source}: not JSON as it should be: {error} {EXAMPLE}") from error
    if not isinstance(rows, list) or not rows:
        raise ConfigError(f"--config {source}: not a non-empty list of agents {EXAMPLE}")
    places = [f"--config {source}: {place_of(at, rows)}" for at in range(len(rows))]
    entries = tuple(validated_entry(row, where, EXAMPLE) for row, where in zip(rows, places, strict=True))
    again = repeated(entries)
    if again:
        raise ConfigError(f"{places[again[1]]} is the same as entry {again[0] + 1} {REPEAT}")
    return entries


def place_of(index: int, entries: Sequence[object]) -> str:
    """How people count: `entry 2 of 3` is at index 1."""
    return f"entry {index + 1} of {len(entries)}"


def repeated(entries: Sequence[AgentEntry]) -> tuple[int, int] | None:
    """The indexes of the first two entries that are the same agent, asked for in the same way."""
    facts = [(each.address, each.model, dict(each.agent_kwargs), dict(each.model_kwargs)) for each in entries]
    return next(((facts.index(fact), at) for at, fact in enumerate(facts) if fact in facts[:at]), None)


def validated_entry(row: JsonValue, where: str, example: str) -> AgentEntry:
    """The entry that `row` describes.

    Raises:
        ConfigError: it is none, no agent has this name, or nobody would read its model_kwargs; begins with `where`.
    """
    try:
        entry = AgentEntry.model_validate(row)
        _refuse_unread(entry)
    except ValidationError as error:
        raise ConfigError(f"{where}: {misfit(error, AgentEntry.model_fields)} {example}") from error
    except ConfigError as error:
        raise ConfigError(f"{where}: {error} {example}") from error
    return entry


def _refuse_unread(entry: AgentEntry) -> None:
    """Raise ConfigError where no agent has the entry's name, or it has model_kwargs and its agent asks no model."""
    asks = entry.address not in map(agent_address, WITHOUT_MODEL) and entry.model != NO_MODEL
    if entry.model_kwargs and not asks:
        unread = ", ".join(sorted(entry.model_kwargs))
        raise ConfigError(f"model_kwargs of {entry.short_name!r}: unknown {unread} (it asks no model, and reads none)")


def labels(entries: Sequence[AgentEntry]) -> tuple[str, ...]:
    """A distinct name for each entry, safe as a folder: its own, or `nop`, `claude-gpt-5`, `command-2` for a second."""
    taken: dict[str, int] = {}
    names = []
    for entry in entries:
        name = re.sub(r"[^A-Za-z0-9.]+", "-", _asked_name(entry)).strip("-.")[:80] or "agent"
        taken[name] = taken.get(name, 0) + 1
        names.append(name if taken[name] == 1 else f"{name}-{taken[name]}")
    if len(set(names)) < len(names):
        raise ConfigError(f"the agents' names collide: {', '.join(names)} {NAMED}")
    return tuple(names)


def _asked_name(entry: AgentEntry) -> str:
    return entry.short_name if entry.name or entry.model == NO_MODEL else f"{entry.short_name}-{entry.model}"


def renamed(entries: Sequence[AgentEntry]) -> str:
    """Which agents have another label than the name that they were given, in one line; empty where none has."""
    asked = map(_asked_name, entries)
    other = [f"{name!r} is {label}" for name, label in zip(asked, labels(entries), strict=True) if name != label]
    return f"agents in folders and tables: {', '.join(other)} {NAMED}" if other else ""


def option_of(name: str) -> str:
    """`--n-attempts` of `n_attempts`."""
    return f"--{name.replace('_', '-')}"


@contextmanager
def as_asked(named: Callable[[str], str] = option_of) -> Iterator[None]:
    """Inside, a RunConfig is made of what somebody asked for.

    Raises:
        ConfigError: it cannot be; says which value, by its option, or as it is `named`.
    """
    try:
        yield
    except ValidationError as error:
        raise ConfigError(f"{misfit(error, named=named)} (example: {named('seed')} 7)") from error


class RunConfig(BaseModel):
    """Everything that decides a run's results. Two equal ones are the same run: it is gone on with, not repeated.

    `max_rounds` None, `precise` and `select` choose the measuring plan; `timeout_s` is the agents' time limit.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset: str
    release: str
    task_ids: tuple[str, ...]
    agents: tuple[AgentEntry, ...]
    n_attempts: int = Field(default=1, ge=1, le=MOST_ATTEMPTS)
    seed: int = Field(default=0, ge=0, le=MOST)
    timeout_s: float = Field(default=3600.0, gt=0, allow_inf_nan=False)
    precise: bool = False
    max_rounds: int | None = Field(default=None, ge=2)
    test_timeout_s: float = Field(default=TEST_TIMEOUT_S, gt=0, allow_inf_nan=False)
    benchmark_timeout_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """The limit of each launch; None: the benchmark's own."""
    select: Select = "all"
    engine: str

    @property
    def labels(self) -> tuple[str, ...]:
        """The agents' names in folders and tables, in the order of `agents`."""
        return labels(self.agents)

    def run_id(self) -> str:
        """The name of a run that was given none: equal configurations have the same, so repeating a command resumes."""
        digest = hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:10]
        stem = re.sub(r"[^A-Za-z0-9.]+", "-", Path(self.dataset).name).strip("-.") or "run"
        return f"{stem}-{digest}"

    def changes(self, other: "RunConfig") -> tuple[str, ...]:
        """`field: old -> new` for each field in which `other` differs."""
        old, new = self.model_dump(mode="json"), other.model_dump(mode="json")
        return tuple(f"{name}: {_short(old[name])} -> {_short(new[name])}" for name in old if old[name] != new[name])


def _short(value: JsonValue) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
