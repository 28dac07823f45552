"""The migrations: what they make is what the code reads."""

import zipfile
from io import StringIO
from pathlib import Path

import sqlalchemy
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from datasmith.process import find_uv, run
from datasmith.storage import migrate
from datasmith.storage.schema import REVISION, metadata

ROOT = Path(__file__).resolve().parents[3]


def upgraded() -> sqlalchemy.Engine:
    engine = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.pool.StaticPool)
    with engine.begin() as connection:
        migrate.upgrade(connection)
    return engine


def checks(connection: sqlalchemy.Connection) -> dict[str, set[str]]:
    """Rules of each table, as the database keeps them."""
    look = sqlalchemy.inspect(connection)
    return {name: {rule["sqltext"] for rule in look.get_check_constraints(name)} for name in metadata.tables}


def test_migrations_make_the_schema_that_the_code_reads() -> None:
    """Alembic finds no difference between a migrated database and schema.py; nor are there other CHECKs."""
    with upgraded().connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        fresh = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.pool.StaticPool)
        metadata.create_all(fresh)
        with fresh.connect() as other:
            assert checks(connection) == checks(other)
            assert checks(connection)["stage_items"]


def test_the_code_names_the_newest_migration() -> None:
    """Otherwise check would refuse a database that was just migrated."""
    assert migrate.newest() == REVISION


def test_migrations_can_be_undone() -> None:
    """Down to nothing, and up again."""
    with upgraded().begin() as connection:
        command.downgrade(migrate.configuration(connection), "base")
        assert sqlalchemy.inspect(connection).get_table_names() == ["alembic_version"]
        migrate.upgrade(connection)
        assert set(metadata.tables) < set(sqlalchemy.inspect(connection).get_table_names())


def test_migrations_can_be_written_as_sql() -> None:
    """For Supabase: PostgreSQL statements without a connection or a driver."""
    config = migrate.configuration()
    config.output_buffer = StringIO()
    command.upgrade(config, "head", sql=True)
    text = config.output_buffer.getvalue()
    assert all(f"CREATE TABLE {name} (" in text for name in metadata.tables)
    assert "TIMESTAMP WITH TIME ZONE" in text


def test_the_wheel_has_the_migrations(tmp_path: Path) -> None:
    """An installed package can migrate: every file of the migrations is in the wheel."""
    done = run([str(find_uv()), "build", "--wheel", "--out-dir", str(tmp_path), str(ROOT)], cwd=tmp_path, timeout=120)
    assert done.ok, done.error_text
    (wheel,) = tmp_path.glob("*.whl")
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if "/migrations/" in name}
    wanted = {path for path in migrate.MIGRATIONS.rglob("*") if path.suffix in {".py", ".mako"}}
    assert inside == {str(path.relative_to(ROOT / "src")) for path in wanted}
