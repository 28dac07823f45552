"""Which coding agent is taken, on what terms, and what its output says of its price."""

import shutil
from pathlib import Path

import pytest

from datasmith.agents.coding.clis import CLIS, _usage_of_claude, _usage_of_codex, _usage_of_gemini
from datasmith.agents.coding.writers import find_cli, terms_of
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


def test_without_a_key_nobody_is_asked(tmp_path: Path) -> None:
    """Installed programs alone do nothing; neither do keys alone."""
    install(tmp_path / "agents")
    assert find_cli("auto", given(tmp_path / "agents")) is None
    assert find_cli("auto", given(tmp_path / "empty", **KEYS)) is None
    assert find_cli("none", given(tmp_path / "agents", **KEYS)) is None


def test_auto_takes_the_first_that_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the table, by program and key; each is given its own key and no other."""
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
        secrets = {value for value in cli.environment.values() if value.startswith("key-")}
        assert secrets == {cli.key} and cli.key not in repr(cli) and cli.key not in " ".join(cli.argv)
        assert all(mount.source.exists() and mount.target.startswith("/opt/fc/agent/") for mount in cli.mounts)
        everything = {key: value for key, value in everything.items() if value != cli.key}
    assert find_cli("auto", given(tmp_path / "agents", **everything)) is None


@pytest.mark.parametrize("name", list(CLIS))
def test_an_agent_that_was_named_must_be_there(tmp_path: Path, name: str) -> None:
    """The error says how to install it, and which variable it reads."""
    shutil.rmtree(tmp_path / "agents", ignore_errors=True)
    with pytest.raises(ConfigError, match=rf"--agent {name} needs its program .*example: \w+_\w+="):
        find_cli(name, given(tmp_path / "agents", **KEYS))


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
    assert [str(place) for place in plain.index] == [str(place) for place in secret.index] == ["pip.acme.org:443"]
    assert plain.environment["UV_DEFAULT_INDEX"].endswith("/simple") and not secret.environment


def test_what_the_agents_say_they_spent() -> None:
    """Tokens of three, dollars of one; what is not said is unknown, not zero."""
    claude = '{"type": "result", "total_cost_usd": 0.25, "usage": {"input_tokens": 11, "output_tokens": 7}}'
    found = _usage_of_claude(f"a warning\n{claude}")
    assert (found.input_tokens, found.output_tokens, found.cost_usd) == (11, 7, 0.25)
    codex = (
        '{"type": "turn.started"}\nnoise\n{"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 3}}'
    )
    assert (_usage_of_codex(codex).input_tokens, _usage_of_codex(codex).cost_usd) == (5, None)
    gemini = '{"response": "x", "stats": {"models": {"m": {"tokens": {"prompt": 4, "candidates": 2}}}}}'
    assert (_usage_of_gemini(gemini).input_tokens, _usage_of_gemini(gemini).output_tokens) == (4, 2)
    for read in (_usage_of_claude, _usage_of_codex, _usage_of_gemini):
        assert read("Killed\n{not json").cost_usd is None and read("").input_tokens is None
