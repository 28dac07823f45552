"""Each stage on a real clone and a real store: what it passes, refuses, fails and remembers."""

import json
import tarfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from datasmith.agents.classification import Classification
from datasmith.errors import IndexUnavailable, StoreUnavailable, Unsatisfiable
from datasmith.executors.cores import CoreLocks
from datasmith.github.forges import Clones
from datasmith.github.models import PR
from datasmith.publish import records_from_supabase
from datasmith.publish.funnel import funnel
from datasmith.resolution.base import AsvHints, Resolution, SourceTree
from datasmith.resolution.resolver import Source
from datasmith.runners.classify_prs import ClassifyPRsRunner
from datasmith.runners.loop import StageSummary
from datasmith.runners.order import Order, Refusal
from datasmith.runners.publish import PublishRunner
from datasmith.runners.resolve_packages import ResolvePackagesRunner
from datasmith.runners.scrape_commits import GONE
from datasmith.runners.scrape_repos import DROPPED, NO_SUITE, ScrapeReposRunner
from datasmith.runners.synthesize_images import MADE, MakeTasksRunner
from datasmith.storage.sql import SqlStore
from datasmith.tasks.task import Task
from tests.clones import ASV, START, Clone
from tests.unit.runners.orders import made
from tests.unit.runners.staged import (
    KEY,
    NOW,
    OPTIONS,
    RESOLUTION,
    OneAnswer,
    OneSynthesis,
    done,
    entered,
    forge_name,
    scraped,
    states,
)


@pytest.fixture
def store() -> SqlStore:
    found = SqlStore()
    found.migrate()
    return found


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """Four pull requests: two of speed, a documentation one, a feature."""
    found = Clone(tmp_path / "calc")
    found.merge(2, "Speed up everything")
    found.merge(3, "DOC: fix typo", {"README.md": "x"})
    found.merge(4, "Add a feature")
    found.merge(5, "perf: cache more")
    return found


def test_stage_1_passes_repositories_with_a_suite(store: SqlStore, tmp_path: Path, clone: Clone) -> None:
    """One without an asv configuration is refused; what is known of the other is stored."""
    bare = Clone(tmp_path / "bare", {"a.py": "x"}, origin="acme/bare")
    scraped(store, clone, bare)
    assert states(store, 1) == {"acme/calc": "passed", "acme/bare": f"refused {NO_SUITE}"}
    (row,) = store.select("repositories")
    assert (row["repo"], row["asv_config"], row["head_sha"]) == (
        "calc",
        "asv.conf.json",
        clone.git("rev-parse", "HEAD"),
    )


@pytest.mark.parametrize(("since", "state"), [("2025-12-01", "passed"), ("2026-02-06", "refused"), (None, "refused")])
def test_stage_1_passes_a_suite_that_was_dropped_in_the_window(
    store: SqlStore, clone: Clone, since: str | None, state: str
) -> None:
    """Its last commit is named; one that was gone before the window begins is no suite."""
    clone.git("rm", "-q", "asv.conf.json")
    clone.commit("no benchmarks", {}, "2026-02-03T00:00:00+0000")
    forge = Clones([clone.path])
    store.enter(KEY, 1, [(forge_name(clone), "repository")], NOW)
    start = datetime.fromisoformat(since).replace(tzinfo=UTC) if since else None
    done(ScrapeReposRunner(store, KEY, OPTIONS, forge=forge, since=start))
    said = states(store, 1)["acme/calc"]
    assert said.split()[0] == state
    assert (DROPPED in said) == (state == "passed")


def test_a_repository_that_is_not_given_any_more_fails(store: SqlStore, clone: Clone) -> None:
    """With its name, and without touching the others."""
    store.enter(KEY, 1, [("acme/other", "repository")], NOW)
    scraped(store, clone)
    assert states(store, 1)["acme/calc"] == "passed"
    assert states(store, 1)["acme/other"].startswith("failed NotFound: acme/other is not offered here now")


def test_stage_2_enters_every_pull_request_of_the_window(store: SqlStore, clone: Clone) -> None:
    """Decided by the filters, with base, merge and patch; the next stage waits for those that passed."""
    clone.commit("Later (#9)", {"calc.py": "x"}, "2026-03-01T00:00:00+0000")
    scraped(store, clone)
    found = {key: value for key, value in states(store, 2).items() if key.isdecimal()}
    assert found == {"2": "passed", "3": "refused title: housekeeping", "4": "passed", "5": "passed"}
    assert states(store, 3) == {"2": "pending", "4": "pending", "5": "pending"}
    (row,) = store.select("pull_requests", {"issue_number": 5})
    assert (row["title"], row["base_sha"]) == ("perf: cache more", clone.git("rev-parse", "main~2"))
    assert "+changed_by = 5" in str(row["patch"])


def test_a_pull_request_that_vanished_is_refused(store: SqlStore, clone: Clone) -> None:
    """Scraping a rewound history again takes it out of the later stages, and the counts add up."""
    entered(store, clone, 4)
    clone.git("reset", "-q", "--hard", "HEAD~1")
    store.record(KEY, 2, [("acme/calc", "repository", "pending", "")], NOW)
    scraped(store, clone)
    assert states(store, 2)["5"] == f"refused {GONE}"
    assert states(store, 4) == {"2": "pending"}
    assert funnel(KEY, store.stage_items(KEY)).breaches == ()


def test_stage_3_refuses_with_the_classifiers_reason(store: SqlStore, clone: Clone) -> None:
    """Work on speed goes on; the verdict is stored for the others, too."""
    entered(store, clone, 4)
    assert {key: value.split()[0] for key, value in states(store, 3).items()} == {
        "2": "passed",
        "4": "refused",
        "5": "passed",
    }
    assert len(states(store, 3)["4"].split()) > 1
    (row,) = store.select("pull_requests", {"issue_number": 4})
    assert row["is_performance_commit"] is False and row["classified_by"] == "rules"


@pytest.mark.parametrize("answer", [None, False])
def test_a_changed_verdict_leaves_the_later_stages(store: SqlStore, clone: Clone, answer: bool | None) -> None:
    """A pull request that flips takes its later answers with it, and comes back when it flips again."""
    entered(store, clone, 5)
    assert states(store, 5) == {"2": "pending", "5": "pending"}

    def flipped(pr: PR) -> Classification:
        return Classification(is_performance=answer if pr.issue_number == 2 else True)

    for decide, expected in ((flipped, {"4", "5"}), (lambda _: Classification(is_performance=True), {"2", "4", "5"})):
        again = [(row.item, row.kind, "pending", "") for row in store.stage_items(KEY, 3)]
        store.record(KEY, 3, again, NOW)  # type: ignore[arg-type]
        done(ClassifyPRsRunner(store, KEY, OPTIONS, decide=decide))
        assert set(states(store, 4)) == expected
        assert funnel(KEY, store.stage_items(KEY)).breaches == ()


def test_stage_4_hands_the_suites_wishes_to_the_resolver(store: SqlStore, tmp_path: Path) -> None:
    """Pythons, the matrix and the install command of the configuration at base; the answer is stored."""
    config = '{"pythons": ["3.11"], "matrix": {"req": {"numpy": ["2.0"]}}, "install_command": ["pip install ./py"]}'
    clone = Clone(tmp_path / "calc", {**START, "asv.conf.json": config})
    clone.merge(2, "Speed up everything")
    forge = entered(store, clone, 4)
    resolver = OneAnswer(RESOLUTION)
    done(ResolvePackagesRunner(store, KEY, OPTIONS, forge=forge, resolver=resolver))
    assert [(hints.pythons, hints.install_paths) for hints in resolver.asked] == [(("3.11",), ("pip install ./py",))]
    assert resolver.asked[0].requirements[0].startswith("numpy==2.0")
    assert [row["python_version"] for row in store.select("packages")] == ["3.11"]


class Unpacking(OneAnswer):
    """Looks into the tree that it could show to a build."""

    names: tuple[str, ...] = ()

    def resolve(
        self,
        tree: SourceTree,
        *,
        repository: str,
        commit_date: datetime,
        asv: AsvHints,
        log: Callable[[str], None] | None = None,
        source: Source | None = None,
    ) -> Resolution:
        assert source is not None
        with source() as archive, tarfile.open(archive) as tar:
            self.names = tuple(tar.getnames())
        assert not archive.exists()
        return super().resolve(tree, repository=repository, commit_date=commit_date, asv=asv)


def test_stage_4_can_show_the_tree_to_a_build(store: SqlStore, clone: Clone) -> None:
    """The sealed tree at base as a tar, gone when it was looked at."""
    forge = entered(store, clone, 4)
    resolver = Unpacking(RESOLUTION)
    done(ResolvePackagesRunner(store, KEY, OPTIONS, forge=forge, resolver=resolver))
    assert {"./pyproject.toml", "./asv.conf.json"} & set(resolver.names) or "pyproject.toml" in resolver.names


def test_no_environment_is_a_refusal(store: SqlStore, clone: Clone) -> None:
    """With the resolver's reason."""
    forge = entered(store, clone, 4)
    resolver = OneAnswer(Unsatisfiable("no wheels"))
    summary = done(ResolvePackagesRunner(store, KEY, OPTIONS, forge=forge, resolver=resolver))
    assert (summary.refused, states(store, 4)["2"]) == (2, "refused no environment: no wheels")


def test_an_index_that_is_down_is_no_answer(store: SqlStore, clone: Clone) -> None:
    """The stage stops, everything waits, and nothing is refused."""
    forge = entered(store, clone, 4)
    with pytest.raises(IndexUnavailable):
        done(ResolvePackagesRunner(store, KEY, OPTIONS, forge=forge, resolver=OneAnswer(IndexUnavailable("down"))))
    assert {state.split()[0] for state in states(store, 4).values()} == {"pending"}


@pytest.mark.parametrize("config", [None, "[", '{"benchmark_dir": "../../x"}'])
def test_a_base_without_a_usable_suite_is_refused(store: SqlStore, tmp_path: Path, config: str | None) -> None:
    """The configuration at the base commit counts, not that of today."""
    files = {name: text for name, text in START.items() if name != "asv.conf.json"}
    clone = Clone(tmp_path / "calc", files if config is None else {**files, "asv.conf.json": config})
    clone.merge(2, "Speed up everything")
    clone.commit("Add the suite", {"asv.conf.json": ASV}, "2026-02-20T00:00:00+0000")
    forge = entered(store, clone, 4)
    summary = done(ResolvePackagesRunner(store, KEY, OPTIONS, forge=forge, resolver=OneAnswer(RESOLUTION)))
    assert summary.refused == 1 and "asv configuration" in states(store, 4)["2"]


def synthesised(store: SqlStore, forge: Clones, data_dir: Path, end: Callable[[Order], Task | Refusal]) -> StageSummary:
    """Stage 5 with a scripted end."""
    cores = CoreLocks(data_dir / "cores", [(0,)])
    runner = MakeTasksRunner(
        store, KEY, OPTIONS, forge=forge, synthesis=OneSynthesis(data_dir, end), cores=cores, data_dir=data_dir
    )
    return done(runner)


def tasks_of(place: Path) -> list[str]:
    return sorted(path.parent.name for path in place.glob("*/task.toml"))


def numbers(rows: Sequence[dict[str, object]]) -> list[object]:
    return [row["pr_number"] for row in rows]


def test_stages_5_and_6_write_tasks_table_and_funnel(store: SqlStore, clone: Clone, tmp_path: Path) -> None:
    """A task for what passed, nothing of what was refused, and no source left behind."""
    forge = entered(store, clone, 5)
    synthesised(store, forge, tmp_path, lambda order: made(order) if order.pr.issue_number == 5 else Refusal("slow"))
    assert states(store, 5) == {"2": "refused slow", "5": "passed"}
    assert list((tmp_path / "sources").iterdir()) == []
    done(PublishRunner(store, KEY, OPTIONS, data_dir=tmp_path))
    assert states(store, 6) == {"5": "passed"}
    assert tasks_of(tmp_path / "dataset/tasks") == ["acme_calc_5"]
    told = json.loads((tmp_path / "dataset/tasks/acme_calc_5/provenance.json").read_text())
    assert (told["engine"], told["uv"][0].isdigit(), told["base_image"][:7]) == ("stub", True, "debian@")
    assert numbers(pl.read_parquet(tmp_path / "dataset/tasks.parquet").to_dicts()) == [5]
    assert '"window": "2026-02-01..2026-03-01"' in (tmp_path / f"dataset/funnel-{KEY}.json").read_text()
    (row,) = store.select("pull_requests", {"issue_number": 5})
    assert (row["task_id"], row["certificate_status"]) == ("acme_calc_5", "valid") and row["published_at"]


def test_a_task_that_is_refused_later_leaves_the_dataset(store: SqlStore, clone: Clone, tmp_path: Path) -> None:
    """Stage 6 takes it away, and leaves tasks of other windows alone."""
    forge = entered(store, clone, 5)
    synthesised(store, forge, tmp_path, made)
    done(PublishRunner(store, KEY, OPTIONS, data_dir=tmp_path))
    tasks = tmp_path / "dataset/tasks"
    (tasks / "acme_calc_2").rename(tasks / "acme_calc_99")
    (tasks / "acme_calc_99/task.toml").write_text(
        (tasks / "acme_calc_99/task.toml").read_text().replace("calc_2", "calc_99")
    )
    store.record(KEY, 5, [("acme/calc:5", "pull_request", "pending", "")], NOW)
    synthesised(store, forge, tmp_path, lambda _: Refusal("not faster here"))
    assert tasks_of(tmp_path / MADE) == ["acme_calc_2"]
    done(PublishRunner(store, KEY, OPTIONS, data_dir=tmp_path))
    assert tasks_of(tasks) == ["acme_calc_99"]
    assert funnel(KEY, store.stage_items(KEY)).breaches == ()


def test_a_task_that_cannot_be_made_again_stays_as_it_was(store: SqlStore, clone: Clone, tmp_path: Path) -> None:
    """What broke is no answer: it stays published, is not published again meanwhile, and the funnel adds up."""
    forge = entered(store, clone, 5)
    synthesised(store, forge, tmp_path, made)
    done(PublishRunner(store, KEY, OPTIONS, data_dir=tmp_path))
    store.record(KEY, 5, [("acme/calc:5", "pull_request", "pending", "")], NOW)

    def busy(_order: Order) -> Task:
        raise RuntimeError("the machine is too busy")

    synthesised(store, forge, tmp_path, busy)
    store.reopen(KEY, 6, ["passed"], NOW)
    assert done(PublishRunner(store, KEY, OPTIONS, data_dir=tmp_path)).passed == 1
    assert tasks_of(tmp_path / "dataset/tasks") == tasks_of(tmp_path / MADE) == ["acme_calc_2", "acme_calc_5"]
    found = funnel(KEY, store.stage_items(KEY))
    assert found.breaches == () and [(count.passed, count.failed) for count in found.stages[-2:]] == [(1, 1), (1, 0)]


def test_what_a_task_was_is_not_said_of_what_is_none_any_more(store: SqlStore, clone: Clone, tmp_path: Path) -> None:
    """One that was made again waits to be published again; one that was refused is not called verified."""
    forge = entered(store, clone, 5)
    synthesised(store, forge, tmp_path, made)
    done(PublishRunner(store, KEY, OPTIONS, data_dir=tmp_path))
    store.record(KEY, 5, [(f"acme/calc:{n}", "pull_request", "pending", "") for n in (2, 5)], NOW)
    synthesised(store, forge, tmp_path, lambda order: made(order) if order.pr.issue_number == 5 else Refusal("slow"))
    refused, again = (store.select("pull_requests", {"issue_number": number})[0] for number in (2, 5))
    about_the_task = ("container_name", "image_name", "image_digest", "certificate_status", "dataset", "published_at")
    assert [refused[name] for name in about_the_task] == [None] * 6
    assert (again["certificate_status"], again["dataset"], again["published_at"]) == ("valid", None, None)
    waiting = records_from_supabase(start_date="2026-02-01", end_date="2026-03-01", store=store)
    assert [found.pr_number for found in waiting] == [5]
    assert states(store, 6) == {"5": "pending"}


def test_workers_that_end_together_do_not_disturb_each_other(store: SqlStore, clone: Clone, tmp_path: Path) -> None:
    """Table, funnel and folders of one dataset: each writes them whole, while others publish into it."""
    forge = entered(store, clone, 5)
    synthesised(store, forge, tmp_path, made)
    store.enter(KEY, 3, [("acme/calc:99", "pull_request")], NOW)

    def work(worker: int) -> None:
        options = replace(OPTIONS, worker=f"test-{worker}")
        for _ in range(8):
            if worker == 0:
                (tmp_path / "dataset/tasks/acme_calc_99").mkdir(parents=True, exist_ok=True)
                store.reopen(KEY, 6, ["passed"], NOW)
            done(PublishRunner(store, KEY, options, data_dir=tmp_path))

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(work, range(3))) == [None] * 3
    assert set(states(store, 6).values()) == {"passed"}
    assert tasks_of(tmp_path / "dataset/tasks") == ["acme_calc_2", "acme_calc_5"]
    assert numbers(pl.read_parquet(tmp_path / "dataset/tasks.parquet").to_dicts()) == [2, 5]
    assert sorted(path.name for path in (tmp_path / "dataset").iterdir()) == [
        f"funnel-{KEY}.json", "tasks", "tasks.parquet",
    ]  # fmt: skip


def test_a_task_of_an_overlapping_window_stays(store: SqlStore, clone: Clone, tmp_path: Path) -> None:
    """This window's sample leaves it out; the window that published it does not."""
    forge = entered(store, clone, 5)
    synthesised(store, forge, tmp_path, made)
    done(PublishRunner(store, KEY, OPTIONS, data_dir=tmp_path))
    store.record("2026-01-01..2026-06-01", 6, [("acme/calc:5", "pull_request", "passed", "")], NOW)
    store.record(KEY, 5, [("acme/calc:5", "pull_request", "pending", "")], NOW)
    synthesised(store, forge, tmp_path, lambda _: Refusal("not faster here"))
    done(PublishRunner(store, KEY, OPTIONS, data_dir=tmp_path))
    assert tasks_of(tmp_path / "dataset/tasks") == ["acme_calc_2", "acme_calc_5"]


def test_a_task_folder_that_is_gone_is_a_failure(store: SqlStore, clone: Clone, tmp_path: Path) -> None:
    """Nothing is decided about the pull request; a broken one, or one without certificate, is refused."""
    forge = entered(store, clone, 5)
    synthesised(store, forge, tmp_path, made)
    (tmp_path / MADE / "acme_calc_2").rename(tmp_path / "away")
    (tmp_path / MADE / "acme_calc_5/certificate.json").unlink()
    done(PublishRunner(store, KEY, OPTIONS, data_dir=tmp_path))
    assert states(store, 6)["2"].startswith("failed TaskError:")
    assert states(store, 6)["5"].endswith("its certificate is missing")
    assert tasks_of(tmp_path / "dataset/tasks") == []


def test_a_disk_that_fills_up_in_stage_5_stops_it(store: SqlStore, clone: Clone, tmp_path: Path) -> None:
    """Nothing is refused or failed for it, and nothing is left under way."""
    forge = entered(store, clone, 5)

    def full(_order: Order) -> Task:
        raise OSError(28, "No space left on device", "layer")

    with pytest.raises(StoreUnavailable, match="No space left"):
        synthesised(store, forge, tmp_path, full)
    assert {state.split()[0] for state in states(store, 5).values()} == {"pending"}
    assert list((tmp_path / "sources").iterdir()) == []
