"""Values as rows of the store, and back."""

from datetime import UTC, datetime

import pytest

from datasmith.agents.classification import Classification
from datasmith.errors import NotFound
from datasmith.github.models import PR, FileChange, Repository
from datasmith.resolution.base import Dropped, Resolution
from datasmith.runners import rows
from datasmith.storage.base import Row
from datasmith.storage.sql import SqlStore

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def store() -> SqlStore:
    found = SqlStore()
    found.migrate()
    return found


def pull_request(**changes: object) -> PR:
    given: dict[str, object] = {
        "repository": "Acme/calc.py",
        "issue_number": 12,
        "title": "Quotes ' \" and \u202e",
        "body": "a\r\nb",
        "author": "mira",
        "labels": ("perf",),
        "created_at": NOW,
        "edited_at": NOW,
        "merged_at": NOW,
        "base_sha": "a" * 40,
        "merge_commit_sha": "b" * 40,
        "files": (FileChange(path="a.py", additions=1, deletions=None), FileChange(path="b", status="removed")),
        "patch": "diff --git a/a.py b/a.py\n",
    }
    return PR.model_validate({**given, **changes})


def put(store: SqlStore, *pairs: tuple[str, Row]) -> None:
    for table, row in pairs:
        store.upsert(table, [row])


@pytest.mark.parametrize("changes", [{}, {"patch": None, "created_at": None, "files": (), "body": "", "labels": ()}])
def test_a_pull_request_comes_back_equal(store: SqlStore, changes: dict[str, object]) -> None:
    """Every field, also where little is known."""
    pr = pull_request(**changes)
    put(store, rows.pull_request_row(pr, NOW))
    assert rows.load_pull_request(store, pr.cache_key) == pr


def test_what_no_database_takes_is_replaced(store: SqlStore) -> None:
    """A patch of other bytes than UTF-8 and a NUL do not stop the stage: stage 5 reads the patch from git."""
    put(store, rows.pull_request_row(pull_request(patch="\udce9", title="a\x00b"), NOW))
    assert rows.load_pull_request(store, "Acme/calc.py:12").title == "a\ufffdb"


def test_a_classification_comes_back_equal(store: SqlStore) -> None:
    """Beside what the forge told, which stays; scraping again does not take it away."""
    pr = pull_request()
    verdict = Classification(
        is_performance=True, category="cache_and_reuse", difficulty="hard", reason="x", confidence=87
    )
    put(store, rows.pull_request_row(pr, NOW), rows.classification_row(pr, verdict), rows.pull_request_row(pr, NOW))
    assert rows.load_classification(store, pr.cache_key) == verdict
    assert rows.load_pull_request(store, pr.cache_key) == pr


@pytest.mark.parametrize("stars", [None, 0, 80])
def test_stars_are_those_that_were_counted(store: SqlStore, stars: int | None) -> None:
    """Nobody counted is not none."""
    pr = pull_request()
    assert rows.load_stars(store, pr) is None
    repository = Repository(owner=pr.owner, repo=pr.repo, stars=stars)
    put(store, rows.repository_row(repository, "asv.conf.json", "a" * 40, NOW))
    assert rows.load_stars(store, pr) == stars


def test_a_resolution_comes_back_equal(store: SqlStore) -> None:
    """By the base commit it is for."""
    resolution = Resolution(
        python_version="3.11", pins=("numpy==2.0",), lock="numpy==2.0", cutoff=NOW, strategy="newest-python",
        dropped=(Dropped(requirement="x", reason="y"),), project_root=".", project_name="calc",
        import_names=("calc",), build_requires=(), compiled=False, apt_packages=(), log="l",
        sources=("old==1",),
    )  # fmt: skip
    put(store, rows.resolution_row(pull_request(), resolution, NOW))
    (row,) = store.select("packages")
    assert (row["strategy"], row["cutoff"], row["pins"], row["log"]) == ("newest-python", NOW, ["numpy==2.0"], "l")
    assert rows.load_resolution(store, pull_request()) == resolution
    with pytest.raises(NotFound, match=r"Acme/calc\.py:12"):
        rows.load_resolution(store, pull_request(base_sha="c" * 40))


def test_a_repository_is_a_row(store: SqlStore) -> None:
    """With the place of its asv configuration."""
    put(store, rows.repository_row(Repository(owner="Acme", repo="calc.py"), "asv.conf.json", "a" * 40, NOW))
    (found,) = store.select("repositories")
    assert (found["owner"], found["asv_config"], found["stars"]) == ("Acme", "asv.conf.json", None)


def test_a_key_is_taken_apart() -> None:
    """owner/repo:n, whatever characters a repository's name has."""
    assert rows.split_key("pandas-dev/pan.das_x:50643") == ("pandas-dev", "pan.das_x", 50643)


def test_what_is_not_stored_is_named(store: SqlStore) -> None:
    """Not an index error."""
    with pytest.raises(NotFound, match="o/r:1"):
        rows.load_pull_request(store, "o/r:1")
