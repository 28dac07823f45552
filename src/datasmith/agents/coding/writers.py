"""Which coding agent writes build scripts: the one that was asked for, or the first that can."""

import json
import logging
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

_log = logging.getLogger(__name__)


def open_writer(name: str, settings: "Settings", engine: ContainerEngine) -> ScriptWriter | None:
    """The agent of that name in sandboxes of `engine`; for "auto" the first that can be used, or None.

    Raises:
        ConfigError: an agent that was named is not installed, or has no key; or FC_AGENT_BUDGET_USD cannot be kept.
    """
    cli = find_cli(name, settings)
    if cli is None:
        return None
    budget = budget_of(cli, settings)
    if budget.max_cost_usd is None:
        _log.warning("%s", _unbound(cli, settings))
    return SandboxedWriter(cli, engine, terms_of(settings), budget)


def budget_of(cli: CodingCli, settings: "Settings") -> Budget:
    """What a turn may cost; without bound where nobody knows a price and the bound is only the default of the setting.

    Raises:
        ConfigError: FC_AGENT_BUDGET_USD is set, and nobody says what the model costs.
    """
    prices = read_prices(settings.prices)
    price, keeps = price_of(prices, cli.model), cli.name in TELL_COST
    known = price is not None or keeps
    if not known and "agent_budget_usd" in settings.model_fields_set:
        raise ConfigError(_unbound(cli, settings))
    bound = settings.agent_budget_usd if known else None
    return Budget(max_cost_usd=bound, prices=prices, fallback=price, keeps_dollars=keeps)


def _unbound(cli: CodingCli, settings: "Settings") -> str:
    example = json.dumps({cli.model: {"input": 1.25, "output": 10}})
    return (
        f"FC_AGENT_BUDGET_USD={settings.agent_budget_usd:g} cannot bind {cli.name}: nobody says what {cli.model!r}"
        f" costs (example: FC_PRICES=prices.json, which holds {example})"
    )


def check_writer(name: str, settings: "Settings") -> None:
    """See that `open_writer` will find what it needs, while nothing has begun.

    Raises:
        ConfigError: as there.
    """
    cli = find_cli(name, settings)
    if cli is not None:
        budget_of(cli, settings)


def find_cli(name: str, settings: "Settings") -> CodingCli | None:
    """The program that `open_writer` takes; see there."""
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
