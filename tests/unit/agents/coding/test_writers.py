"""Which coding agent is taken, on what terms, and what its output says of its price."""

import re
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from datasmith.agents.coding.clis import CLIS, NO_KEY, _told_by_claude, _told_by_mini
from datasmith.agents.coding.writers import budget_of, check_writer, find_cli, open_writer, terms_of
from datasmith.docker.engine import ContainerEngine
from datasmith.errors import ConfigError
from datasmith.settings import Settings, known_variables

KEYS = {"ANTHROPIC_API_KEY": "key-a", "OPENAI_API_KEY": "key-o", "GEMINI_API_KEY": "key-g"}
ELF = b"\x7fELF and more"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable and no program of this machine's reaches the tests."""
    for name in known_variables():
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "path").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.chdir(tmp_path)


def install(agents: Path) -> None:
    """All four programs, laid out as npm and uv lay them out."""
    modules = agents / "node_modules"
    machine = "codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
    files = {
        "@anthropic-ai/claude-code/bin/claude.exe": b"a stub",
        "@anthropic-ai/claude-code-linux-x64/claude": ELF,
        "@openai/codex/bin/codex.js": b"js",
        f"@openai/{machine}": ELF,
        "@google/gemini-cli/bundle/gemini.js": b"js",
    }
    for name, content in files.items():
        (modules / name).parent.mkdir(parents=True, exist_ok=True)
        (modules / name).write_bytes(content)
    (modules / ".bin").mkdir()
    for name, target in (("claude", 0), ("codex", 2), ("gemini", 4)):
        (modules / ".bin" / name).symlink_to(modules / list(files)[target])
    packages = agents / "mini/lib/python3.11/site-packages/minisweagent"
    packages.mkdir(parents=True)
    (agents / "mini/bin").mkdir()
    (agents / "mini/bin/mini").write_text(f"#!{agents}/mini/bin/python\n")


def given(agents: Path, **values: str) -> Settings:
    return Settings(agents_dir=agents, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["mini_swe", "mini-swe-agent"])
def test_an_agent_is_found_by_its_programs_name_too(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In FC_AGENT and --agent; what is written down is the name that the evaluation has."""
    install(tmp_path / "agents")
    monkeypatch.setenv("FC_AGENT", name)
    settings = given(tmp_path / "agents", DSPY_API_KEY="key-d", DSPY_MODEL="openai/gpt-5")
    assert settings.agent == "mini_swe"
    found = find_cli(name, settings)
    assert found is not None and found.name == "mini_swe"


def test_without_a_key_nobody_is_asked(tmp_path: Path) -> None:
    """Installed programs alone do nothing; neither do keys alone."""
    install(tmp_path / "agents")
    assert find_cli("auto", given(tmp_path / "agents")) is None
    assert find_cli("auto", given(tmp_path / "empty", **KEYS)) is None
    assert find_cli("none", given(tmp_path / "agents", **KEYS)) is None


def test_auto_takes_the_first_that_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the table, by program and key; each model is asked by its own key, which no sandbox is given."""
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    install(tmp_path / "agents")
    node = tmp_path / "path/node"
    node.write_bytes(ELF)
    node.chmod(0o755)
    model = {"DSPY_API_KEY": "key-m", "DSPY_MODEL": "openai/some"}
    everything = {**KEYS, **model}
    for name in CLIS:
        cli = find_cli("auto", given(tmp_path / "agents", **everything))
        assert cli is not None and cli.name == name
        own = cli.upstream.key
        assert own in everything.values() and own not in repr(cli) and NO_KEY in cli.environment.values()
        assert own not in str([cli.argv, cli.environment, cli.files])
        assert all(mount.source.exists() and mount.target.startswith("/opt/fc/agent/") for mount in cli.mounts)
        everything = {key: value for key, value in everything.items() if value != own}
    assert find_cli("auto", given(tmp_path / "agents", **everything)) is None


@pytest.mark.parametrize("name", list(CLIS))
def test_an_agent_that_was_named_must_be_there(tmp_path: Path, name: str) -> None:
    """The error says how to install it; and where it is, which variable it reads."""
    with pytest.raises(ConfigError, match=rf"--agent {name}: its program \w+ is not in FC_AGENTS_DIR=.*example: s"):
        find_cli(name, given(tmp_path / "agents", **KEYS))
    assert not (tmp_path / "agents").exists()
    install(tmp_path / "agents")
    (tmp_path / "path/node").write_bytes(ELF)
    (tmp_path / "path/node").chmod(0o755)
    with pytest.raises(ConfigError, match=rf"--agent {name}: its model's key (\w+) is not set \(example: \1="):
        find_cli(name, given(tmp_path / "agents"))


@pytest.mark.parametrize("name", ["codex", "gemini", "mini_swe"])
def test_a_budget_that_cannot_be_kept_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where nobody knows the model's price: with its settings and an example. The default is missed with a warning.

    A table of prices, and an agent that counts its own dollars, can be held to it.
    """
    engine, agents = cast("ContainerEngine", None), tmp_path / "agents"
    install(agents)
    (tmp_path / "path/node").write_bytes(ELF)
    (tmp_path / "path/node").chmod(0o755)
    keys = {**KEYS, "DSPY_API_KEY": "key-m", "DSPY_MODEL": "openai/some", "agent_model": "some"}
    said = rf"FC_AGENT_BUDGET_USD=2 cannot bind {name}: nobody says .*'(openai/)?some' costs \(example: FC_PRICES=.*\)"
    assert open_writer(name, given(agents, **keys), engine) is not None
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert re.fullmatch(said, caplog.messages[0]), caplog.messages
    monkeypatch.setenv("FC_AGENT_BUDGET_USD", "2")
    for refused in (check_writer, partial(open_writer, engine=engine)):
        with pytest.raises(ConfigError, match=said):
            refused(name, given(agents, **keys))
    (tmp_path / "prices.json").write_text('{"some": {"input": 1, "output": 1}}')
    priced = given(agents, **keys, prices=str(tmp_path / "prices.json"))
    check_writer("claude", given(agents, **keys))
    check_writer(name, priced)
    for chosen, settings in (("claude", given(agents, **keys)), (name, priced)):
        cli = find_cli(chosen, settings)
        assert cli is not None and budget_of(cli, settings).max_cost_usd == 2
    assert len(caplog.records) == 1


def test_an_address_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    """The variable, and an example."""
    install(tmp_path / "agents")
    wrong = given(tmp_path / "agents", ANTHROPIC_API_KEY="key-a", ANTHROPIC_BASE_URL="no address")
    with pytest.raises(ConfigError, match=r"ANTHROPIC_BASE_URL=no address .*example: https"):
        find_cli("claude", wrong)
    with pytest.raises(ConfigError, match="FC_INDEX_URL is no address"):
        terms_of(given(tmp_path, index_url="no address"))


def test_an_index_with_a_password_is_reached_but_not_told() -> None:
    """The proxy knows the host; the sandbox is not given the address, which holds a secret."""
    plain, secret = (terms_of(Settings(index_url=f"https://{user}pip.acme.org/simple")) for user in ("", "a:b@"))
    token = terms_of(Settings(index_url="https://a-token@pip.acme.org/simple"))
    assert not token.environment and token.index == plain.index
    assert [str(place) for place in plain.index] == [str(place) for place in secret.index] == ["pip.acme.org:443"]
    assert plain.environment["UV_DEFAULT_INDEX"].endswith("/simple") and not secret.environment


def test_a_bundle_without_certificates_is_told_before_a_model_is_asked(tmp_path: Path) -> None:
    """Else each question would fail as an outage of the model; where nothing is encrypted none is needed."""
    install(tmp_path / "agents")
    bundle = tmp_path / "notes.pem"
    bundle.write_text("no certificate")
    wrong = given(tmp_path / "agents", FC_CA_BUNDLE=str(bundle), **KEYS)
    with pytest.raises(ConfigError, match=r"^FC_CA_BUNDLE: .*notes\.pem holds no certificate.*example"):
        find_cli("codex", wrong)
    plain = given(tmp_path / "agents", FC_CA_BUNDLE=str(bundle), OPENAI_BASE_URL="http://127.0.0.1:1/v1", **KEYS)
    assert find_cli("codex", plain) is not None


def test_what_the_agents_say_they_spent() -> None:
    """Claude says dollars, and two of them that a budget of theirs ended their work; what is not said is unknown."""
    found = _told_by_claude('a warning\n{"type": "result", "subtype": "success", "total_cost_usd": 0.25, "usage": {}}')
    assert (found.cost_usd, found.over_budget) == (0.25, False)
    found = _told_by_claude('{a warning\n{"type": "result", "result": "one\u2028two", "total_cost_usd": 0.25}\r\nbye')
    assert found.cost_usd == 0.25
    assert _told_by_claude('{"type": "result", "subtype": "error_max_budget_usd", "total_cost_usd": 2}').over_budget
    for odd in ("NaN", "-1", "Infinity", '"0.1"', "1e400", "1" + "0" * 400, "true"):
        assert _told_by_claude(f'{{"type": "result", "total_cost_usd": {odd}}}').cost_usd is None
    assert _told_by_claude('{"a":' * 200_000).cost_usd is None
    assert _told_by_claude("Killed\n{not json").cost_usd is None and _told_by_claude("").cost_usd is None
    assert _told_by_mini('{"info": {"exit_status": "LimitsExceeded"}, "messages": []}').over_budget
    for other in (
        "",
        "Exit: LimitsExceeded",
        '{"info": 3}',
        '{"info": {"exit_status": "Submitted"}, "a": "LimitsExceeded"}',
    ):
        assert not _told_by_mini(other).over_budget
