"""What every forge owes its callers, checked on each implementation with the same history."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from datasmith.errors import NotFound
from datasmith.github.base import Forge, Window
from datasmith.github.client import GitHubClient
from datasmith.github.clones import CloneCache, GivenClones
from datasmith.github.git import Git
from datasmith.github.git_forge import GitForge
from datasmith.github.github_forge import GitHubForge
from datasmith.github.models import PR, Repository
from datasmith.github.offline import OfflineForge
from datasmith.github.tokens import TokenPool
from tests.loopback.github_graphql_search import SearchingGraphQL, loopback_repository
from tests.loopback.github_server import github_server
from tests.loopback.github_world import ChangedFile, LoopbackPull
from tests.unit.github import pull_tables
from tests.unit.github.scripted import START, ScriptedRepository

Answer = TypeVar("Answer")
HOUR = timedelta(hours=1)
EVER = Window(datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
REPOSITORY = Repository(owner="o", repo="r")


@contextmanager
def git_forge(path: Path) -> Iterator[Forge]:
    """The history as a clone."""
    yield GitForge(path, "o/r")


@contextmanager
def offline_forge(path: Path) -> Iterator[Forge]:
    """The history as a table of what a forge would tell, with the clone at hand."""
    rows = [pull_tables.told(pr) for pr in merged(GitForge(path, "o/r"))]
    table = pull_tables.write(path.parent / "pulls.parquet", rows)
    yield OfflineForge([table], GivenClones({"o/r": path}, CloneCache(path.parent / "clones")))


@contextmanager
def github_forge(path: Path) -> Iterator[Forge]:
    """The history as a GitHub on the loopback interface, which a clone is made of."""
    pulls = [as_github_tells(pr) for pr in merged(GitForge(path, "o/r"))]
    with github_server(loopback_repository("o/r", *pulls)) as server:
        SearchingGraphQL(server)
        clones = CloneCache(path.parent / "clones", url=f"file://{path.parent}/{{owner}}-{{repo}}.git")
        (path.parent / "o-r.git").symlink_to(path)
        yield GitHubForge(GitHubClient(TokenPool(["token"]), base_url=server.url), clones, [REPOSITORY])


def as_github_tells(pr: PR) -> LoopbackPull:
    """A pull request as GitHub has it: its base is where the branch was once."""
    return LoopbackPull(
        number=pr.issue_number,
        title=pr.title,
        body=pr.body,
        created_at=START,
        closed_at=pr.merged_at,
        merged_at=pr.merged_at,
        base_sha="e" * 40,
        merge_commit_sha=pr.merge_commit_sha,
        files=tuple(
            ChangedFile(file.path, additions=file.additions or 0, deletions=file.deletions or 0) for file in pr.files
        ),
    )


FORGES: dict[str, Callable[[Path], AbstractContextManager[Forge]]] = {
    "git": git_forge,
    "github": github_forge,
    "offline": offline_forge,
}


@pytest.fixture
def history(tmp_path: Path) -> ScriptedRepository:
    """Five commits, merged at 01:00, 02:00, 04:00 (the merge), 05:00 and 06:00 on 2026-01-01."""
    scripted = ScriptedRepository(tmp_path / "history.git")
    scripted.commit("Start", {"src/a.py": b"1\n", "tests/test_a.py": b"1\n"})
    scripted.commit("perf: cache it (#12)\n\nBody of 12\n\nFixes #3\n", {"src/a.py": b"2\n"})
    scripted.merge(
        "Merge pull request #10 from ann/faster\n\nSpeed up\n\nBody of 10\n", {"src/b.py": b"b\n", "src/a.py": b"3\n"}
    )
    scripted.commit('Revert "perf: cache it (#12)" (#13)', {"src/b.py": None})
    scripted.commit("perf: cache it again (#12)", {"src/a.py": b"4\n"})
    return scripted


@pytest.fixture(params=sorted(FORGES))
def forge(request: pytest.FixtureRequest, history: ScriptedRepository) -> Iterator[Forge]:
    with FORGES[request.param](history.path) as opened:
        yield opened


def merged(forge: Forge, window: Window = EVER, repository: Repository = REPOSITORY) -> list[PR]:
    """All pull requests of a window."""

    async def collect() -> list[PR]:
        try:
            return [pr async for pr in forge.merged_pull_requests(repository, window)]
        finally:
            await forge.aclose()

    return asyncio.run(collect())


def asked(forge: Forge, question: Callable[[Forge], Awaitable[Answer]]) -> Answer:
    """The answer to one question, in an event loop of its own."""

    async def ask() -> Answer:
        try:
            return await question(forge)
        finally:
            await forge.aclose()

    return asyncio.run(ask())


def test_it_offers_its_repository(forge: Forge) -> None:
    """The repository whose pull requests it gives is among those it offers."""
    assert [repository.full_name for repository in asked(forge, lambda f: f.repositories())] == ["o/r"]
    assert forge.name


def test_pull_requests_are_whole(forge: Forge, history: ScriptedRepository) -> None:
    """Number, title, body, times, commits and files are those of the history, ordered by merge time."""
    prs = merged(forge)
    assert [(pr.issue_number, pr.title) for pr in prs] == [
        (12, "perf: cache it"),
        (10, "Speed up"),
        (13, 'Revert "perf: cache it (#12)"'),
    ]
    assert [pr.body for pr in prs] == ["Body of 12\n\nFixes #3", "Body of 10", ""]
    assert [pr.merged_at for pr in prs] == [START + 2 * HOUR, START + 4 * HOUR, START + 5 * HOUR]
    assert [pr.repository for pr in prs] == ["o/r"] * 3
    changed = [{(file.path, file.status, file.additions, file.deletions) for file in pr.files} for pr in prs]
    assert changed == [
        {("src/a.py", "modified", 1, 1)},
        {("src/a.py", "modified", 1, 1), ("src/b.py", "added", 1, 0)},
        {("src/b.py", "removed", 0, 1)},
    ]


def test_a_number_that_appears_twice_is_one_pull_request(forge: Forge) -> None:
    """The first merge stands; the later commit with the same number is no pull request."""
    assert [pr.title for pr in merged(forge) if pr.issue_number == 12] == ["perf: cache it"]
    assert merged(forge, Window(START + 6 * HOUR, START + 7 * HOUR)) == []


def test_windows_are_half_open(forge: Forge) -> None:
    """A merge at the window's start is in, one at its end is not."""
    first, second = START + 2 * HOUR, START + 4 * HOUR
    assert [pr.issue_number for pr in merged(forge, Window(first, second))] == [12]
    assert [pr.issue_number for pr in merged(forge, Window(first, second + timedelta(seconds=1)))] == [12, 10]
    assert merged(forge, Window(first + timedelta(seconds=1), second)) == []


def test_base_and_patch_make_the_merge(forge: Forge, tmp_path: Path) -> None:
    """The clone holds base and merge, and the patch is the difference between their trees."""
    clone = Git(asked(forge, lambda f: f.clone(REPOSITORY)))
    for pr in merged(forge):
        assert clone.commit(pr.merge_commit_sha).parents[0] == pr.base_sha
        assert pr.patch == clone.diff(pr.base_sha, pr.merge_commit_sha)
        assert pr.patch is not None
        assert pr.patch.startswith("diff --git ")


def test_another_repository_is_not_found(forge: Forge) -> None:
    """Asking for a repository that the forge does not hold is NotFound, not an empty answer."""
    other = Repository(owner="x", repo="y")
    with pytest.raises(NotFound):
        merged(forge, repository=other)
    with pytest.raises(NotFound):
        asked(forge, lambda f: f.clone(other))


def test_the_clone_at_hand_is_the_clone(forge: Forge) -> None:
    """Where there is one, later stages get the same."""
    assert asked(forge, lambda f: f.clone_at_hand(REPOSITORY)) == asked(forge, lambda f: f.clone(REPOSITORY))
