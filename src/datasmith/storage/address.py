"""Where the database is: the URL of DATABASE_URL, with the driver that we use."""

from sqlalchemy import exc
from sqlalchemy.engine import URL, make_url

from datasmith.errors import ConfigError

_SUPPORTED = ("sqlite", "postgresql")
CONNECT_S = 15
"""How long opening a connection to a PostgreSQL server may take, unless the URL says otherwise."""
KEEPALIVES = {"keepalives_idle": 60, "keepalives_interval": 15, "keepalives_count": 4, "tcp_user_timeout": 120_000}
"""A server that gives no sign for two minutes is lost, unless the URL says otherwise (seconds; the last in ms)."""
_TRANSACTION_POOLER = 6543
"""The port at which Supabase hands out a connection for one transaction only: it keeps no prepared statements."""


def read_url(text: str | URL) -> URL:
    """The URL with the driver we use.

    Raises:
        ConfigError: it cannot be read, or names a database that no driver is installed for.
    """
    try:
        url = make_url(text)
        if url.drivername in {"postgres", "postgresql"}:
            url = url.set(drivername="postgresql+psycopg")
        if url.get_backend_name() in _SUPPORTED:
            url.get_dialect().import_dbapi()
    except ModuleNotFoundError as error:
        raise ConfigError(_without_driver(url.get_backend_name(), error)) from error
    except (exc.ArgumentError, exc.NoSuchModuleError, ImportError, ValueError) as error:
        raise ConfigError(f"DATABASE_URL cannot be used: {error} (example: sqlite:///work/fc.sqlite)") from error
    if url.get_backend_name() not in _SUPPORTED:
        raise ConfigError(
            f"DATABASE_URL names {url.get_backend_name()}; sqlite and postgresql are supported "
            "(example: postgresql://user:password@host:5432/database)"
        )
    return url


def _without_driver(name: str, error: ModuleNotFoundError) -> str:
    if name == "postgresql":
        missing = f"DATABASE_URL names a PostgreSQL, and its driver is missing ({error})"
        return f"{missing} (example, in the checkout: pip install '.[postgres]')"
    return f"DATABASE_URL cannot be used: {error} (example: sqlite:///work/fc.sqlite)"


def connect_arguments(url: URL) -> dict[str, int | None]:
    """What psycopg is told beside the URL."""
    limits = {"connect_timeout": CONNECT_S, **KEEPALIVES}
    arguments: dict[str, int | None] = {name: value for name, value in limits.items() if name not in url.query}
    if url.port == _TRANSACTION_POOLER:
        arguments["prepare_threshold"] = None
    return arguments


def refuse_rest_only(supabase_url: str) -> None:
    """Explain what a store needs, where only the address of Supabase's REST interface is known.

    Raises:
        ConfigError: always; names DATABASE_URL and gives the address to try.
    """
    local = any(host in supabase_url for host in ("127.0.0.1", "localhost"))
    example = (
        "postgresql://postgres:postgres@127.0.0.1:54322/postgres"
        if local
        else "postgresql://postgres.PROJECT:PASSWORD@POOLER_HOST:5432/postgres, shown by Supabase under Connect"
    )
    raise ConfigError(
        "SUPABASE_URL is the address of Supabase's REST interface, which has no transactions: set DATABASE_URL to the "
        f"PostgreSQL behind it (example: DATABASE_URL={example}; for a local file: DATABASE_URL=sqlite:///work/fc.sqlite)"
    )
