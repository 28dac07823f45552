"""Where images go: which registries, by which names, and with which credentials."""

import json
import re
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from datasmith.docker.images import archive_tag, repository_name
from datasmith.errors import ConfigError
from datasmith.github.connection import goes_in_the_clear, route_to
from datasmith.publish.registry import Login, Pauses, Registry
from datasmith.settings import trusting

if TYPE_CHECKING:
    from datasmith.settings import Settings

DOCKER_HUB = "docker.io"
_HUB_URL = "https://registry-1.docker.io"
_HUB_KEY = "https://index.docker.io/v1/"
"""How Docker's configuration file calls Docker Hub."""
_PLACE = re.compile(r"(?:(https?)://)?([A-Za-z0-9.-]+(?::\d+)?)((?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)+)")
_EXAMPLE = "example: FC_REGISTRIES=docker.io/formulacode,ghcr.io/acme"
TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace of a registry."""

    host: str
    namespace: str
    url: str

    @property
    def scheme(self) -> Literal["http", "https"]:
        """How its registry is spoken to."""
        return "http" if self.url.startswith("http:") else "https"

    def repository(self, owner: str, repo: str, *, single: bool) -> str:
        """The repository that holds a task's image: one for all, or one for each project."""
        return f"{self.namespace}/all" if single else repository_name(self.namespace, owner, repo)


@dataclass(frozen=True, slots=True)
class ImageName:
    """Of which task an image is, as far as its name goes."""

    owner: str
    repo: str
    pr_number: int
    base_commit: str

    def tag(self, *, single: bool) -> str:
        """In the one repository for all: with owner, repository and commit; in the project's own: its number."""
        return archive_tag(self.owner, self.repo, self.base_commit) if single else str(self.pr_number)


def read_places(text: str) -> tuple[Place, ...]:
    """`docker.io/formulacode,ghcr.io/acme` as places; the first is the one that records name, the others are mirrors.

    Raises:
        ConfigError: a word is no host with a namespace, or would send credentials in the clear.
    """
    found = []
    for word in text.replace(",", " ").split():
        read = _PLACE.fullmatch(word)
        shown = f"***@{word.rpartition('@')[2]}" if "@" in word else word
        if not read or (not read[1] and "." not in read[2] and ":" not in read[2] and read[2] != "localhost"):
            raise ConfigError(f"FC_REGISTRIES: {shown!r} is no registry with a namespace ({_EXAMPLE})")
        host, namespace = read[2], read[3].lstrip("/")
        url = _HUB_URL if host == DOCKER_HUB else f"{read[1] or _scheme(host)}://{host}"
        if goes_in_the_clear(url):
            raise ConfigError(f"FC_REGISTRIES: {word!r}: http would send the credentials in the clear ({_EXAMPLE})")
        found.append(Place(host, namespace, url))
    return tuple(dict.fromkeys(found))


def _scheme(host: str) -> str:
    """Registries on loopback speak http, as the docker program assumes, too."""
    return "http" if host.partition(":")[0] in {"localhost", "127.0.0.1"} else "https"


def open_registry(place: Place, settings: "Settings", pauses: Pauses | None = None) -> Registry:
    """A place's registry, with the credentials that the settings or Docker's configuration file hold for it.

    Raises:
        ConfigError: the credentials or the way there cannot be used.
    """
    import httpx2

    route = route_to(place.url, settings, TIMEOUT_S)
    trust = trusting(route.ca_bundle) if route.encrypted and route.ca_bundle else True
    http = httpx2.Client(
        verify=trust, proxy=route.proxy or None, trust_env=False, timeout=route.timeout_s, follow_redirects=False
    )
    return Registry(place.url, login_of(place.host, settings), http, pauses)


def login_of(host: str, settings: "Settings") -> Login:
    """Credentials for a registry: of Docker Hub those of the settings first, then what Docker's file holds.

    Raises:
        ConfigError: the file cannot be read.
    """
    if host == DOCKER_HUB and settings.dockerhub_username and settings.dockerhub_token.get_secret_value():
        return Login(settings.dockerhub_username, settings.dockerhub_token.get_secret_value())
    path = settings.docker_config
    return _filed(path / "config.json", (host, _HUB_KEY) if host == DOCKER_HUB else (host, f"https://{host}"))


def _filed(path: Path, keys: Sequence[str]) -> Login:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        auths = said.get("auths", {})
        entry: dict[str, str] = next((auths[key] for key in keys if key in auths), {})
        user, _, password = b64decode(entry.get("auth", ""), validate=True).decode().partition(":")
    except FileNotFoundError:
        return Login()
    except (OSError, ValueError, AttributeError, TypeError, BadBase64) as error:
        raise ConfigError(
            f"DOCKER_CONFIG: {path} cannot be read: {type(error).__name__} (example: DOCKER_CONFIG=~/.docker)"
        ) from error
    return Login(user, password)
