"""The --config file and the identity of a run."""

import json
import subprocess
import sys

import pytest
from pydantic import ValidationError

from datasmith.agents.coding.registry import agent_address
from datasmith.errors import ConfigError
from datasmith.evaluation.config import AgentEntry, RunConfig, labels, parse_entries, renamed

GOOD = {"agent": "nop", "model": "none"}


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "non-empty list"),
        ({}, "non-empty list"),
        ([GOOD, {**GOOD, "agent_import_path": "a:B"}], "entry 2 of 2: gives both"),
        ([{"agent": "nop"}], "entry 1 of 1: model is missing"),
        ([{"agent": "nop", "model": ""}], "entry 1 of 1: model"),
        ([GOOD, GOOD, {**GOOD, "modle": "x"}], "entry 3 of 3: unknown key 'modle'; did you mean 'model'?"),
        ([{"agnt": "nop"}], "entry 1 of 1: unknown key 'agnt'; did you mean 'agent'?"),
        ([{**GOOD, "agent_kwarg": {}}], "entry 1 of 1: unknown key 'agent_kwarg'; did you mean 'agent_kwargs'?"),
        (
            [{**GOOD, "speed": 1}],
            "entry 1 of 1: unknown key 'speed'; known: agent, agent_import_path, model, agent_kwargs, ",
        ),
        ([GOOD, {**GOOD, "model": "m"}, GOOD], "entry 3 of 3 is the same as entry 1 (example, to let"),
        ([GOOD, {"agent_import_path": agent_address("nop"), "model": "none"}], "entry 2 of 2 is the same as entry 1"),
        ([{"agent_import_path": "my.agents.Fast", "model": "m"}], "entry 1 of 1: agent_import_path 'my.agents.Fast'"),
        ([{"model": "m"}], "entry 1 of 1: gives neither"),
        ([{"agent": "nobody", "model": "m"}], "entry 1 of 1: agent 'nobody' is not known"),
        (
            [GOOD, {**GOOD, "model_kwargs": {"top_p": 1, "effort": "high"}}],
            "entry 2 of 2: model_kwargs of 'nop': unknown effort, top_p (it asks no model",
        ),
        (
            [{"agent": "oracle", "model": "gpt-5", "model_kwargs": {"effort": "high"}}],
            "entry 1 of 1: model_kwargs of 'oracle'",
        ),
        (
            [{"agent_import_path": agent_address("nop"), "model": "m", "model_kwargs": {"x": 1}}],
            "of 'NopAgent': unknown x",
        ),
        ([{"agent_import_path": "a:B", "model": "none", "model_kwargs": {"x": 1}}], "model_kwargs of 'B': unknown x"),
        (["nop"], "entry 1 of 1"),
        ([{**GOOD, "agent_kwargs": 3}], "entry 1 of 1: agent_kwargs"),
    ],
)
def test_a_wrong_entry_is_named_by_its_place(rows: object, says: str) -> None:
    """Case 72: what is wrong, in which entry, as people count, and an example of a right one."""
    with pytest.raises(ConfigError) as caught:
        parse_entries(json.dumps(rows), "c.json")
    assert says in str(caught.value)
    assert "c.json" in str(caught.value)
    assert "example" in str(caught.value)


def test_an_unknown_agent_is_refused_where_python_checks_no_assertions() -> None:
    """PYTHONOPTIMIZE=1 leaves `assert` out, and nothing that an entry has to pass."""
    program = (
        "from datasmith.evaluation.config import parse_entries\n"
        """parse_entries('[{"agent": "nobody", "model": "m"}]', "c.json")"""
    )
    done = subprocess.run([sys.executable, "-O", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ConfigError: --config c.json: entry 1 of 1: agent 'nobody' is not known" in done.stderr


def test_a_model_that_is_asked_gets_its_words() -> None:
    """Of the programs that ask one, and of anybody's class."""
    told = {"model": "gpt-5", "model_kwargs": {"reasoning": {"effort": "high"}}}
    entries = parse_entries(json.dumps([{"agent": "codex", **told}, {"agent_import_path": "a:B", **told}]), "c.json")
    assert [dict(entry.model_kwargs) for entry in entries] == [told["model_kwargs"]] * 2


@pytest.mark.parametrize("text", ["", "[", "[" * 100_000, "nul"])
def test_text_that_is_no_json_is_one_error(text: str) -> None:
    """Whatever the bytes, the answer is a ConfigError that names the file."""
    with pytest.raises(ConfigError, match=r"c\.json"):
        parse_entries(text, "c.json")


def test_a_key_that_stands_twice_is_named() -> None:
    """Whichever of the two was meant."""
    with pytest.raises(ConfigError, match=r"--config c\.json: not JSON as it should be: 'model' stands there twice"):
        parse_entries('[{"agent": "nop", "model": "none", "model": "gpt-5"}]', "c.json")


def test_a_label_that_is_not_the_name_that_was_given_is_told() -> None:
    """Each in one line, with how to choose a name; nothing is said of those that are what they were called."""
    nop = AgentEntry(agent="nop", model="none")
    own, model = nop.model_copy(update={"name": "my agent"}), AgentEntry(agent="claude", model="openai/gpt-5")
    assert renamed([nop, AgentEntry(agent="claude", model="gpt-5")]) == ""
    told = renamed([nop, nop, own, model])
    assert told.startswith(
        "agents in folders and tables: 'nop' is nop-2, 'my agent' is my-agent, 'claude-openai/gpt-5' is"
    )
    assert '"name": "first"' in told and "\n" not in told


def test_labels_are_distinct_and_safe_as_folders() -> None:
    """Two entries never share a folder, and no label leads out of one."""
    rows = [
        GOOD,
        {**GOOD, "agent_kwargs": {"x": 1}},
        {"agent": "command", "model": "../../etc/gpt 5"},
        {"agent_import_path": "a.b:C", "model": "m"},
        {**GOOD, "agent_kwargs": {"x": 2}, "name": "does nothing"},
        {"agent": "command", "model": "m", "name": "mine"},
    ]
    names = labels(parse_entries(json.dumps(rows), "c.json"))
    assert names == ("nop", "nop-2", "command-..-..-etc-gpt-5", "C-m", "does-nothing", "mine")
    assert not any("/" in name for name in names)


def config(**changes: object) -> RunConfig:
    base = {"dataset": "d/tasks", "release": "local", "task_ids": ["a_b_1"], "agents": [GOOD], "engine": "bubblewrap"}
    return RunConfig.model_validate({**base, **changes})


def test_the_same_configuration_has_the_same_run_id() -> None:
    """Repeating a command resumes; another seed is another run."""
    assert config().run_id() == config().run_id()
    assert config().run_id() != config(seed=1).run_id()
    assert config().run_id().startswith("tasks-")


def test_an_agent_by_its_programs_name_is_the_same_agent() -> None:
    """Under both names a run is the same run, with the same folders."""
    ours, programs = (config(agents=[{"agent": name, "model": "m"}]) for name in ("mini_swe", "mini-swe-agent"))
    assert programs.labels == ours.labels == ("mini-swe-m",)
    assert programs.run_id() == ours.run_id()
    assert agent_address("mini-swe-agent") == agent_address("mini_swe")


@pytest.mark.parametrize("name", ["timeout_s", "test_timeout_s", "benchmark_timeout_s"])
def test_a_time_limit_is_a_number_that_run_json_can_hold(name: str) -> None:
    """JSON has no infinity: what was written could not be read again."""
    with pytest.raises(ValidationError, match=name):
        config(**{name: float("inf")})


def test_a_change_is_named() -> None:
    """Case 79: what changed, from what, to what."""
    assert config().changes(config(n_attempts=2)) == ("n_attempts: 1 -> 2",)
    assert config().changes(config()) == ()
