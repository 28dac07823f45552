"""fc-data attempts from the outside."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.data import app
from datasmith.storage.base import Query, Row
from datasmith.storage.sql import SqlStore

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def row(sha: str, tier: str, ok: bool, recipe: str = "", reason: str = "", cost: float | None = None) -> Row:
    known: Row = {"owner": "acme", "repo": "calc", "sha": sha, "issue_number": 1, "stage": "smoke", "rc": 1}
    return {**known, "tier": tier, "ok": ok, "recipe": recipe, "reason": reason, "cost_usd": cost, "duration_s": 30.0}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rows = (
        row("a", "recipe", False, reason="missing header geos_c.h"),
        row("a", "recipe", True, "missing header: apt libgeos-dev"),
        row("b", "recipe", False, reason="Cython 3"),
        row("b", "agent", False, "agent: claude", "[bold]odd[/bold]\x1b[2J", 0.5),
    )
    with SqlStore.at(tmp_path / "fc.sqlite") as store:
        store.migrate()
        store.query(Query("build_attempts", "insert", rows=rows))
    return tmp_path


def test_which_recipe_got_how_many_built(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tiers with their price, recipes with what they mended, and the signs of what stayed broken."""
    assert run_app(app, ["attempts", "--data-dir", str(place), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["recipes"] == [
        {"recipe": "missing header: apt libgeos-dev", "tried": 1, "built": 1},
    ]
    assert [(line["tier"], line["attempts"], line["worked"], line["cost_usd"]) for line in found["tiers"]] == [
        ("recipe", 3, 1, None),
        ("agent", 1, 0, 0.5),
    ]
    assert found["unsolved"] == {"[bold]odd[/bold]\x1b[2J": 1}


def test_the_tables_show_text_as_text(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No markup and no escape of a log gets to the terminal."""
    assert run_app(app, ["attempts", "--data-dir", str(place)]) == 0
    shown = capsys.readouterr().out
    assert "apt libgeos-dev" in shown and "[bold]odd[/bold]" in shown and "\x1b" not in shown and "0.50" in shown


def test_a_table_without_rows_is_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Attempts that no recipe made, and a commit that was built at last: neither has a table of nothing but a head."""
    with SqlStore.at(tmp_path / "fc.sqlite") as store:
        store.migrate()
        store.query(Query("build_attempts", "insert", rows=(row("a", "cache", True),)))
    assert run_app(app, ["attempts", "--data-dir", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["recipes: none", "never built, by the last sign: none"]
    assert [line[0] for line in lines[:2]] == ["a", "┏"] and "".join(lines).count("┏") == 1


def test_nothing_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty store is no error."""
    assert run_app(app, ["attempts", "--data-dir", str(tmp_path)]) == 0
    assert "nothing has been built yet" in capsys.readouterr().out
