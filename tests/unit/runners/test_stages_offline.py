"""The stages over parquet files: without a clone as far as that goes, and with one what the clone says."""

from pathlib import Path

import pytest

from datasmith.errors import ForgeUnavailable
from datasmith.github.clones import GivenClones
from datasmith.github.git import Git
from datasmith.github.models import Repository
from datasmith.github.offline import OfflineForge
from datasmith.runners.classify_prs import ClassifyPRsRunner
from datasmith.runners.resolve_packages import NO_COMMITS, ResolvePackagesRunner
from datasmith.runners.rows import load_pull_request
from datasmith.runners.scrape_commits import ScrapeCommitsRunner
from datasmith.runners.scrape_repos import NOT_SEEN, ScrapeReposRunner
from datasmith.storage.sql import SqlStore
from tests.clones import LINES, Clone
from tests.unit.github.pull_tables import row, summary, write
from tests.unit.runners.staged import KEY, NOW, OPTIONS, RESOLUTION, WINDOW, OneAnswer, done, states

PATCH = "diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-value = 1\n+value = 2\n"


class Later:
    """A clone that is not at hand, and comes when somebody asks for it; or does not."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.asked = 0

    def at_hand(self, repository: Repository) -> Path | None:
        return None

    async def get(self, repository: Repository) -> Path:
        self.asked += 1
        if self.path is None:
            raise ForgeUnavailable("the network is down")
        return self.path


@pytest.fixture
def store() -> SqlStore:
    found = SqlStore()
    found.migrate()
    return found


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path / "calc")


def early(store: SqlStore, tmp_path: Path, clones: Later, *merges: str) -> OfflineForge:
    """Stages 1 to 3 over a file that tells of these merges, as pull requests 2, 3, …"""
    rows = [
        row(
            number,
            repo_name="acme/calc",
            pr_merge_commit_sha=merge,
            original_patch=PATCH,
            file_change_summary=summary("calc.py | 1 | 0 | 1"),
            pr_base={"sha": "e" * 40},
        )
        for number, merge in enumerate(merges, 2)
    ]
    forge = OfflineForge([write(tmp_path / "pulls.parquet", rows)], GivenClones({}, clones))
    store.enter(KEY, 1, [("acme/calc", "repository")], NOW)
    done(ScrapeReposRunner(store, KEY, OPTIONS, forge=forge))
    done(ScrapeCommitsRunner(store, WINDOW, OPTIONS, forge=forge))
    done(ClassifyPRsRunner(store, KEY, OPTIONS))
    return forge


def resolved(store: SqlStore, forge: OfflineForge) -> None:
    done(ResolvePackagesRunner(store, KEY, OPTIONS, forge=forge, resolver=OneAnswer(RESOLUTION)))


def test_stages_1_to_3_need_no_clone(store: SqlStore, tmp_path: Path) -> None:
    """The repository passes unseen, its pull requests are entered and classified, and nobody is asked for a clone."""
    clones = Later(None)
    early(store, tmp_path, clones, "a" * 40, "b" * 40)
    assert states(store, 1) == {"acme/calc": f"passed {NOT_SEEN}"}
    assert states(store, 4) == {"2": "pending", "3": "pending"}
    assert clones.asked == 0


def test_stage_4_says_in_one_line_that_there_is_no_clone(store: SqlStore, tmp_path: Path) -> None:
    """Each pull request fails with what to do; the clone is asked for once."""
    clones = Later(None)
    resolved(store, early(store, tmp_path, clones, "a" * 40, "b" * 40))
    reason = "failed NotFound: no clone of acme/calc (example: --repo ./calc): the network is down"
    assert states(store, 4) == {"2": reason, "3": reason}
    assert clones.asked == 1


def test_stage_4_puts_right_what_was_told(store: SqlStore, tmp_path: Path, clone: Clone) -> None:
    """Base, files and patch become those of the clone: a squash's parent, and what lies before a rebase."""
    base = clone.git("rev-parse", "HEAD")
    squash = clone.commit("Speed up (#2)", {"calc.py": LINES + "x = 1\n"}, "2026-02-02T00:00:00+0000")
    clone.commit("step", {"pyproject.toml": '[project]\nname = "calc"\n'}, "2026-02-03T00:00:00+0000")
    rebased = clone.commit("step", {"calc.py": LINES + "x = 1\ny = 2\n"}, "2026-02-03T00:00:00+0000")
    forge = early(store, tmp_path, Later(clone.path), squash, rebased)
    assert load_pull_request(store, "acme/calc:2").base_sha == "e" * 40
    resolved(store, forge)
    assert states(store, 4) == {"2": "passed", "3": "passed"}
    git = Git(clone.path)
    for number, merge, start in ((2, squash, base), (3, rebased, git.commit(rebased).parents[0])):
        pr = load_pull_request(store, f"acme/calc:{number}")
        assert (pr.base_sha, pr.patch) == (start, git.diff(start, merge))
        assert [file.path for file in pr.files] == ["calc.py"]
    assert store.select("pull_requests", {"issue_number": 2})[0]["is_performance_commit"] is True


def test_a_merge_that_the_clone_lacks_is_refused(store: SqlStore, tmp_path: Path, clone: Clone) -> None:
    """With that as the reason."""
    resolved(store, early(store, tmp_path, Later(clone.path), "a" * 40))
    assert states(store, 4) == {"2": f"refused {NO_COMMITS}"}
