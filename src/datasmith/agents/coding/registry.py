"""Which coding agents there are: short names, and any `module:Class` beside them."""

import importlib
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from traceback import extract_tb
from typing import cast

from datasmith.agents.coding.base import Agent
from datasmith.agents.coding.options import AgentOptions
from datasmith.agents.coding.strangers import UNSPEAKABLE, Caught, brief, said, told
from datasmith.errors import ConfigError
from datasmith.settings import agent_name

AGENTS = {
    "nop": "datasmith.agents.coding.nop:NopAgent",
    "oracle": "datasmith.agents.coding.oracle:OracleAgent",
    "command": "datasmith.agents.coding.command:CommandAgent",
    "claude": "datasmith.agents.coding.cli_agents:ClaudeAgent",
    "codex": "datasmith.agents.coding.cli_agents:CodexAgent",
    "gemini": "datasmith.agents.coding.cli_agents:GeminiAgent",
    "mini_swe": "datasmith.agents.coding.cli_agents:MiniSweAgent",
}
"""Short name -> address of a class that is constructed with one AgentOptions."""
_EXAMPLE = "(example: my_agents.fast:FastAgent, of a package that is installed or lies on PYTHONPATH)"


def agent_address(name: str) -> str:
    """The `module:Class` behind a short name.

    Raises:
        ConfigError: no agent has this name.
    """
    address = AGENTS.get(agent_name(name))
    if address is None:
        raise ConfigError(f"agent {name!r} is not known (known: {', '.join(sorted(AGENTS))}; or agent_import_path)")
    return address


def load_agent(address: str, options: AgentOptions) -> Agent:
    """Import the class at `module:Class` and construct it with `options`.

    Raises:
        ConfigError: the address leads nowhere, its module or its class breaks down, or the agent refuses its options.
    """
    made: list[Agent] = []
    with Caught() as caught, redirect_stdout(sys.stderr):  # what it prints is none of the command's results
        made.append(_made(address, options))
    error = caught.error
    if error is None:
        return made[0]
    if address in AGENTS.values() or isinstance(error, KeyboardInterrupt):
        raise error  # a defect of ours, or somebody who stops the program
    words = said(lambda: str(error))
    if isinstance(error, ConfigError) and words != UNSPEAKABLE:
        raise ConfigError(words) from error
    raise ConfigError(f"agent_import_path {address!r}: {told(error)}{_where(error)} {_EXAMPLE}") from error


def _made(address: str, options: AgentOptions) -> Agent:
    module_name, _, attribute = address.partition(":")
    factory = getattr(importlib.import_module(module_name), attribute)
    if not callable(factory):
        raise ConfigError(f"agent_import_path {address!r} is not a class {_EXAMPLE}")
    agent = cast(Callable[[AgentOptions], Agent], factory)(options)
    if not str(agent.name).strip() or not callable(agent.solve):
        raise ConfigError(f"agent_import_path {address!r} has no name, or no solve() {_EXAMPLE}")
    return agent


def _where(error: BaseException) -> str:
    """The innermost line of somebody else's file that it came from, as ` (FILE, line N)`; empty where there is none."""
    ours = (__file__, importlib.__file__)
    frames = [
        one for one in extract_tb(error.__traceback__) if one.filename not in ours and not one.filename.startswith("<")
    ]
    return f" ({brief(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
