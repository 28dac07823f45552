"""What Alembic runs for every command: on the connection given by the store, or as SQL text for PostgreSQL."""

from alembic import context
from sqlalchemy import Connection

from datasmith.storage.schema import metadata


def run() -> None:
    """Run the migrations that Alembic has chosen."""
    connection: Connection | None = context.config.attributes.get("connection")
    if connection is None:
        context.configure(
            dialect_name="postgresql",
            target_metadata=metadata,
            literal_binds=True,
            transactional_ddl=context.config.attributes.get("own_transaction", True),
        )
    else:
        context.configure(connection=connection, target_metadata=metadata)
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":  # the name under which Alembic runs this file; importing it does nothing
    run()
