"""Agents on the command line: paired with their models, named like those of a file."""

from pathlib import Path

import pytest

from datasmith.errors import ConfigError
from datasmith.evaluation.config import AgentEntry, labels
from datasmith.evaluation.entries import asked_entries, paired_entries, read_entries


def test_the_nth_model_is_the_nth_agents() -> None:
    """Short names and classes; an agent twice with two models is two configurations (case 76: told apart by model)."""
    found = paired_entries(["nop", "my.agents:Fast", "nop"], ["none", "anthropic/claude-sonnet-4", "x/y"])
    assert [(entry.agent, entry.agent_import_path, entry.model) for entry in found] == [
        ("nop", None, "none"),
        (None, "my.agents:Fast", "anthropic/claude-sonnet-4"),
        ("nop", None, "x/y"),
    ]
    assert found[1].config_id(2) == "agent-2-Fast:anthropic-claude-sonnet-4"
    assert labels(found) == ("nop", "Fast-anthropic-claude-sonnet-4", "nop-x-y")


def test_an_entry_is_named_as_the_older_harness_has_it() -> None:
    """Case 76, as it stands there."""
    entry = AgentEntry(name="terminus-2", agent_import_path="my.agents:Terminus", model="anthropic/claude-sonnet-4")
    assert entry.config_id(2) == "agent-2-terminus-2:anthropic-claude-sonnet-4"


def test_no_model_at_all_is_none_for_each() -> None:
    """What `-a nop -a oracle` means."""
    assert [entry.model for entry in paired_entries(["nop", "oracle"], [])] == ["none", "none"]


@pytest.mark.parametrize(
    ("agents", "models", "says"),
    [
        (["nop"], ["a", "b"], "2 models for 1 agent:"),
        (["nop", "gone"], [], "-a gone: agent 'gone' is not known"),
        (["nop"], [""], "-a nop: model: "),
        (["nop", "oracle", "nop"], [], "-a nop: is given twice, with the same model"),
        (["a:b:c"], ["m"], "-a a:b:c: agent_import_path"),
    ],
)
def test_a_wrong_agent_is_named(agents: list[str], models: list[str], says: str) -> None:
    """With an example."""
    with pytest.raises(ConfigError, match="example") as caught:
        paired_entries(agents, models)
    assert says in str(caught.value)


def test_paths_of_a_file_begin_at_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And do so wherever the run is gone on with: the directory is absolute."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text('[{"agent": "nop", "model": "none"}]')
    entries, directory = asked_entries(Path("a.json"), [], [])
    assert (len(entries), directory) == (1, tmp_path)


def test_a_file_that_is_not_there_is_named_once() -> None:
    """What the system said of it, without its number and the path again."""
    with pytest.raises(ConfigError) as caught:
        read_entries(Path("gone.json"))
    assert (
        str(caught.value)
        == "--config gone.json: cannot be read: No such file or directory (example: --config agents.json)"
    )
