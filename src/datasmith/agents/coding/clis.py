"""The four coding agents: how each is called, and what it is told of its model."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import JsonValue, SecretStr

from datasmith.agents.coding.dialects import read_json
from datasmith.agents.coding.gateway import Upstream
from datasmith.agents.coding.inside.launch import MODEL_URL
from datasmith.agents.coding.programs import (
    bundle_of_gemini,
    find_program,
    native_claude,
    native_codex,
    packages_of_mini,
    shown,
)
from datasmith.agents.coding.questions import Models
from datasmith.agents.coding.work import AGENT_HOME, PROMPT_WORD, CodingCli, Told
from datasmith.docker.egress import Destination
from datasmith.docker.engine import WORKDIR
from datasmith.docker.environment import HOME
from datasmith.errors import ConfigError
from datasmith.settings import trusting

if TYPE_CHECKING:
    from datasmith.settings import Settings

Place = TypeVar("Place")
NO_KEY = "the-host-holds-the-key"
"""What a program is given where it insists on a key; the gateway puts the real one in its place."""
_TRIES = "request_max_retries=3,stream_max_retries=3"
"""What codex does about a model that is out of order; it would try 30 times."""
_HAIKU = r"claude-([\d.-]+-)?haiku[\w.-]*"
_FLASH, _PRO = r"gemini-[\d.]+-flash[\w.-]*", r"gemini-[\d.]+-pro[\w.-]*"
"""Small models that claude and gemini ask beside their own, and the names that gemini puts in the place of another."""
_TRAJECTORY = "/workspace/mini-trajectory.json"
"""Where mini-swe-agent tells of its work: in the sandbox, beside the tree, where it is still found in the end."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked of an agent's model: its name ("" for the agent's own default), a bound, and more parameters."""

    model: str = ""
    max_cost_usd: float | None = None
    more: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lack:
    """Why an agent cannot be used here: what is missing, and how the setting that gives it is written."""

    what: str
    example: str

    def __str__(self) -> str:
        return f"{self.what} (example: {self.example})"


def claude(settings: "Settings", ask: Ask) -> CodingCli | Lack:
    """Claude Code; its output is one JSON object with the cost."""
    found = _found("claude", settings, native_claude)
    models = Models(ask.model.removesuffix("[1m]"), _HAIKU) if ask.model.startswith("claude-") else Models()
    key, url = settings.anthropic_api_key, settings.anthropic_base_url
    upstream = _upstream(_ANTHROPIC, key, url, settings, ask, models)
    if isinstance(found, Lack):
        return found
    if isinstance(upstream, Lack):
        return upstream
    words = [f"{AGENT_HOME}/claude", "-p", "--output-format", "json", "--dangerously-skip-permissions"]
    words += ["--add-dir", WORKDIR, "--disallowedTools", "WebSearch,WebFetch"]
    words += ["--max-budget-usd", f"{ask.max_cost_usd:g}"] if ask.max_cost_usd else []
    words += ["--model", ask.model] if ask.model else []
    return CodingCli(
        name="claude",
        model=ask.model or "claude (its default)",
        argv=tuple(words),
        environment={
            "ANTHROPIC_API_KEY": NO_KEY,
            "ANTHROPIC_BASE_URL": MODEL_URL,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "4",
        },
        upstream=upstream,
        mounts=(shown(found, "claude"),),
        read=_told_by_claude,
    )


def codex(settings: "Settings", ask: Ask) -> CodingCli | Lack:
    """OpenAI's codex; its output is a line of JSON for each event."""
    found = _found("codex", settings, native_codex)
    key, url = settings.openai_api_key, settings.openai_base_url
    upstream = _upstream(_OPENAI, key, url, settings, ask, Models(ask.model))
    if isinstance(found, Lack):
        return found
    if isinstance(upstream, Lack):
        return upstream
    provider = f'{{name="fc",base_url="{MODEL_URL}",env_key="OPENAI_API_KEY",wire_api="responses",{_TRIES}}}'
    words = [f"{AGENT_HOME}/codex/bin/codex", "exec", "--json", "--skip-git-repo-check"]
    words += ["--dangerously-bypass-approvals-and-sandbox", "-c", 'web_search="disabled"']
    words += ["-c", "model_provider=fc", "-c", f"model_providers.fc={provider}", "-c", "analytics.enabled=false"]
    words += ["-m", ask.model] if ask.model else []
    return CodingCli(
        name="codex",
        model=ask.model or "codex (its default)",
        argv=(*words, "-"),
        environment={"OPENAI_API_KEY": NO_KEY, "CODEX_HOME": f"{HOME}/.codex"},
        upstream=upstream,
        mounts=(shown(found, "codex"),),
        files={f"{HOME}/.codex/config.toml": ""},
    )


def gemini(settings: "Settings", ask: Ask) -> CodingCli | Lack:
    """Google's gemini; its output is one JSON object."""
    found = _found("gemini", settings, bundle_of_gemini)
    model = ask.model or "gemini-2.5-pro"
    beside = "|".join([_FLASH, *([_PRO] if "pro" in model else [])])
    models = Models(model, beside) if model.startswith("gemini-") else Models()
    key, url = settings.gemini_api_key, settings.gemini_base_url
    upstream = _upstream(_GEMINI, key, url, settings, ask, models)
    if isinstance(found, Lack):
        return found
    if isinstance(upstream, Lack):
        return upstream
    bundle, node = found
    chosen = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "tools": {"exclude": ["google_web_search", "web_fetch"]},
    }
    words = [f"{AGENT_HOME}/node", f"{AGENT_HOME}/gemini/gemini.js", "-o", "json", "--skip-trust", "--yolo"]
    words += ["-m", model, "--include-directories", WORKDIR]
    return CodingCli(
        name="gemini",
        model=model,
        argv=tuple(words),
        environment={"GEMINI_API_KEY": NO_KEY, "GOOGLE_GEMINI_BASE_URL": MODEL_URL},
        upstream=upstream,
        mounts=(shown(bundle, "gemini"), shown(node, "node")),
        files={f"{HOME}/.gemini/settings.json": json.dumps(chosen)},
    )


def mini_swe(settings: "Settings", ask: Ask) -> CodingCli | Lack:
    """mini-swe-agent on any OpenAI-compatible model, that of DSPY_MODEL where none is named."""
    found = _found("mini", settings, packages_of_mini)
    url = settings.dspy_api_base or "https://api.openai.com/v1"
    model = ask.model or settings.dspy_model
    # What stands before the first slash names the dialect to its client, and stays on this side.
    models = Models(model.partition("/")[2] or model)
    upstream = _upstream(_DSPY, settings.dspy_api_key, url, settings, ask, models)
    if isinstance(found, Lack):
        return found
    if isinstance(upstream, Lack):
        return upstream
    if not model:
        return Lack("its model is not named: DSPY_MODEL is not set", "DSPY_MODEL=openai/gpt-5")
    packages, version = found
    words = [f"/usr/bin/python{version}", "-m", "minisweagent.run.mini", "-t", PROMPT_WORD, "-y"]
    words += ["-m", model if "/" in model else f"openai/{model}"]
    words += ["--exit-immediately", "-l", f"{ask.max_cost_usd or 0:g}", "-o", _TRAJECTORY]
    words += ["-c", "mini.yaml", "-c", f"model.model_kwargs.api_base={MODEL_URL}"]
    return CodingCli(
        name="mini_swe",
        model=model,
        argv=tuple(words),
        environment={
            "OPENAI_API_KEY": NO_KEY,
            "PYTHONPATH": f"{AGENT_HOME}/mini",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_SILENT_STARTUP": "1",
            "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "4",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
        upstream=upstream,
        mounts=(shown(packages, "mini"),),
        leaves=_TRAJECTORY,
        read=_told_by_mini,
    )


CLIS: Mapping[str, Callable[["Settings", Ask], CodingCli | Lack]] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "mini_swe": mini_swe,
}
"""Name -> the agent as the settings say, or what it lacks; in the order of `auto`."""
TELL_COST = frozenset({"claude"})
"""Those that say in dollars what they spent, and stop at a budget of dollars by themselves."""


@dataclass(frozen=True, slots=True)
class _Api:
    """How a provider's key and address are set, and which header carries the key."""

    key: str
    key_example: str
    url: str
    header: str


_ANTHROPIC = _Api("ANTHROPIC_API_KEY", "sk-ant-...", "ANTHROPIC_BASE_URL", "x-api-key")
_OPENAI = _Api("OPENAI_API_KEY", "sk-...", "OPENAI_BASE_URL", "Authorization")
_GEMINI = _Api("GEMINI_API_KEY", "AIza...", "GOOGLE_GEMINI_BASE_URL", "x-goog-api-key")
_DSPY = _Api("DSPY_API_KEY", "sk-...", "DSPY_API_BASE", "Authorization")


def _found(program: str, settings: "Settings", read: Callable[[Path], Place | None]) -> Place | Lack:
    """What is to be shown of an installed program."""
    path = find_program(program, settings.agents_dir)
    found = read(path) if path else None
    if found is not None:
        return found
    where = (
        f"in FC_AGENTS_DIR={settings.agents_dir}" if settings.agents_dir else "on the PATH; FC_AGENTS_DIR is not set"
    )
    return Lack(
        f"its program {program} is not {where}", "scripts/install-agents.sh .agents, then FC_AGENTS_DIR=.agents"
    )


def _upstream(api: _Api, key: SecretStr, url: str, settings: "Settings", ask: Ask, models: Models) -> Upstream | Lack:
    secret = key.get_secret_value()
    if not secret:
        return Lack(f"its model's key {api.key} is not set", f"{api.key}={api.key_example}, in tokens.env")
    upstream = Upstream(url, api.header, secret, ask.more, settings.certificates, models)
    try:
        Destination.of_url(url)
    except ValueError as error:
        raise ConfigError(f"{api.url}={url} is no address of an API (example: https://api.example.org/v1)") from error
    if upstream.encrypted and upstream.ca_bundle:
        trusting(upstream.ca_bundle)  # what is no bundle is told now, and not as an outage of each question
    return upstream


MOST_TOLD_USD = 1e6
"""A cost above this, in dollars, is nothing that an agent spent."""


def _objects(text: str) -> Iterator[Mapping[str, object]]:
    """The JSON objects in an output: the whole of it, or those that fill lines."""
    for part in (text[text.find("{") :], *re.split("[\r\n]", text)):
        try:
            found = json.loads(part)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def _told_by_claude(text: str) -> Told:
    for found in _objects(text):
        cost = found.get("total_cost_usd")
        if found.get("type") == "result":
            told = cost if isinstance(cost, int | float) and not isinstance(cost, bool) else math.nan
            usd = float(told) if 0 <= told <= MOST_TOLD_USD else None
            return Told(usd, found.get("subtype") == "error_max_budget_usd")
    return Told()


def _told_by_mini(text: str) -> Told:
    info = read_json(text.encode()).get("info")
    return Told(over_budget=isinstance(info, dict) and info.get("exit_status") == "LimitsExceeded")
