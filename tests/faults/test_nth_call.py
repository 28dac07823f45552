"""An outage at any one call of any seam, and --resume: the database is the one of a run without outages."""

from pathlib import Path

import pytest

from datasmith.errors import ForgeUnavailable, IndexUnavailable, StoreUnavailable
from datasmith.settings import Settings
from datasmith.storage.base import Store
from datasmith.storage.sql import SqlStore
from tests.clones import Clone
from tests.conformance.stores import postgresql
from tests.faults.seam_trouble import FailingStore, Trouble, contents, run_all

OUTAGES = (ForgeUnavailable, IndexUnavailable, StoreUnavailable)


def cleared(store: Store, url: str) -> Store:
    """The same store without rows."""
    from sqlalchemy import create_engine, text

    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        for table in ("repositories", "pull_requests", "packages", "stage_items", "runner_failures", "runner_progress"):
            connection.execute(text(f"DELETE FROM {table}"))
    engine.dispose()
    return store


def check_every_call(url: str, tmp_path: Path, step: int = 1) -> None:
    """Let call 1, 2, 3, … of forge, store and resolver fail once; then go on, as `--resume` does."""
    clone = Clone(tmp_path / "calc")
    for number, title in enumerate(("Speed up all", "Fix typo"), 2):
        clone.merge(number, title)
    settings = Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache", engine="bubblewrap")
    store = FailingStore(url)
    store.migrate()
    whole = Trouble()
    store.trouble = whole
    run_all(store, clone.path, settings, whole)
    calls = whole.calls
    store.trouble = Trouble()
    golden = contents(store)
    assert {row["state"] for row in golden["stage_items"]} == {"passed", "refused", "pending"}, golden[
        "runner_failures"
    ]
    failed = 0
    for at in range(1, calls + 1, step):
        cleared(store, url)
        store.trouble = trouble = Trouble(at)
        try:
            run_all(store, clone.path, settings, trouble)
        except OUTAGES as error:
            failed += f"call {at} was" in str(error)
        store.trouble = trouble = Trouble()
        run_all(store, clone.path, settings, trouble)
        assert contents(store) == golden, f"call {at} of {calls}"
    store.close()
    print(f"fail the N-th call: {calls} calls of the seams, every {step}. failed ({url[:6]}): all end golden")
    assert failed > calls / step / 2


@pytest.mark.timeout(300)
def test_any_failing_call_on_sqlite(tmp_path: Path) -> None:
    """On a SQLite file."""
    with SqlStore.at(tmp_path / "fc.sqlite") as store:
        store.migrate()
    check_every_call(f"sqlite:///{tmp_path}/fc.sqlite", tmp_path)


@pytest.mark.timeout(300)
def test_any_failing_call_on_postgresql(tmp_path: Path) -> None:
    """On a PostgreSQL server; every fourth call."""
    with postgresql(tmp_path) as url:
        check_every_call(url, tmp_path, step=4)
