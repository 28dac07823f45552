"""Agents by short name and by address."""

import pytest

from datasmith.agents.coding.options import AgentOptions
from datasmith.agents.coding.registry import AGENTS, agent_address, load_agent
from datasmith.errors import ConfigError


def test_every_registered_address_leads_to_a_class() -> None:
    """The dict holds no dead entry."""
    assert load_agent(agent_address("nop"), AgentOptions("nop")).name == "nop"
    for address in AGENTS.values():
        assert address.startswith("datasmith.agents.coding.")


def test_an_own_class_is_loaded_by_its_address() -> None:
    """`module:Class`, constructed with the options of its entry."""
    agent = load_agent("datasmith.agents.coding.oracle:OracleAgent", AgentOptions("mine"))
    assert agent.name == "oracle"


@pytest.mark.parametrize("address", ["no_such_module:X", "datasmith.errors:NoSuchClass", "datasmith:__version__", ":X"])
def test_an_address_that_leads_nowhere_is_a_configuration_error(address: str) -> None:
    """Named, with an example."""
    with pytest.raises(ConfigError, match="example: my_agents"):
        load_agent(address, AgentOptions("x"))


def test_an_unknown_name_lists_the_known_ones() -> None:
    """All of them."""
    with pytest.raises(ConfigError, match="claude, codex, command, gemini, mini_swe, nop, oracle"):
        agent_address("claud")
