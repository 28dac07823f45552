"""Where GitHub is, and how it and other services are reached, out of the settings."""

from urllib.parse import urlsplit

from datasmith.errors import ConfigError
from datasmith.github.etags import DirectoryReplies, MemoryReplies, ReplyStore
from datasmith.github.tokens import TokenPool
from datasmith.github.transport import Route, Timing, Transport
from datasmith.settings import Settings

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_ENTERPRISE = "/api/v3"


def connect(
    settings: Settings, base_url: str, pool: TokenPool, timing: Timing, replies: ReplyStore | None
) -> tuple[str, Transport]:
    """The REST API's address and the transport to it.

    Raises:
        ConfigError: an address or file that the settings name cannot be used.
    """
    url = checked_url(base_url or settings.github_url)
    if replies is None:
        replies = DirectoryReplies(settings.github_cache_dir) if settings.github_cache_dir else MemoryReplies()
    return url, Transport(pool, url, route_to(url, settings, settings.github_timeout_s), timing, replies)


def route_to(url: str, settings: Settings, timeout_s: float) -> Route:
    """How an address is reached: by which proxy, trusting whom; plain http goes by no proxy.

    Raises:
        ConfigError: the proxy or the file of certificates cannot be used.
    """
    encrypted = url.startswith("https:")
    return Route(
        timeout_s=timeout_s,
        ca_bundle=str(settings.certificates or ""),
        proxy=proxy_for(url, settings.https_proxy.get_secret_value(), settings.no_proxy) if encrypted else "",
        encrypted=encrypted,
    )


def checked_url(text: str) -> str:
    """The address without a slash at its end.

    Raises:
        ConfigError: it is none, holds a password, or would carry tokens in the clear over a network.
    """
    example = "(example: FC_GITHUB_URL=https://github.example.org/api/v3)"
    try:
        parts = urlsplit(text.strip())
        host = parts.hostname or ""
        _ = parts.port
    except ValueError as error:
        raise ConfigError(f"FC_GITHUB_URL: {error} {example}") from error
    if parts.scheme not in {"http", "https"} or not host or parts.query or parts.fragment or "@" in parts.netloc:
        raise ConfigError(f"FC_GITHUB_URL is not the address of a GitHub API {example}")
    if goes_in_the_clear(text.strip()):
        raise ConfigError(f"FC_GITHUB_URL: http would send the tokens in the clear {example}")
    return text.strip().rstrip("/")


def goes_in_the_clear(url: str) -> bool:
    """True for plain http to another machine: whoever is on the way can read what is sent."""
    parts = urlsplit(url)
    return parts.scheme == "http" and (parts.hostname or "") not in _LOOPBACK


def graphql_url(base_url: str) -> str:
    """Where GraphQL is asked: beside the REST API, on an Enterprise server at another path."""
    if base_url.endswith(_ENTERPRISE):
        return base_url.removesuffix("/v3") + "/graphql"
    return base_url + "/graphql"


def proxy_for(url: str, proxy: str, no_proxy: str) -> str:
    """The proxy to use for an address; "" for none. `no_proxy` lists hosts and domains, or is "*".

    Raises:
        ConfigError: the proxy's address is none, or of a kind that is not spoken.
    """
    host = (urlsplit(url).hostname or "").lower()
    for word in no_proxy.replace(",", " ").split():
        name = word.lower().lstrip("*").lstrip(".").partition(":")[0]
        if word == "*" or (name and (host == name or host.endswith("." + name))):
            return ""
    return _checked_proxy(proxy.strip()) if proxy.strip() else ""


def _checked_proxy(text: str) -> str:
    """The address with its scheme; an error does not repeat it, for it may hold a password."""
    address = text if "://" in text else f"http://{text}"
    example = "(example: HTTPS_PROXY=http://user:password@proxy.example.org:3128)"
    try:
        parts = urlsplit(address)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise ConfigError(f"HTTPS_PROXY is no address {example}") from error
    if not usable:
        raise ConfigError(f"HTTPS_PROXY must be an address with http:// or https:// {example}")
    return address
