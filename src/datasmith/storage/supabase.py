"""The migrations as the files of supabase/migrations, which Supabase's own program applies."""

from io import StringIO

from alembic import command
from alembic.script import ScriptDirectory

from datasmith.storage.migrate import configuration

_HEAD = "-- Made from the migrations of datasmith.storage by `make migrations`: change those, not this file.\n\n"


def migration_files() -> dict[str, str]:
    """Name and text of the file of each migration, in order: PostgreSQL statements, without a transaction of their own.

    The program puts each file into one transaction together with its own note of it. The files keep Alembic's note,
    too: a database that they were applied to is up to date for `Store.migrate`.
    """
    made = {}
    for script in reversed(list(ScriptDirectory.from_config(configuration()).walk_revisions())):
        config = configuration()
        config.output_buffer = StringIO()
        config.attributes["own_transaction"] = False
        command.upgrade(config, f"{script.down_revision or 'base'}:{script.revision}", sql=True)
        name = script.path.rpartition("_")[2].removesuffix(".py")
        made[f"{script.module.written}_{name}.sql"] = _HEAD + config.output_buffer.getvalue().strip() + "\n"
    return made
