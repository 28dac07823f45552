"""Engines that take their packages from an index on the loopback interface."""

from pathlib import Path

from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.cli_engine import CliEngine
from datasmith.docker.engine import ContainerEngine
from tests.conformance.engines import CA_BUNDLE
from tests.integration.loopback_index import Index
from tests.support.base_image import ensure_base_image


def opened(name: str, place: Path, index: Index) -> ContainerEngine:
    """An engine that takes its packages from the index."""
    trusted = CA_BUNDLE if CA_BUNDLE.exists() else None
    if name == "bubblewrap":
        engine = BubblewrapEngine(place / "cache", index_url=index.url, ca_bundle=trusted)
        engine.check()
        return engine
    return CliEngine("docker", base_image=ensure_base_image(place), index_url=index.url, ca_bundle=trusted)
