"""What several test packages share: the demo, run once, and a cluster of Ray, started once."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.figures import pytest_collection_modifyitems, pytest_terminal_summary
from tests.support.ray_cluster import RayCluster, two_nodes

__all__ = ["pytest_collection_modifyitems", "pytest_terminal_summary"]

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile("no clocks", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clocks")

LOCKS = tempfile.TemporaryDirectory(prefix="fc-test-cores-")
os.environ["FC_LOCKS_DIR"] = LOCKS.name
"""Tests do not wait for what else measures on this machine: they are told apart by the cores that they are given."""


@dataclass(frozen=True)
class Demo:
    """A finished run of examples/demo.sh: where it worked, what it printed, and how many seconds it took."""

    place: Path
    output: str
    wall_s: float


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo, from a history to a report, in a directory of its own with an empty cache."""
    if not shutil.which("bwrap") and not os.environ.get("CI"):
        pytest.skip("bubblewrap is not installed (scripts/install-system.sh installs it)")
    place = tmp_path_factory.mktemp("demo")
    env = dict(os.environ) | {"FC_CACHE_DIR": str(place / "cache"), "FC_ENGINE": "bubblewrap"}
    started = time.monotonic()
    words = [str(ROOT / "examples" / "demo.sh"), str(place)]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=1500)
    assert done.returncode == 0, f"{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
    return Demo(place, done.stdout, time.monotonic() - started)


@pytest.fixture(scope="session")
def ray_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    """Two nodes of Ray on loopback; this process keeps their token, which Ray reads once, when it is imported."""
    if not find_spec("ray") and not os.environ.get("CI"):
        pytest.skip("Ray is not installed (scripts/install.sh installs it)")
    cache = tmp_path_factory.mktemp("ray")
    with two_nodes(cache) as cluster:
        os.environ.update(cluster.variables)
        yield cluster
    shutil.rmtree(cache, ignore_errors=True)
