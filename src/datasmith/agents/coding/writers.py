"""Which coding agent writes build scripts: the one that was asked for, or the first that can."""

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from datasmith.agents.coding.clis import CLIS
from datasmith.agents.coding.sandboxed import CodingCli, SandboxedWriter, Terms
from datasmith.agents.scripting import ScriptWriter
from datasmith.docker.egress import Destination
from datasmith.docker.engine import ContainerEngine
from datasmith.docker.environment import CERTIFICATES
from datasmith.errors import ConfigError

if TYPE_CHECKING:
    from datasmith.settings import Settings

PYPI = ("https://pypi.org", "https://files.pythonhosted.org")
KEYS = {
    "claude": "ANTHROPIC_API_KEY",
    "codex": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "mini-swe-agent": "DSPY_MODEL and DSPY_API_KEY",
}
"""The variables that say which model an agent asks."""


def open_writer(name: str, settings: "Settings", engine: ContainerEngine) -> ScriptWriter | None:
    """The agent of that name in sandboxes of `engine`; for "auto" the first that can be used, or None.

    Raises:
        ConfigError: an agent that was named is not installed, or has no key.
    """
    cli = find_cli(name, settings)
    return SandboxedWriter(cli, engine, terms_of(settings)) if cli else None


def find_cli(name: str, settings: "Settings") -> CodingCli | None:
    """See `open_writer`."""
    if name == "none":
        return None
    if name == "auto":
        return next((cli for make in CLIS.values() if (cli := make(settings))), None)
    if name not in CLIS:
        raise ConfigError(f"--agent {name!r}: must be one of auto, none, {', '.join(CLIS)} (example: --agent claude)")
    found = CLIS[name](settings)
    if found is None:
        raise ConfigError(
            f"--agent {name} needs its program (scripts/install-agents.sh, then FC_AGENTS_DIR=.agents) and its model"
            f" (example: {KEYS[name].split(' ', maxsplit=1)[0]}=..., in tokens.env; it reads {KEYS[name]})"
        )
    return found


def terms_of(settings: "Settings") -> Terms:
    """What one turn may use, as the settings say."""
    from datasmith.docker.engines import limits_of

    urls = (settings.index_url,) if settings.index_url else PYPI
    try:
        index = tuple(Destination.of_url(url) for url in urls)
        shown = settings.index_url if not urlsplit(settings.index_url).password else ""
    except ValueError as error:
        raise ConfigError(
            "FC_INDEX_URL is no address of an index (example: FC_INDEX_URL=https://pypi.org/simple)"
        ) from error
    bundle = settings.ca_bundle or Path(CERTIFICATES)
    return Terms(
        timeout_s=settings.agent_timeout_s,
        limits=limits_of(settings),
        index=index,
        environment={"UV_DEFAULT_INDEX": shown, "PIP_INDEX_URL": shown} if shown else {},
        ca_bundle=bundle if bundle.is_file() else None,
    )
