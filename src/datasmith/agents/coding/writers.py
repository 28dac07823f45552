"""Which coding agent writes build scripts: the one that was asked for, or the first that can."""

from pathlib import Path
from typing import TYPE_CHECKING

from datasmith.agents.coding.budget import Budget
from datasmith.agents.coding.clis import CLIS, TELL_COST, Ask, Lack
from datasmith.agents.coding.prices import price_of, read_prices
from datasmith.agents.coding.sandboxed import SandboxedWriter
from datasmith.agents.coding.work import CodingCli, Terms
from datasmith.agents.scripting import ScriptWriter
from datasmith.docker.egress import index_destinations
from datasmith.docker.engine import ContainerEngine
from datasmith.docker.environment import CERTIFICATES
from datasmith.errors import ConfigError
from datasmith.redact import has_credentials
from datasmith.settings import agent_name

if TYPE_CHECKING:
    from datasmith.settings import Settings


def open_writer(name: str, settings: "Settings", engine: ContainerEngine) -> ScriptWriter | None:
    """The agent of that name in sandboxes of `engine`; for "auto" the first that can be used, or None.

    Raises:
        ConfigError: an agent that was named is not installed, or has no key.
    """
    cli = find_cli(name, settings)
    if cli is None:
        return None
    prices = read_prices(settings.prices)
    price, keeps = price_of(prices, cli.model), cli.name in TELL_COST
    bound = settings.agent_budget_usd if price or keeps else None
    budget = Budget(max_cost_usd=bound, prices=prices, fallback=price, keeps_dollars=keeps)
    return SandboxedWriter(cli, engine, terms_of(settings), budget)


def find_cli(name: str, settings: "Settings") -> CodingCli | None:
    """See `open_writer`."""
    name = agent_name(name)
    ask = Ask(settings.agent_model, max_cost_usd=settings.agent_budget_usd)
    if name == "none":
        return None
    if name == "auto":
        found = (make(settings, ask) for make in CLIS.values())
        return next((cli for cli in found if isinstance(cli, CodingCli)), None)
    if name not in CLIS:
        raise ConfigError(f"--agent {name!r}: must be one of auto, none, {', '.join(CLIS)} (example: --agent claude)")
    cli = CLIS[name](settings, ask)
    if isinstance(cli, Lack):
        raise ConfigError(f"--agent {name}: {cli}")
    return cli


def terms_of(settings: "Settings") -> Terms:
    """What one turn may use, as the settings say."""
    from datasmith.docker.engines import limits_of

    index = index_destinations(settings.index_url)
    shown = settings.index_url if not has_credentials(settings.index_url) else ""
    bundle = settings.certificates or Path(CERTIFICATES)
    return Terms(
        timeout_s=settings.agent_timeout_s,
        limits=limits_of(settings),
        index=index,
        environment={"UV_DEFAULT_INDEX": shown, "PIP_INDEX_URL": shown} if shown else {},
        ca_bundle=bundle if bundle.is_file() else None,
    )
