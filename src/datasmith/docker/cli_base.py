"""What a program's base tiers are built on: the image that FC_BASE_IMAGE names, by its digest, as it was or is."""

import logging
import re
from pathlib import Path

from datasmith.docker.cli_command import Cli
from datasmith.docker.engine import Tier
from datasmith.errors import EngineUnavailable
from datasmith.printable import ending

BASE_NAME = "org.opencontainers.image.base.name"
BASE_DIGEST = "org.opencontainers.image.base.digest"
"""On every image: which one its base tier started from, as it was named, and the digest that this meant."""
_LONG_S = 3600.0
_NO_SUCH = re.compile(
    r"manifest unknown|name unknown|manifest for \S+ not found|@sha256:[0-9a-f]{64}: not found", re.IGNORECASE
)
"""What a registry says that answers, and has no such image; nothing of who may ask."""
_log = logging.getLogger(__name__)


class Starts:
    """The images that base tiers of one engine start from; each name is resolved once."""

    def __init__(self, cli: Cli, base_image: str) -> None:
        """`base_image` is the setting."""
        self._cli = cli
        self._base_image = base_image
        self._known: dict[str, str] = {}
        self._gone: set[str] = set()

    def of(self, tier: Tier, log: Path) -> str:
        """What a base tier is built on: what the setting names, as it was by the digest that the tier gives.

        That is taken from where the setting's image is from: a mirror has the same. A setting with a digest stands, and
        so does one of another image or tag, which is another system. Where the registry says that it has no such image
        any more, today's is taken, and the log says so.

        Raises:
            EngineUnavailable: it cannot be fetched for another reason.
        """
        name, _, digest = tier.base.partition("@")
        if not digest or "@" in self._base_image or _last(name) != _last(self._base_image):
            return self._base_image
        wanted = f"{_repository(self._base_image)}@{digest}"
        if wanted not in self._gone:
            refused = self._looked_for(wanted)
            if refused is None:
                return wanted
            if not _NO_SUCH.search(refused):
                raise self._missing(wanted, refused)
            self._gone.add(wanted)
        said = f"{tier.name} is built on {self._base_image} as it is today: {wanted} is gone from its registry"
        _log.warning(said)
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{said}\n")
        return self._base_image

    def fetched(self, reference: str = "") -> str:
        """The digest of an image (without a name the setting's), which is fetched where it is missing.

        Raises:
            EngineUnavailable: it is not here and cannot be fetched.
        """
        reference = reference or self._base_image
        refused = self._looked_for(reference)
        if refused is not None:
            raise self._missing(reference, refused)
        return self._known[reference]

    def _looked_for(self, reference: str) -> str | None:
        """None where an image is known now; else what fetching it said."""
        if reference in self._known:
            return None
        said = ""
        found = self._cli.digest(reference)
        if found is None:
            done = self._cli.run(["pull", reference], timeout=_LONG_S)
            said, found = done.error_text, self._cli.digest(reference) if done.ok else None
        if found is None:
            return said
        self._known[reference] = found
        return None

    def _missing(self, reference: str, said: str) -> EngineUnavailable:
        return EngineUnavailable(
            f"{self._cli.program} cannot fetch the base image {reference}: {ending(said, 300)}"
            " (name one that is there, example: FC_BASE_IMAGE=registry.example.org/debian:bookworm-slim)"
        )

    def reference(self, start: str) -> str:
        """What a name means here, for good: name@sha256:… of its registry, else the image's own sha256:….

        Raises:
            EngineUnavailable: it is not here and cannot be fetched.
        """
        start = start or self._base_image
        told = self._cli.json(["image", "inspect", "--format", "{{json .RepoDigests}}", self.fetched(start)])
        known = sorted(name for name in told if isinstance(name, str)) if isinstance(told, list) else []
        here = [name for name in known if _repository(name) == _repository(start)]
        same = [name for name in known if _last(_repository(name)) == _last(_repository(start))]
        return (here or same or known or [self.fetched(start)])[0]

    def labels(self, start: str) -> list[str]:
        """Options of a build that say on an image what it started from."""
        pinned = self.reference(start)
        digest = pinned.partition("@")[2] or pinned
        return ["--label", f"{BASE_NAME}={self._base_image}", "--label", f"{BASE_DIGEST}={digest}"]


def _repository(reference: str) -> str:
    """An image's name without tag and digest: `127.0.0.1:5000/base` of `127.0.0.1:5000/base:stable@sha256:…`."""
    place, slash, last = reference.partition("@")[0].rpartition("/")
    return f"{place}{slash}{last.partition(':')[0]}"


def _last(name: str) -> str:
    """The last part of an image's path, with its tag: what is the same wherever it is from."""
    return name.rpartition("/")[2]
