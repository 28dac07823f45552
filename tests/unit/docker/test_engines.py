"""Which engine is taken, and what the user reads where none can be."""

import stat
from pathlib import Path

import pytest

from datasmith.docker.engines import ENGINES, open_engine, system_of
from datasmith.errors import ConfigError, EngineUnavailable
from datasmith.settings import Settings


def fake(directory: Path, name: str, script: str) -> None:
    """A program of that name, as a shell script."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755 | stat.S_IXUSR)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is all of PATH."""
    place = tmp_path / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", str(place))
    monkeypatch.chdir(tmp_path)
    return place


def test_with_nothing_installed_one_line_names_every_engine(programs: Path) -> None:
    """No engine at all: the message names each one, says how to install it, and is one line."""
    with pytest.raises(EngineUnavailable) as caught:
        open_engine(Settings(engine="auto"))
    said = str(caught.value)
    assert all(name in said for name in ENGINES) and "apt-get install bubblewrap" in said and "\n" not in said


def test_bubblewrap_goes_first(programs: Path) -> None:
    """Where both work, "auto" takes the embedded engine."""
    fake(programs, "bwrap", "exit 0")
    fake(programs, "docker", "exit 0")
    assert open_engine(Settings(engine="auto")).name == "bubblewrap"


def test_docker_is_taken_where_bubblewrap_is_not_permitted(programs: Path) -> None:
    """A bwrap that may not make namespaces is passed over."""
    fake(programs, "bwrap", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1")
    fake(programs, "docker", "exit 0")
    assert open_engine(Settings(engine="auto")).name == "docker"


def test_a_forbidden_bubblewrap_says_how_to_allow_it(programs: Path) -> None:
    """The message quotes bwrap, and names the setting to change and the engine to use instead."""
    fake(programs, "bwrap", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1")
    with pytest.raises(EngineUnavailable) as caught:
        open_engine(Settings(engine="bubblewrap"))
    said = str(caught.value)
    assert "No permissions to create new namespace" in said
    assert "kernel.unprivileged_userns_clone" in said and "--engine docker" in said


def test_a_named_engine_is_not_replaced(programs: Path) -> None:
    """Who asks for docker gets docker or an error, though bubblewrap would work."""
    fake(programs, "bwrap", "exit 0")
    fake(programs, "docker", "echo 'Cannot connect to the Docker daemon at unix:///x' >&2; exit 1")
    with pytest.raises(EngineUnavailable, match=r"docker does not answer.*--engine bubblewrap"):
        open_engine(Settings(engine="docker"))


def test_podman_has_no_daemon_to_start(programs: Path) -> None:
    """What it says is told, and nothing of docker."""
    fake(programs, "podman", "echo 'Cannot connect to the service' >&2; exit 125")
    with pytest.raises(EngineUnavailable, match=r"podman does not answer.*see what `podman info` says") as caught:
        open_engine(Settings(engine="podman"))
    assert "docker" not in str(caught.value)


def test_docker_is_told_where_its_daemon_is(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DOCKER_HOST of the environment reaches the program; a token of the environment does not."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/elsewhere.sock")
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    fake(programs, "docker", f'[ "$DOCKER_HOST" = unix:///run/elsewhere.sock ] && set >{programs}/seen')
    assert open_engine(Settings(engine="docker")).name == "docker"
    assert "s3cret" not in (programs / "seen").read_text()


def test_what_images_are_built_on_is_named(programs: Path) -> None:
    """Of docker the image of the settings; of bubblewrap this machine's system, which no setting changes."""
    settings = Settings(base_image="example.org/debian:sid")
    for name in ENGINES:
        fake(programs, "bwrap" if name == "bubblewrap" else name, "exit 0")
    fake(programs, "dpkg-query", "exit 0")
    named = {name: system_of(settings, open_engine(settings.model_copy(update={"engine": name}))) for name in ENGINES}
    release = Path("/etc/os-release").read_text()
    assert named["docker"] == named["podman"] == "example.org/debian:sid"
    assert f'PRETTY_NAME="{named["bubblewrap"]}"' in release


def test_a_missing_ca_bundle_is_a_mistake_of_the_user(programs: Path) -> None:
    """The variable is named with an example."""
    with pytest.raises(ConfigError, match=r"FC_CA_BUNDLE: .*example"):
        open_engine(Settings(engine="docker", FC_CA_BUNDLE=programs / "no.pem"))
