"""Remember: the database, the ledger and the cache behind one Protocol."""

from typing import TYPE_CHECKING

from datasmith.storage.base import Store

if TYPE_CHECKING:  # reading settings is slow to import
    from datasmith.settings import Settings


def open_store(settings: "Settings", *, create: bool = True) -> Store:
    """The store that `settings` name, ready for use.

    With `create=False` nothing on disk is created or changed: an existing SQLite file is opened for reading, and a
    missing one reads as an empty store.

    Raises:
        StoreUnavailable: it cannot be opened; names the file or URL.
        SchemaMismatch: another version migrated it (with `create=False`: also one that was never migrated).
        ConfigError: DATABASE_URL cannot be used, or is missing where SUPABASE_URL is set.
    """
    from datasmith.storage.address import refuse_rest_only  # SQLAlchemy is slow to import
    from datasmith.storage.sql import SqlStore

    url = settings.database_url
    if settings.supabase_url and not url:
        refuse_rest_only(settings.supabase_url)
    store = SqlStore(url, writable=create) if url else SqlStore.at(settings.data_dir / "fc.sqlite", writable=create)
    if create:
        store.migrate()
    elif store.missing:
        store = SqlStore.empty()
    store.check()
    return store
