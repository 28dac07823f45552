"""The four coding agents: how each is called, what it is told of its model, and where it says what it spent."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from datasmith.agents.coding.base import Usage
from datasmith.agents.coding.programs import (
    bundle_of_gemini,
    find_program,
    native_claude,
    native_codex,
    packages_of_mini,
    shown,
)
from datasmith.agents.coding.sandboxed import AGENT_HOME, PLACE, CodingCli
from datasmith.docker.egress import Destination
from datasmith.docker.engine import WORKDIR
from datasmith.docker.environment import HOME
from datasmith.errors import ConfigError

if TYPE_CHECKING:
    from datasmith.settings import Settings

_PROMPT = "{prompt}"
_TRAJECTORY = f"{PLACE}/.trajectory.json"


def claude(settings: "Settings") -> CodingCli | None:
    """Claude Code; its output is one JSON object with the cost."""
    key = settings.anthropic_api_key.get_secret_value()
    program = find_program("claude", settings.agents_dir)
    native = native_claude(program) if program and key else None
    if native is None:
        return None
    words = [f"{AGENT_HOME}/claude", "-p", "--output-format", "json", "--dangerously-skip-permissions"]
    words += ["--add-dir", WORKDIR, "--max-budget-usd", f"{settings.agent_budget_usd:g}"]
    words += ["--model", settings.agent_model] if settings.agent_model else []
    return CodingCli(
        name="claude",
        model=settings.agent_model or "claude (its default)",
        argv=tuple(words),
        environment={
            "ANTHROPIC_API_KEY": key,
            "ANTHROPIC_BASE_URL": settings.anthropic_base_url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "4",
        },
        endpoint=_endpoint("ANTHROPIC_BASE_URL", settings.anthropic_base_url),
        key=key,
        mounts=(shown(native, "claude"),),
        read_usage=_usage_of_claude,
    )


def codex(settings: "Settings") -> CodingCli | None:
    """OpenAI's codex; its output is a line of JSON for each event, with tokens and without cost."""
    key = settings.openai_api_key.get_secret_value()
    program = find_program("codex", settings.agents_dir)
    native = native_codex(program) if program and key else None
    if native is None:
        return None
    url = json.dumps(settings.openai_base_url)
    provider = f'{{name="fc",base_url={url},env_key="OPENAI_API_KEY",wire_api="responses"}}'
    words = [f"{AGENT_HOME}/codex/bin/codex", "exec", "--json", "--skip-git-repo-check"]
    words += ["--dangerously-bypass-approvals-and-sandbox"]
    words += ["-c", "model_provider=fc", "-c", f"model_providers.fc={provider}", "-c", "analytics.enabled=false"]
    words += ["-m", settings.agent_model] if settings.agent_model else []
    return CodingCli(
        name="codex",
        model=settings.agent_model or "codex (its default)",
        argv=(*words, "-"),
        environment={"OPENAI_API_KEY": key, "CODEX_HOME": f"{HOME}/.codex"},
        endpoint=_endpoint("OPENAI_BASE_URL", settings.openai_base_url),
        key=key,
        mounts=(shown(native, "codex"),),
        read_usage=_usage_of_codex,
        files={f"{HOME}/.codex/config.toml": ""},
    )


def gemini(settings: "Settings") -> CodingCli | None:
    """Google's gemini; its output is one JSON object with tokens and without cost."""
    key = settings.gemini_api_key.get_secret_value()
    program = find_program("gemini", settings.agents_dir)
    found = bundle_of_gemini(program) if program and key else None
    if found is None:
        return None
    bundle, node = found
    model = settings.agent_model or "gemini-2.5-pro"
    chosen = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    }
    words = [f"{AGENT_HOME}/node", f"{AGENT_HOME}/gemini/gemini.js", "-o", "json", "--skip-trust", "--yolo"]
    words += ["-m", model, "--include-directories", WORKDIR]
    return CodingCli(
        name="gemini",
        model=model,
        argv=tuple(words),
        environment={"GEMINI_API_KEY": key, "GOOGLE_GEMINI_BASE_URL": settings.gemini_base_url},
        endpoint=_endpoint("GOOGLE_GEMINI_BASE_URL", settings.gemini_base_url),
        key=key,
        mounts=(shown(bundle, "gemini"), shown(node, "node")),
        read_usage=_usage_of_gemini,
        files={f"{HOME}/.gemini/settings.json": json.dumps(chosen)},
    )


def mini_swe_agent(settings: "Settings") -> CodingCli | None:
    """mini-swe-agent on the model of DSPY_MODEL; its output tells no cost, but it stops at its budget."""
    key = settings.dspy_api_key.get_secret_value()
    program = find_program("mini", settings.agents_dir)
    model = settings.agent_model or settings.dspy_model
    found = packages_of_mini(program) if program and key and model else None
    if found is None:
        return None
    packages, version = found
    url = settings.dspy_api_base or "https://api.openai.com/v1"
    words = [f"/usr/bin/python{version}", "-m", "minisweagent.run.mini", "-m", model, "-t", _PROMPT, "-y"]
    words += ["--exit-immediately", "-l", f"{settings.agent_budget_usd:g}", "-o", _TRAJECTORY]
    words += ["-c", "mini.yaml", "-c", f"model.model_kwargs.api_base={url}"]
    return CodingCli(
        name="mini-swe-agent",
        model=model,
        argv=tuple(words),
        environment={
            "OPENAI_API_KEY": key,
            "PYTHONPATH": f"{AGENT_HOME}/mini",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_SILENT_STARTUP": "1",
            "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "4",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
        endpoint=_endpoint("DSPY_API_BASE", url),
        key=key,
        mounts=(shown(packages, "mini"),),
        read_usage=lambda _said: Usage(),
        prompt_word=_PROMPT,
    )


CLIS: Mapping[str, Callable[["Settings"], CodingCli | None]] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "mini-swe-agent": mini_swe_agent,
}
"""Name -> the agent as the settings say, or None where its program or its key is missing; in the order of `auto`."""


def _endpoint(variable: str, url: str) -> Destination:
    try:
        return Destination.of_url(url)
    except ValueError as error:
        raise ConfigError(f"{variable}={url} is no address of an API (example: https://api.example.org/v1)") from error


def _objects(text: str) -> Iterator[Mapping[str, object]]:
    """The JSON objects in an output: the whole of it, or those that fill lines."""
    for part in (text[text.find("{") :], *text.splitlines()):
        try:
            found = json.loads(part)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _usage_of_claude(text: str) -> Usage:
    for found in _objects(text):
        cost, usage = found.get("total_cost_usd"), found.get("usage")
        if found.get("type") == "result" and isinstance(usage, dict):
            dollars = float(cost) if isinstance(cost, int | float) else None
            return Usage(_count(usage.get("input_tokens")), _count(usage.get("output_tokens")), dollars)
    return Usage()


def _usage_of_codex(text: str) -> Usage:
    used = [found.get("usage") for found in _objects(text) if found.get("type") == "turn.completed"]
    last = used[-1] if used else None
    if not isinstance(last, dict):
        return Usage()
    return Usage(_count(last.get("input_tokens")), _count(last.get("output_tokens")))


def _usage_of_gemini(text: str) -> Usage:
    for found in _objects(text):
        stats = found.get("stats")
        models = stats.get("models") if isinstance(stats, dict) else None
        if isinstance(models, dict):
            tokens = [model.get("tokens") for model in models.values() if isinstance(model, dict)]
            known = [each for each in tokens if isinstance(each, dict)]
            return Usage(
                sum(_count(each.get("prompt")) or 0 for each in known),
                sum(_count(each.get("candidates")) or 0 for each in known),
            )
    return Usage()
