"""PR.fetch: the store first, then GitHub."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from datasmith.errors import ConfigError, NotFound
from datasmith.github import PR, render_problem_statement
from datasmith.github.models import FileChange
from datasmith.runners.rows import pull_request_row
from datasmith.storage.sql import SqlStore
from tests.loopback.github_server import GitHubServer, github_server
from tests.loopback.github_world import LoopbackPull, LoopbackRepository

MERGED = datetime(2026, 2, 5, tzinfo=UTC)
STORED = PR(
    repository="astropy/astropy", issue_number=16222, title="As stored", base_sha="b" * 40, merge_commit_sha="m" * 40,
    merged_at=MERGED, labels=("perf",), patch="diff --git\n",
    files=(FileChange(path="a.py", additions=1, deletions=2),),
)  # fmt: skip


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[GitHubServer]:
    """A GitHub that holds the pull request under another title; the settings name it and an empty directory."""
    world = LoopbackRepository("astropy/astropy")
    world.add(LoopbackPull(16222, "As on GitHub", merged_at=MERGED, closed_at=MERGED))
    monkeypatch.chdir(tmp_path)
    for name in ("DATABASE_URL", "FC_DATABASE_URL", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GH_TOKENS", "token-a")
    monkeypatch.setenv("FC_DATA_DIR", str(tmp_path / "work"))
    with github_server(world) as running:
        monkeypatch.setenv("FC_GITHUB_URL", running.url)
        yield running


def fetch(number: int = 16222) -> PR:
    return asyncio.run(PR.fetch("astropy/astropy", number))


def store(directory: Path, *prs: PR) -> None:
    with SqlStore.at(directory / "fc.sqlite") as opened:
        opened.migrate()
        for pr in prs:
            table, row = pull_request_row(pr, MERGED)
            opened.upsert(table, [row])


def test_what_the_store_holds_is_not_asked_for(server: GitHubServer, tmp_path: Path) -> None:
    """A hit gives the stored pull request, whole, without a call."""
    store(tmp_path / "work", STORED)
    assert fetch() == STORED
    assert server.seen == []


def test_what_the_store_does_not_hold_comes_from_github(server: GitHubServer, tmp_path: Path) -> None:
    """A miss asks GitHub: the pull request with its files and its patch; so does a row without commits."""
    store(tmp_path / "work", STORED.model_copy(update={"issue_number": 1}))
    pr = fetch()
    assert (pr.title, pr.merged_at, len(pr.files)) == ("As on GitHub", MERGED, 1)
    assert pr.patch is not None and pr.patch.startswith("diff --git")
    store(tmp_path / "work", STORED.model_copy(update={"merge_commit_sha": ""}))
    assert fetch().title == "As on GitHub"


def test_a_body_that_was_changed_after_the_merge_is_known_as_such(server: GitHubServer) -> None:
    """What was written when the outcome was known is in no problem statement."""
    body, later = "## Problem\n\nThe lookup is quadratic.", MERGED + timedelta(days=9)
    for number, edited_at in ((1, MERGED), (2, later)):
        pull = LoopbackPull(number, body=body, merged_at=MERGED, updated_at=later, edited_at=edited_at)
        server.repositories[0].add(pull)
    early, late = fetch(1), fetch(2)
    assert (early.edited_at, late.edited_at) == (MERGED, later)
    assert "quadratic" in render_problem_statement(early)
    assert "quadratic" not in render_problem_statement(late)


def test_without_a_store_github_is_asked_and_none_is_made(server: GitHubServer, tmp_path: Path) -> None:
    """Where no store was ever made, fetching makes none."""
    assert fetch().title == "As on GitHub"
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("url", ["postgresql://127.0.0.1:1/none", "sqlite:////proc/none/fc.sqlite"])
def test_a_store_that_is_down_is_gone_around(server: GitHubServer, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """An outage of the store costs a call to GitHub, nothing else."""
    monkeypatch.setenv("DATABASE_URL", url)
    assert fetch().title == "As on GitHub"


def test_neither_is_a_lookup_error(server: GitHubServer) -> None:
    """A pull request that neither holds is NotFound, which is a LookupError."""
    with pytest.raises(LookupError, match="astropy/astropy:7 is neither"):
        fetch(7)
    assert issubclass(NotFound, LookupError)


def test_what_is_missing_is_named(server: GitHubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a token the error names GH_TOKENS; a repository without an owner names the form."""
    monkeypatch.setenv("GH_TOKENS", "")
    with pytest.raises(ConfigError, match="GH_TOKENS"):
        fetch()
    with pytest.raises(ValidationError, match="owner/repo"):
        asyncio.run(PR.fetch("norepo", 1))
