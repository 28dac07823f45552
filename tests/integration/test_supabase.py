"""supabase/migrations on a real PostgreSQL, applied by Supabase's own program."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from datasmith.errors import StoreUnavailable
from datasmith.storage.schema import metadata
from datasmith.storage.sql import SqlStore
from tests.conformance.stores import PROGRAMS, postgresql

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "supabase" / "migrations").glob("*.sql"))
ROLES = "CREATE ROLE anon; CREATE ROLE service_role BYPASSRLS; CREATE ROLE worker LOGIN;"
"""What makes a server look like Supabase's to the migrations, and a user that owns nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """A PostgreSQL that makes an empty database and gives its URL."""
    with postgresql(tmp_path) as url:

        def made(name: str) -> str:
            run_sql(url, f"CREATE DATABASE {name}")
            return url.removesuffix("/postgres") + f"/{name}"

        yield made


def run_sql(url: str, *statements: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements[:-1]:
            connection.execute(statement.encode())
        answer = connection.execute(statements[-1].encode())
        return list(answer.fetchall()) if answer.description else []


def program() -> str:
    """Supabase's program: from scripts/install-supabase.sh, or on the PATH."""
    found = shutil.which("supabase", path=f"{ROOT / 'node_modules' / '.bin'}:{os.environ['PATH']}")
    if not found and not os.environ.get("CI"):
        pytest.skip("supabase is not installed (scripts/install-supabase.sh installs it)")
    assert found, "scripts/install-supabase.sh did not install supabase"
    return found


def supabase(url: str, place: Path) -> str:
    """`supabase migration up` in a project that has our migrations; what it says."""
    shutil.copytree(ROOT / "supabase", place / "supabase", dirs_exist_ok=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(place), "DO_NOT_TRACK": "1", "NO_COLOR": "1"}
    words = [program(), "migration", "up", f"--remote={url}", "--yes", "--agent", "no"]
    done = subprocess.run(words, cwd=place, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def with_psql(url: str) -> None:
    """Each file in a transaction of its own, in the order of their names."""
    for path in FILES:
        words = [str(PROGRAMS[0] / "psql"), url, "-v", "ON_ERROR_STOP=1", "--single-transaction", "-f", str(path)]
        subprocess.run(words, check=True, capture_output=True)


def dumped(url: str) -> str:
    """The schema of a database, as PostgreSQL itself writes it down, and the revision that it says it has."""
    words = [str(PROGRAMS[0] / "pg_dump"), "--schema-only", "--schema=public", url]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if line and not line.startswith(("--", "\\"))]
    return "\n".join([*lines, str(run_sql(url, "SELECT version_num FROM alembic_version"))])


def hidden(url: str) -> set[str]:
    """The tables that row level security guards."""
    guarded = "SELECT relname FROM pg_class WHERE relrowsecurity AND relnamespace = 'public'::regnamespace"
    return {str(row[0]) for row in run_sql(url, guarded)}


def check_same_schema(url: str, other: str) -> None:
    """A database that the files were applied to is the one that the store would have made."""
    before = dumped(url)
    with SqlStore(other) as store:
        store.migrate()
    assert before == dumped(other)
    assert all(f"CREATE TABLE public.{name} (" in before for name in metadata.tables)
    with SqlStore(url) as store:
        store.migrate()
        store.check()
    assert dumped(url) == before


@pytest.mark.timeout(900)
def test_supabase_applies_the_migrations(server: Callable[[str], str], tmp_path: Path) -> None:
    """Its program makes the schema that the store makes; again, it has nothing to do; migrate then changes nothing."""
    url, other = server("applied"), server("migrated")
    run_sql(url, ROLES)
    said = supabase(url, tmp_path / "project")
    assert [path.name for path in FILES if path.name in said] == [path.name for path in FILES]
    noted = run_sql(url, "SELECT version FROM supabase_migrations.schema_migrations ORDER BY version")
    assert noted == [(path.name[:14],) for path in FILES]
    check_same_schema(url, other)
    assert "up to date" in supabase(url, tmp_path / "project")
    assert hidden(url) == hidden(other) == {*metadata.tables, "alembic_version"}
    print(f"supabase: {len(FILES)} migrations applied by its program, {len(hidden(url))} tables guarded")


def test_the_files_make_the_schema_of_the_store(server: Callable[[str], str]) -> None:
    """By psql as well; on a PostgreSQL that is not Supabase's, nothing is guarded."""
    url, other = server("applied"), server("migrated")
    with_psql(url)
    check_same_schema(url, other)
    assert hidden(url) == hidden(other) == set()


def test_visitors_see_no_rows(server: Callable[[str], str]) -> None:
    """The role of Supabase's public key reads nothing and writes nothing, its service role and the owner all."""
    url = server("guarded")
    run_sql(url, ROLES)
    with SqlStore(url) as store:
        store.migrate()
        store.upsert("repositories", [{"owner": "a", "repo": "b"}])
        assert len(store.select("repositories")) == 1
    run_sql(url, "GRANT ALL ON ALL TABLES IN SCHEMA public TO anon, service_role, worker")
    assert run_sql(url, "SET ROLE anon", "SELECT count(*) FROM repositories") == [(0,)]
    assert run_sql(url, "SET ROLE service_role", "SELECT count(*) FROM repositories") == [(1,)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        run_sql(url, "SET ROLE anon", "INSERT INTO repositories (owner, repo) VALUES ('x', 'y')")


def test_a_user_from_whom_rows_are_hidden_is_told(server: Callable[[str], str]) -> None:
    """Otherwise the store would look empty to it; the message says which users see everything."""
    url = server("guarded")
    run_sql(url, ROLES)
    with SqlStore(url) as store:
        store.migrate()
    run_sql(url, "GRANT ALL ON ALL TABLES IN SCHEMA public TO worker")
    as_worker = url.replace("//postgres@", "//worker@")
    with SqlStore(as_worker) as store, pytest.raises(StoreUnavailable, match=r"row level security.*BYPASSRLS"):
        store.check()
