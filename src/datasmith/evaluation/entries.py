"""Where the agents of a run come from: a --config file, or -a and -m on the command line."""

from collections.abc import Sequence
from pathlib import Path

from datasmith.counted import counted
from datasmith.errors import ConfigError, said_by
from datasmith.evaluation.config import NO_MODEL, REPEAT, AgentEntry, parse_entries, repeated, validated_entry

PAIR = "(example: -a claude -m claude-sonnet-4 -a nop -m none)"


def read_entries(config: Path) -> tuple[AgentEntry, ...]:
    """The agents of a --config file.

    Raises:
        ConfigError: the file cannot be read, or an entry is wrong; names its place.
    """
    try:
        text = config.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = f"cannot be read: {said_by(error)}"
        raise ConfigError(f"--config {config}: {problem} (example: --config agents.json)") from error
    return parse_entries(text, str(config))


def paired_entries(agents: Sequence[str], models: Sequence[str]) -> tuple[AgentEntry, ...]:
    """The agents of `-a AGENT -m MODEL ...`: the n-th model is the n-th agent's; no model at all means none for each.

    An agent is a short name, or `module:Class`.

    Raises:
        ConfigError: the numbers differ, or an agent is not known or given twice; names it.
    """
    if models and len(models) != len(agents):
        raise ConfigError(
            f"-m: {counted(len(models), 'model')} for {counted(len(agents), 'agent')}: give each -a its -m {PAIR}"
        )
    entries = tuple(
        validated_entry({"agent_import_path" if ":" in agent else "agent": agent, "model": model}, f"-a {agent}", PAIR)
        for agent, model in zip(agents, models or [NO_MODEL] * len(agents), strict=True)
    )
    again = repeated(entries)
    if again:
        raise ConfigError(f"-a {agents[again[1]]}: is given twice, with the same model {REPEAT}")
    return entries


def asked_entries(
    config: Path | None, agents: Sequence[str], models: Sequence[str]
) -> tuple[tuple[AgentEntry, ...], Path]:
    """The agents of a run, and the directory that relative paths of theirs start at.

    Raises:
        ConfigError: both ways are used, or none; or an agent is wrong.
    """
    if config is not None and (agents or models):
        raise ConfigError("--config and -a, -m exclude each other (example: --config agents.json)")
    if config is not None:
        return read_entries(config), config.parent.absolute()
    if not agents:
        raise ConfigError(f"no agent is given: --config FILE, or -a AGENT {PAIR}")
    return paired_entries(agents, models), Path.cwd()
