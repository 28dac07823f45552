"""Choose an engine by name; "auto" takes the first that can be used here."""

import importlib
from collections.abc import Callable
from typing import cast

from datasmith.docker.engine import ContainerEngine, Limits
from datasmith.errors import EngineUnavailable
from datasmith.settings import Settings

ENGINES = {
    "bubblewrap": "datasmith.docker.engines:open_bubblewrap",
    "docker": "datasmith.docker.engines:open_docker",
    "podman": "datasmith.docker.engines:open_podman",
}
"""Engines in the order "auto" tries them; `module:function` takes Settings and returns a ContainerEngine."""


def limits_of(settings: Settings, cpus: tuple[int, ...] = ()) -> Limits:
    """The limits of one sandbox that the settings give, pinned to `cpus` (none: on all)."""
    return Limits(memory_mb=settings.memory_mb, pids=settings.pids, disk_mb=settings.disk_mb, cpus=cpus)


def open_bubblewrap(settings: Settings) -> ContainerEngine:
    """The embedded engine; layers lie in the cache directory."""
    from datasmith.docker.bubblewrap import BubblewrapEngine

    return BubblewrapEngine(
        settings.cache_dir.absolute(),
        ca_bundle=settings.certificates,
        index_url=settings.index_url,
        limits=limits_of(settings),
    )


def open_docker(settings: Settings) -> ContainerEngine:
    """The docker command line."""
    return _open_cli("docker", settings)


def open_podman(settings: Settings) -> ContainerEngine:
    """The podman command line."""
    return _open_cli("podman", settings)


def _open_cli(program: str, settings: Settings) -> ContainerEngine:
    from datasmith.docker.cli_engine import CliEngine

    reached = {"DOCKER_HOST": settings.docker_host, "XDG_RUNTIME_DIR": settings.xdg_runtime_dir}
    return CliEngine(
        program,
        base_image=settings.base_image,
        build_network=settings.build_network,
        ca_bundle=settings.certificates,
        index_url=settings.index_url,
        limits=limits_of(settings),
        environment={name: value for name, value in reached.items() if value},
    )


def open_engine(settings: Settings) -> ContainerEngine:
    """The engine that `settings.engine` names, checked to be usable now.

    Raises:
        EngineUnavailable: it (for "auto": every engine) cannot be used; says why, and what to do.
    """
    if settings.engine != "auto":
        engine = _load(ENGINES[settings.engine])(settings)
        engine.check()
        return engine
    reasons = []
    for address in ENGINES.values():
        engine = _load(address)(settings)
        try:
            engine.check()
        except EngineUnavailable as error:
            reasons.append(f"{engine.name}: {error}")
        else:
            return engine
    raise EngineUnavailable("no container engine can be used; " + "; ".join(reasons))


def system_of(settings: Settings, engine: ContainerEngine) -> str:
    """What base tiers are built on: the image that FC_BASE_IMAGE names; of bubblewrap this machine's own system."""
    if engine.name != "bubblewrap":
        return settings.base_image
    from datasmith.docker.bubblewrap_root import host_identity

    known = host_identity(()) or {}
    return known.get("os", "unknown")


def _load(address: str) -> Callable[[Settings], ContainerEngine]:
    module, _, name = address.partition(":")
    return cast("Callable[[Settings], ContainerEngine]", getattr(importlib.import_module(module), name))
