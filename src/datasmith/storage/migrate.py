"""Bring a database to this version's schema by the migrations that lie beside this file."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.script.revision import ResolutionError
from alembic.util import CommandError
from sqlalchemy import Connection

from datasmith.errors import SchemaMismatch
from datasmith.storage.schema import REVISION

MIGRATIONS = Path(__file__).parent / "migrations"


def configuration(connection: Connection | None = None) -> Config:
    """Alembic's configuration for the installed package; works on `connection` where one is given."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def upgrade(connection: Connection) -> None:
    """Run the missing migrations inside the connection's transaction.

    Raises:
        SchemaMismatch: the database is at a revision that this version does not know.
    """
    try:
        command.upgrade(configuration(connection), REVISION)
    except (CommandError, ResolutionError) as error:
        found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
        raise SchemaMismatch(str(found), REVISION) from error


def newest() -> str:
    """The newest migration's revision: what schema.REVISION must be."""
    return str(ScriptDirectory.from_config(configuration()).get_current_head())


def is_known(revision: str) -> bool:
    """True where this version has a way from `revision` to its own."""
    script = ScriptDirectory.from_config(configuration())
    return revision in {step.revision for step in script.walk_revisions()}
