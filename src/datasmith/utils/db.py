"""The public address of the fluent reader: `from datasmith.utils.db import get_client`."""

from datasmith.storage.table import Client


def get_client() -> Client:
    """The store that the settings name, asked as `client.table("pull_requests").select("*").execute()`.

    Raises:
        ConfigError: DATABASE_URL cannot be used.
        StoreUnavailable: the database cannot be opened; names the file or URL.
    """
    from datasmith.settings import load_settings
    from datasmith.storage import open_store

    return Client(open_store(load_settings()))
