"""What a build of others is told of the user, as a program in docker's place writes it down."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from datasmith.docker.cli_build import template
from datasmith.docker.cli_engine import CliEngine
from datasmith.docker.engine import Limits, Tier
from datasmith.docker.foreign import ForeignImages

DOCKER = """#!/bin/sh
case $1 in
build)
    { echo "host=$DOCKER_HOST"
      echo "logins=$(cat "${DOCKER_CONFIG:-$HOME/.docker}/config.json" 2>/dev/null)"
      echo "plugins=$(ls "${DOCKER_CONFIG:-$HOME/.docker}/cli-plugins")"
      echo "podman=$(cat "$REGISTRY_AUTH_FILE" 2>/dev/null)"; } >"$HOME/told"
    ;;
context) echo unix:///run/user/1/docker.sock ;;
version) echo 28.0.0 ;;
images) if [ -f "$HOME/told" ]; then echo sha256:a; fi ;;
image) echo '"sha256:b"' ;;
esac
"""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A user with a login, and a docker of his own."""
    (tmp_path / ".docker/cli-plugins").mkdir(parents=True)
    (tmp_path / ".docker/cli-plugins/docker-buildx").touch()
    (tmp_path / ".docker/config.json").write_text('{"auths": {"r.example": {"auth": "c2VjcmV0"}}}')
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/docker").write_text(DOCKER)
    (tmp_path / "bin/docker").chmod(0o755)
    return {"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:{os.defpath}"}


def foreign(place: Path, home: dict[str, str]) -> None:
    (place / "folder").mkdir()
    images = ForeignImages("docker", network="none", limits=Limits(), environment=home)
    images.build(place / "folder", "x:1", arguments={}, log=place / "log", timeout=60)


def tier(dockerfile: str, **files: bytes) -> Callable[[Path, dict[str, str]], None]:
    def build(place: Path, home: dict[str, str]) -> None:
        (place / "uv").touch()
        engine = CliEngine("docker", base_image="b", environment=home, uv=place / "uv")
        named: dict[str, bytes | Path] = {f"{name}.sh": text for name, text in files.items()}
        made = Tier("env", "x:1", tuple(named), named, {"FC_PYTHON": "3.11"}, "build", dockerfile=dockerfile)
        engine.build(None, made, log=place / "log")

    return build


@pytest.mark.parametrize(
    "build", [foreign, tier("FROM x\n"), tier("", docker_build_env=b"true\n")], ids=["older", "dockerfile", "script"]
)
def test_a_build_of_others_knows_no_login(
    tmp_path: Path, home: dict[str, str], build: Callable[[Path, dict[str, str]], None]
) -> None:
    """The daemon and the plugins are those of the user; his logins are not there."""
    build(tmp_path, home)
    told = (tmp_path / "told").read_text().splitlines()
    assert told == ["host=unix:///run/user/1/docker.sock", "logins=", "plugins=docker-buildx", "podman={}"]


def test_what_ships_is_built_as_the_user_builds(tmp_path: Path, home: dict[str, str]) -> None:
    """Our own tiers may start from an image that only the user may have."""
    tier("", docker_build_env=template("docker_build_env.sh").encode())(tmp_path, home)
    assert "c2VjcmV0" in (tmp_path / "told").read_text()
