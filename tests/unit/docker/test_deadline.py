"""One limit of time for all tiers of an image."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from datasmith.docker.bubblewrap_env import fill_env
from datasmith.docker.context import LOCK, SCRIPTS, DockerContext
from datasmith.docker.deadline import as_it_is, spread
from datasmith.docker.engine import Tier
from datasmith.docker.images import ImageManager, ImagePlan
from datasmith.docker.layers import Layer, LayerStore
from datasmith.errors import BuildFailed
from tests.sandboxes import embedded_engine
from tests.unit.runners.verification_folders import sealed_folder

TIER = Tier("pr", "x", (), {})


def test_a_tier_gets_what_is_left() -> None:
    """The first has all of it, the next what it left, those after the end nothing; without a limit each has its own."""
    seconds = iter([100.0, 100.0, 107.0, 111.0])
    in_time = spread(10.0, clock=lambda: next(seconds))
    assert [in_time(TIER).timeout_s for _ in range(3)] == [10.0, 3.0, 0.0]
    assert as_it_is(TIER) == TIER


@pytest.mark.engine
def test_tiers_together_run_into_the_limit(tmp_path: Path) -> None:
    """Neither script alone takes longer than all may; the second one is cut off, and named.

    A tier that is there takes no time.
    """
    folder = sealed_folder(tmp_path / "tasks") / "environment"
    env = folder / "docker_build_env.sh"
    env.write_text(f"{env.read_text()}\nsleep 2.5\n")
    script = folder / "docker_build_pkg.sh"
    script.write_text("sleep 4\n")
    plan = ImagePlan.from_directory(folder, owner="acme", repo="calc", tag="1", python_version="3.11")
    images = ImageManager(embedded_engine(tmp_path / "cache"), namespace="n")
    began = time.monotonic()
    with pytest.raises(BuildFailed, match="limit") as caught:
        images.build(plan, log=tmp_path / "log", timeout_s=5.0)
    assert caught.value.timed_out and caught.value.stage == script.name
    assert time.monotonic() - began < 20
    script.write_text("true\n")
    plan = ImagePlan.from_directory(folder, owner="acme", repo="calc", tag="1", python_version="3.11")
    done = images.build(plan, log=tmp_path / "log", timeout_s=60.0)
    assert images.build(plan, log=tmp_path / "log", timeout_s=0.001) == done


def test_what_is_installed_twice_has_one_limit(tmp_path: Path) -> None:
    """Where an earlier environment turns out to be of no use, what was spent on trying it counts."""
    earlier = Layer("k", "env", "n", "sha256:0", None, {}, tmp_path / "earlier")
    (earlier.path / "env").mkdir(parents=True)
    (earlier.path / "env/nobodys").touch()
    (earlier.path / LOCK).write_text("a==1\nb==1\n")
    (tmp_path / "draft").mkdir()
    script = DockerContext.default(lock="").texts[SCRIPTS[1]].encode()
    tier = Tier("env", "n", (SCRIPTS[1],), {LOCK: b"a==1\nb==2\n", SCRIPTS[1]: script}, timeout_s=60.0)
    given: list[float] = []

    def install(what: Tier, _env: Path) -> None:
        given.append(what.timeout_s)
        time.sleep(0.1)

    fill_env(tier, install, cast("LayerStore", Known(earlier)), {}, tmp_path / "draft", {})
    assert given[0] == 60.0 and 0 < given[1] <= 59.9


@dataclass(frozen=True)
class Known:
    """A store with one layer, of whose files it knows nothing."""

    layer: Layer

    def sibling(self, _tier: Tier) -> Layer:
        return self.layer

    def files(self, _layer: Layer, _tree: str) -> Mapping[bytes, bytes]:
        return {}
