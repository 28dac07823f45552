"""Engines with small images, and containers of them, for every suite about sandboxes."""

from collections.abc import Iterator

import pytest

from datasmith.docker.engine import WORKDIR, Container
from tests.conformance.engines import Built, build_all, every_engine


@pytest.fixture(scope="session", params=every_engine)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """An engine with the three tiers of the suite."""
    return build_all(str(request.param), tmp_path_factory.mktemp(str(request.param)))


@pytest.fixture(scope="session")
def shared(built: Built) -> Iterator[Container]:
    """A running container for tests that leave it as it was."""
    with built.engine.start(built.pr) as container:
        yield container


@pytest.fixture(scope="session")
def frozen(built: Built) -> Iterator[Container]:
    """A frozen container in which `kept.txt` was written before."""
    container = built.engine.start(built.pr)
    container.write_file(f"{WORKDIR}/kept.txt", b"kept")
    with container.freeze() as cold:
        yield cold
