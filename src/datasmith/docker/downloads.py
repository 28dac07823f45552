"""What the scripts of a tier may download with, and what they share with other builds: it depends on whose they are."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from datasmith.docker.egress import PROXY_NAMES, SOCKET, Egress, index_destinations, relayed
from datasmith.docker.engine import Mount, Tier
from datasmith.docker.environment import CERTIFICATES, OFFLINE
from datasmith.docker.origin import runs_only_ours
from datasmith.redact import without_credentials

UV_CACHE = "/tmp/uv-cache"
_EGRESS = "/opt/fc/egress"


@dataclass(frozen=True, slots=True)
class Downloads:
    """How scripts get at packages: variables, mounts, a cache (None: one of their own), and words before a command."""

    environment: Mapping[str, str]
    network: bool = False
    cache: Path | None = None
    mounts: tuple[Mount, ...] = ()
    before: tuple[str, ...] = ()


@contextmanager
def downloads(tier: Tier, *, shared: Path, index_url: str, ca_bundle: Path | None) -> Iterator[Downloads]:
    """The way for a tier, open while it is built.

    A tier that downloads and runs nothing but what ships has the network, the cache of all such tiers (`shared`) and
    the index as it is set. Somebody else's scripts have a cache that goes with their sandbox, no password, and the
    host's proxy, which lets them reach the index and nothing else.
    """
    if tier.network == "none":
        yield Downloads(OFFLINE)
        return
    told = {"UV_CACHE_DIR": UV_CACHE, "UV_LINK_MODE": "copy", "SSL_CERT_FILE": CERTIFICATES}
    if runs_only_ours(tier):
        shared.mkdir(parents=True, exist_ok=True)
        yield Downloads({**told, **_index(index_url)}, network=True, cache=shared)
        return
    with ExitStack() as stack:
        egress = stack.enter_context(Egress(index_destinations(index_url)))
        bundle = ca_bundle or Path(CERTIFICATES)
        trusted = (Mount(bundle, CERTIFICATES),) if bundle.is_file() else ()
        yield Downloads(
            {**told, **_index(without_credentials(index_url))},
            mounts=(Mount(egress.directory, _EGRESS), *trusted),
            before=relayed({PROXY_NAMES: f"{_EGRESS}/{SOCKET}"}),
        )


def _index(url: str) -> dict[str, str]:
    return {"UV_DEFAULT_INDEX": url} if url else {}
