"""Every engine that the suite runs over, and the small images that the suite runs in."""

import io
import os
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.cli_engine import CliEngine
from datasmith.docker.engine import Container, ContainerEngine, ImageRef, Tier
from datasmith.errors import EngineUnavailable
from tests.support.base_image import ensure_base_image, podman_base, podman_environment

CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
LONG = 60.0
"""Seconds that no command of the suite needs."""
TRACKED = b"tracked\n"
ENV_SCRIPT = b"""set -eu
mkdir -p "$FC_ENV/bin"
ln -s "${UV_PYTHON:-/usr/bin/python3}" "$FC_ENV/bin/python"
echo original >"$FC_ENV/marker"
"""
PR_SCRIPT = b"""set -eu
cat "$FC_WORKDIR/tracked.txt"
printf '%s' "$FC_SAID" >"$FC_WORKDIR/built.txt"
id -u >"$FC_WORKDIR/builder.txt"
"""


def bubblewrap(place: Path) -> ContainerEngine:
    """The embedded engine; skips, outside CI, where it is not permitted."""
    engine = BubblewrapEngine(place / "cache", ca_bundle=CA_BUNDLE if CA_BUNDLE.exists() else None)
    try:
        engine.check()
    except EngineUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    return engine


def docker(place: Path) -> ContainerEngine:
    """The docker command line on a base image that was made here."""
    base = ensure_base_image(place)
    return CliEngine("docker", base_image=base, ca_bundle=CA_BUNDLE if CA_BUNDLE.exists() else None)


def buildkit(place: Path) -> ContainerEngine:
    """The system's docker command line where its builder is BuildKit; skips, outside CI, where it is not."""
    base = ensure_base_image(place)
    engine = CliEngine(
        "docker",
        base_image=base,
        ca_bundle=CA_BUNDLE if CA_BUNDLE.exists() else None,
        environment={"PATH": os.defpath},
    )
    if not engine.has_buildkit and not os.environ.get("CI"):
        pytest.skip("this docker has no BuildKit (apt-get install docker.io, or docker-buildx-plugin)")
    assert engine.has_buildkit
    return engine


def podman(place: Path) -> ContainerEngine:
    """The podman command line, as root, on a base image that was made here."""
    ca_bundle = CA_BUNDLE if CA_BUNDLE.exists() else None
    return CliEngine("podman", base_image=podman_base(place), ca_bundle=ca_bundle, environment=podman_environment())


ENGINES: dict[str, Callable[[Path], ContainerEngine]] = {
    "podman": podman,
    "bubblewrap": bubblewrap,
    "docker": docker,
    "buildkit": buildkit,
}
every_engine = [
    pytest.param("bubblewrap", marks=pytest.mark.engine),
    pytest.param("docker", marks=[pytest.mark.engine, pytest.mark.docker]),
]


_MORE = ("buildkit", "podman")
every_builder = [
    *every_engine,
    *(pytest.param(name, marks=[pytest.mark.engine, pytest.mark.docker]) for name in _MORE),
]
"""With both builders that a docker may have, and podman, which is slow to start containers."""


@dataclass(frozen=True)
class Built:
    """An engine, its images of the three tiers, and a directory for what is needed on the way."""

    engine: ContainerEngine
    base: ImageRef
    env: ImageRef
    pr: ImageRef
    place: Path

    @property
    def log(self) -> Path:
        """Where builds write."""
        return self.place / "build.log"


def source_tar(place: Path) -> Path:
    """A tree of one file."""
    member = tarfile.TarInfo("tracked.txt")
    member.size = len(TRACKED)
    with tarfile.open(place / "repo.tar", "w") as archive:
        archive.addfile(member, io.BytesIO(TRACKED))
    return place / "repo.tar"


def pr_tier(place: Path) -> Tier:
    """The pr tier of the suite, whose script also shows that its arguments arrive unharmed."""
    files: dict[str, bytes | Path] = {"build.sh": PR_SCRIPT, "repo.tar": source_tar(place)}
    return Tier("pr", "fc-conformance/pr:1", ("build.sh",), files, {"FC_SAID": 'it\'s $HOME, "quoted"'})


def build_all(name: str, place: Path) -> Built:
    """The three tiers on the engine of that name."""
    engine = ENGINES[name](place)
    log = place / "build.log"
    log.touch()
    base = engine.build(None, Tier("base", "fc-conformance/base:1", (), {}), log=log)
    args = {"FC_PYTHON": engine.pythons()[-1]}
    env_tier = Tier("env", "fc-conformance/env:1", ("env.sh",), {"env.sh": ENV_SCRIPT}, args)
    env = engine.build(base, env_tier, log=log)
    return Built(engine, base, env, engine.build(env, pr_tier(place), log=log), place)


def said(container: Container, script: str, timeout: float = LONG) -> str:
    """What a shell script prints; it has to succeed."""
    done = container.exec(["bash", "-c", script], timeout=timeout)
    assert done.ok, done
    return done.text.strip()
