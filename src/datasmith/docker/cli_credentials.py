"""Builds of what others wrote, without the user's credentials, proxies and other settings of docker and podman."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from datasmith.docker.cli_command import Cli

_PLUGINS = "cli-plugins"


@contextmanager
def no_credentials(cli: Cli) -> Iterator[Mapping[str, str]]:
    """Variables with which the program reaches the same daemon with the same plugins, and knows nothing else of a user.

    A configuration of docker's client holds logins, names programs that give them out, and may hold proxies with
    passwords, which a build gets as arguments.
    """
    with tempfile.TemporaryDirectory(prefix="fc-docker-") as place:
        empty = Path(place)
        (empty / "auth.json").write_text("{}")
        own = Path(cli.environment.get("HOME", "/"), ".docker", _PLUGINS)
        if own.is_dir():
            (empty / _PLUGINS).symlink_to(own)
        yield {"DOCKER_CONFIG": place, "REGISTRY_AUTH_FILE": str(empty / "auth.json"), **_daemon(cli)}


def _daemon(cli: Cli) -> dict[str, str]:
    """Where docker's context of the user leads, which is a part of the configuration, too."""
    if cli.program != "docker" or "DOCKER_HOST" in cli.environment:
        return {}
    told = cli.run(["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"])
    host = told.text.strip()
    return {"DOCKER_HOST": host} if told.ok and host else {}
