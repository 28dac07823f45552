"""Checks of this machine, on this machine."""

import os
import sqlite3
from pathlib import Path

import pytest

from datasmith.docker.engines import ENGINES, open_engine
from datasmith.errors import EngineUnavailable, StoreError
from datasmith.preflight import here
from datasmith.preflight.base import Facts
from datasmith.preflight.checks import CHECKS
from datasmith.settings import Settings
from datasmith.storage.sql import SqlStore
from tests.conformance.stores import postgresql


def facts(place: Path, variables: dict[str, str] | None = None, **settings: object) -> Facts:
    """Facts with a data directory of their own."""
    given = {"data_dir": place / "work", "cache_dir": place / "cache", **settings}
    return Facts(Settings.model_construct(**given), variables or {})  # type: ignore[arg-type]


def test_a_file_of_tokens_for_everybody_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None is fine, a private one is fine, one that others can read is said."""
    monkeypatch.chdir(tmp_path)
    assert here.tokens_file(facts(tmp_path)).state == "SKIP"
    (tmp_path / "tokens.env").write_text("A=b\n")
    for mode, todo in ((0o600, ""), (0o640, "chmod 600 tokens.env"), (0o604, "chmod 600 tokens.env")):
        (tmp_path / "tokens.env").chmod(mode)
        found = here.tokens_file(facts(tmp_path))
        assert (found.state, found.todo) == ("OK", todo)


def test_a_file_of_tokens_that_is_not_read_as_meant_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no value may be a token that was written without its name: it is not shown."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokens.env").write_text("GH_TOKENS=a\nghp_secret\n")
    (tmp_path / "tokens.env").chmod(0o600)
    found = here.tokens_file(facts(tmp_path))
    assert found.state == "FAIL" and found.detail.startswith("1 line without a value") and "secret" not in str(found)
    (tmp_path / "tokens.env").write_text('FC_ENGINE=docker\nGH TOKENS=ghp_secret\nFC_LOG_LEVEL="DEBUG\n')
    found = here.tokens_file(facts(tmp_path))
    assert found.state == "FAIL" and found.detail.startswith("line 2 cannot be read") and "secret" not in str(found)
    (tmp_path / "tokens.env").unlink()
    (tmp_path / "tokens.env").mkdir()
    assert here.tokens_file(facts(tmp_path)).state == "FAIL"


def test_a_misspelt_variable_is_named_with_the_right_one(tmp_path: Path) -> None:
    """Case does not matter, other prefixes are not ours."""
    good = {"FC_ENGINE": "docker", "fc_data_dir": "x", "FCX": "y", "HOME": "z"}
    assert here.variables(facts(tmp_path, good)).detail == "2 set, all known"
    found = here.variables(facts(tmp_path, {**good, "FC_DATADIR": "x", "FC_ZZZZZZ": "y"}))
    assert (found.state, found.detail) == ("FAIL", "not known: FC_DATADIR, FC_ZZZZZZ")
    assert found.todo.startswith("did you mean FC_DATA_DIR?")
    assert here.variables(facts(tmp_path, {"FC_ZZZZZZ": "y"})).todo.startswith("rename or remove")


def test_a_store_that_is_not_there_yet_will_be_made(tmp_path: Path) -> None:
    """Nothing is made by looking."""
    found = here.store(facts(tmp_path))
    assert (found.state, found.detail) == ("OK", f"{tmp_path}/work/fc.sqlite will be made by the first run")
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_made_names_the_directory(tmp_path: Path) -> None:
    """And the setting: here a file is in the way."""
    (tmp_path / "file").touch()
    found = here.store(facts(tmp_path / "file"))
    assert found.state == "FAIL" and f"{tmp_path}/file is not" in found.detail and "FC_DATA_DIR" in found.todo


def test_a_store_is_opened_and_written(tmp_path: Path) -> None:
    """A migrated one is fine; an old one will be migrated; a newer one, rubbish and a locked one are failures."""
    asked = facts(tmp_path)
    path = tmp_path / "work/fc.sqlite"
    with SqlStore.at(path) as store:
        store.migrate()
    assert here.store(asked).detail == f"{path}: tables of this version, writable"
    with sqlite3.connect(path) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    newer = here.store(asked)
    assert newer.state == "FAIL" and "9999" in newer.detail and "newest fc-data" in newer.todo
    path.write_bytes(b"no database at all, but long enough to look at" * 100)
    with pytest.raises(StoreError, match=str(path)):
        here.store(asked)


def test_an_empty_database_will_get_its_tables(tmp_path: Path) -> None:
    """A server has no file: its database is there, and empty."""
    (tmp_path / "work").mkdir()
    sqlite3.connect(tmp_path / "work/fc.sqlite").close()
    found = here.store(facts(tmp_path))
    assert found.state == "OK" and "the next run brings it to" in found.detail


def test_the_store_on_postgresql(tmp_path: Path) -> None:
    """Empty, migrated, and one that takes no writes."""
    with postgresql(tmp_path) as url:
        asked = facts(tmp_path, database_url=url)
        assert "the next run brings it to" in here.store(asked).detail
        with SqlStore(url) as store:
            store.migrate()
        assert here.store(asked).detail == "DATABASE_URL: tables of this version, writable"
        reading = facts(tmp_path, database_url=f"{url}?options=-cdefault_transaction_read_only%3Don")
        with pytest.raises(StoreError, match="read-only transaction"):
            here.store(reading)


def test_supabase_is_reached_by_its_database(tmp_path: Path) -> None:
    """Whoever sets SUPABASE_URL alone learns which variable counts."""
    found = here.store(facts(tmp_path, {"SUPABASE_URL": "http://127.0.0.1:54321"}))
    assert found.state == "FAIL" and found.todo.startswith("DATABASE_URL=postgresql://")


def test_disks_have_room_or_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place need not exist; what is missing is said in megabytes."""
    monkeypatch.setitem(here.LEAST_MB, "data_dir", 1)
    assert here.data_room(facts(tmp_path)).state == "OK"
    monkeypatch.setitem(here.LEAST_MB, "cache_dir", 10**9)
    found = here.cache_room(facts(tmp_path))
    assert found.state == "FAIL" and "FC_CACHE_DIR" in found.todo and "1000000000 MB are needed" in found.detail


def test_a_place_below_a_file_is_no_room(tmp_path: Path) -> None:
    """Nothing can be made there, however much is free."""
    (tmp_path / "file").write_text("")
    found = here.room("cache_dir", tmp_path / "file/cache")
    assert (found.state, found.todo) == ("FAIL", "set FC_CACHE_DIR (example: ~/fc-data)")
    assert "file is not a directory we can write" in found.detail


def test_cores_to_measure_on_are_there(tmp_path: Path) -> None:
    """A list that stage 5 would refuse is refused here, too."""
    found = here.cores(facts(tmp_path, bench_cores=""))
    assert found.state == "OK" and found.detail.startswith(f"{len(os.sched_getaffinity(0))} at once, on ")
    refused = here.cores(facts(tmp_path, bench_cores="9999"))
    assert refused.state == "FAIL" and "there is no core 9999 here" in refused.detail


def test_cores_can_be_taken(tmp_path: Path) -> None:
    """Where locks cannot be written nothing can be measured; a directory that is not there yet is made."""
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "file", tmp_path / "file/below"):
        found = here.cores(facts(tmp_path, locks_dir=place))
        assert found.state == "FAIL" and f"cannot write {place}" in found.detail and "FC_LOCKS_DIR" in found.todo
    assert here.cores(facts(tmp_path, locks_dir=tmp_path / "new/place")).state == "OK"


def test_programs_are_found_with_their_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git and uv of this machine; without them the line says how to get them."""
    assert here.git(facts(tmp_path)).detail.startswith("git version ")
    assert here.uv(facts(tmp_path)).detail.startswith("uv ")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert here.git(facts(tmp_path)).todo == "apt-get install git"


def test_agents_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are there are listed; none is a hint, no failure."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert here.agents(facts(tmp_path)).state == "SKIP"
    for name in ("codex", "mini"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    found = here.agents(facts(tmp_path))
    assert (found.state, found.detail) == ("OK", "codex, mini; no key of a model is set, so none is used")


def test_an_engine_that_cannot_be_used_is_a_failure_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreters wait for it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    asked = facts(tmp_path, engine="docker")
    assert here.engine(asked).state == "FAIL" and "docker is not installed" in here.engine(asked).detail
    assert (here.pythons(asked).state, here.pythons(asked).detail) == ("SKIP", "no engine")
    with pytest.raises(EngineUnavailable):
        open_engine(asked.settings)


NO_BASE = """#!/bin/sh
case "$1" in
version) echo '{"Server": {"Version": "28"}}' ;;
*) echo "Error response from daemon: No such image: $*" >&2; exit 1 ;;
esac
"""


def test_an_engine_without_its_base_image_is_no_engine_to_build_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the engine answers does not hide it: the check fails, and names the image and its setting."""
    (tmp_path / "docker").write_text(NO_BASE)
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    asked = facts(tmp_path, engine="docker", base_image="debian:none")
    assert here.engine(asked).state == "OK"
    (check,) = (check for check in CHECKS if check.name == "Interpreters")
    found = check.answer(asked, (5,))
    assert found.state == "FAIL" and "cannot fetch the base image debian:none: " in found.detail
    assert "example: FC_BASE_IMAGE=" in found.detail


@pytest.mark.parametrize("name", ENGINES)
def test_the_advice_is_about_the_engine_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each that there is: how it is installed first; another one at the end, if at all."""
    monkeypatch.setenv("PATH", str(tmp_path))
    advice = here.engine(facts(tmp_path, engine=name)).todo
    others = [other for other in ENGINES if other != name]
    assert advice.startswith(f"apt-get install {name}")
    assert not any(other in advice.partition("; or --engine")[0] for other in others)
