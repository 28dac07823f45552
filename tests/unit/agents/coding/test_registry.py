"""Agents by short name and by address."""

from pathlib import Path

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


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("x = (", "SyntaxError: .* was never closed"),
        ("raise RuntimeError('no key')", r"RuntimeError: no key \(.*own_agent_.*\.py, line 1\)"),
        ("import math; math.sqrt('x')", "TypeError: must be real number"),
        ("class Own:\n    def __init__(self): pass", "TypeError: .* takes 1 positional argument but 2 were given"),
        ("class Own:\n    def __init__(self, options): options.kwargs['speed']", "KeyError: 'speed'"),
        ("class Own:\n    def __init__(self, options): open('/no/such/file')", "FileNotFoundError: .*/no/such/file"),
    ],
)
def test_an_own_class_that_breaks_down_is_a_configuration_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, cause: str
) -> None:
    """On import or on construction: its address and the cause are told."""
    module = f"own_agent_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=rf"agent_import_path '{module}:Own': {cause}.*example: my_agents"):
        load_agent(f"{module}:Own", AgentOptions("own"))


def test_what_an_own_class_prints_is_no_result_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On import and on construction: it goes to standard error."""
    module = f"own_agent_{tmp_path.name}"
    text = "print('imported')\nclass Own:\n    name = 'own'\n    def __init__(self, options): print('made')\n"
    (tmp_path / f"{module}.py").write_text(f"{text}    def solve(self): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_agent(f"{module}:Own", AgentOptions("own")).name == "own"
    assert capsys.readouterr() == ("", "imported\nmade\n")


def test_a_module_that_is_nowhere_is_told_where_it_is_looked_for() -> None:
    """The directory that one is in is not looked into: PYTHONPATH is."""
    with pytest.raises(ConfigError, match=r"No module named 'no_such_module' .*PYTHONPATH\)"):
        load_agent("no_such_module:X", AgentOptions("x"))


def test_an_unknown_name_lists_the_known_ones() -> None:
    """All of them."""
    with pytest.raises(ConfigError, match="claude, codex, command, gemini, mini_swe, nop, oracle"):
        agent_address("claud")
