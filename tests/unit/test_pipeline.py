"""Requests, dry runs, and what a second run does to the ledger of the first."""

import pickle
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from socket import gethostname

import anyio
import pytest

from datasmith.errors import ConfigError, EngineUnavailable, ForgeError, NotFound, NothingToDo
from datasmith.github.forges import Sources
from datasmith.github.models import PR, Repository
from datasmith.pipeline import Pipeline, Shift, plan
from datasmith.publish.funnel import Funnel
from datasmith.runners.agenda import SAMPLED_OUT
from datasmith.runners.base import Outcome
from datasmith.runners.loop import RunOptions
from datasmith.runners.request import Request
from datasmith.runners.scrape_commits import ScrapeCommitsRunner
from datasmith.runners.scrape_repos import ScrapeReposRunner
from datasmith.settings import Settings
from datasmith.storage.base import STAGES, StageItem
from datasmith.storage.sql import SqlStore
from tests.clones import Clone

FLAGS: dict[str, object] = {
    "sources": Sources("git"),
    "start_date": "2026-02-01",
    "end_date": "2026-03-01",
    "stages": (),
    "resume": False,
    "force": False,
    "n_concurrent": None,
    "tasks_per_repo": None,
    "seed": 0,
    "precise": False,
}
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def request(clones: tuple[Path, ...] = (), **changes: object) -> Request:
    return Request.checked(**{**FLAGS, "sources": Sources("git", clones), **changes})  # type: ignore[arg-type]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """Three pull requests of speed and two others."""
    found = Clone(tmp_path / "calc")
    for number, title in (
        (2, "Speed up all"),
        (3, "Fix typo"),
        (4, "Add a way"),
        (5, "perf: less"),
        (6, "Optimize it"),
    ):
        found.merge(number, title)
    return found


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache", engine="bubblewrap")


def run(settings: Settings, asked: Request) -> Funnel:
    """Run the stages and return the funnel; it must add up."""
    with Pipeline.open(settings, asked) as pipeline:
        anyio.run(pipeline.run, lambda *_: None)
        found = pipeline.funnel()
    assert found.breaches == ()
    return found


def test_settings_bound_the_coding_agent(clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its turns are as many as FC_AGENT_ATTEMPTS says."""
    monkeypatch.setenv("FC_AGENT_ATTEMPTS", "2")
    settings = Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache", engine="bubblewrap")
    with Pipeline.open(settings, request((clone.path,), agent="none")) as pipeline:
        runner = pipeline._synthesis_runner(RunOptions("me"), lambda *_: None)
        assert runner._synthesis._synthesizer.max_attempts == 2


def rows(settings: Settings, stage: int) -> dict[str, str]:
    with SqlStore.at(settings.data_dir / "fc.sqlite", writable=False) as store:
        found = store.stage_items("2026-02-01..2026-03-01", stage)
    return {row.item.rpartition(":")[2]: f"{row.state} {row.reason}".strip() for row in found}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"start_date": "2026-13-45"}, "--start-date '2026-13-45' is not a date"),
        (
            {"end_date": "2026-02-01"},
            "--end-date 2026-02-01 must be after .*--end-date 2026-03-04",
        ),
        ({"stages": (1, 9)}, "--stage 9"),
        ({"stages": (0,)}, "--stage 0"),
        ({"n_concurrent": 0}, "--n-concurrent 0"),
        ({"tasks_per_repo": 0}, "--tasks-per-repo 0"),
        ({"seed": -1}, "--seed -1"),
        ({"executor": "slurm"}, "--executor slurm"),
        ({"max_rounds": 5}, "--max-rounds 5: must be at least 6"),
        ({"max_rounds": 6, "most_workloads": 3}, "--max-rounds 6: .* 3 workloads .*--max-rounds 7"),
    ],
)
def test_a_wrong_flag_is_named_with_an_example(changes: dict[str, object], says: str) -> None:
    """One line, exit code 2."""
    with pytest.raises(ConfigError, match=says) as raised:
        Request.checked(**{**FLAGS, **changes})  # type: ignore[arg-type]
    assert "example: --" in str(raised.value) and "\n" not in str(raised.value)


def test_stages_run_once_and_in_order() -> None:
    """However they are given; none given means all."""
    assert request(stages=(4, 2, 4, 1)).stages == (1, 2, 4)
    assert request().stages == tuple(STAGES)


def test_rounds_that_fit_the_most_workloads_are_taken() -> None:
    """One round less is refused before anything is built; how many a task has otherwise, its image says."""
    assert request(max_rounds=7, most_workloads=3).plan.max_rounds == 7
    assert request(max_rounds=6, most_workloads=1).plan.max_rounds == request(max_rounds=6).plan.max_rounds == 6


def test_precise_changes_the_plan_and_keeps_the_seed() -> None:
    """The seed of the sample is that of the measurement."""
    asked = request(precise=True, seed=7)
    assert (asked.plan.seed, asked.plan.max_rounds, asked.terms(None).seed) == (7, 96, 7)


def test_a_dry_run_touches_nothing(settings: Settings, clone: Clone, tmp_path: Path) -> None:
    """Without a ledger, an engine or a network it says what it would look at, and makes no file."""
    before = sorted(tmp_path.rglob("*"))
    first, *others = plan(settings, request(clones=(clone.path,)))
    assert first.text == "would look at acme/calc"
    assert [(step.stage, step.waiting, step.text) for step in others] == [
        (n, 0, f"would work on what stage {n - 1} passes") for n in range(2, 7)
    ]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_dry_run_says_what_a_run_would_do(settings: Settings, clone: Clone) -> None:
    """Counted as the run counts: stages of repositories by repository; the ledger's bytes stay the same."""
    asked = request(clones=(clone.path,), stages=(1, 2, 3))
    run(settings, asked)
    ledger = (settings.data_dir / "fc.sqlite").read_bytes()
    files = sorted(settings.data_dir.rglob("*"))
    assert [step.waiting for step in plan(settings, asked)] == [1, 1, 4]
    assert [step.waiting for step in plan(settings, replace(asked, resume=True))] == [0, 0, 0]
    assert [step.text for step in plan(settings, replace(asked, stages=(4,)))] == ["would work on 3 of 3 items known"]
    assert (settings.data_dir / "fc.sqlite").read_bytes() == ledger
    assert sorted(settings.data_dir.rglob("*")) == files


def test_a_dry_run_tells_states_repositories_and_tools(settings: Settings, clone: Clone) -> None:
    """As the ledger and the settings have them, asked or not yet; of other repositories nothing."""
    asked = request(clones=(clone.path,), agent="none")
    told = [step.details for step in plan(settings, asked)]
    engine = f"engine {settings.engine}"
    assert told == [
        (),
        ("5 pull requests merged in the window",),
        ("rules and no model",),
        (engine,),
        (engine, "agent none", "no model"),
        (),
    ]
    run(settings, replace(asked, stages=(1, 2, 3)))
    with_model = settings.model_copy(update={"dspy_model": "openai/gpt-oss-120b"})
    third, fourth = plan(with_model, replace(asked, stages=(3, 4)))
    assert third.details == ("now 3 passed, 1 refused", "of acme/calc", "rules and model openai/gpt-oss-120b")
    assert fourth.details == ("now 3 pending", "of acme/calc", engine)


def test_a_first_run_is_the_same_with_resume(settings: Settings, clone: Clone, tmp_path: Path) -> None:
    """And so are a second one with it, and a second one without it."""
    asked = request(clones=(clone.path,), stages=(1, 2, 3))
    first = run(settings, asked)
    other = settings.model_copy(update={"data_dir": tmp_path / "other"})
    assert run(other, replace(asked, resume=True)) == first
    assert run(settings, replace(asked, resume=True)) == first
    assert run(settings, asked) == first
    assert [(count.entered, count.passed, count.refused) for count in first.stages[:2]] == [(5, 4, 1), (4, 3, 1)]


def test_scraping_again_fails_nothing(settings: Settings, clone: Clone) -> None:
    """A second plain run of stage 2 works by repository: the rows of pull requests are its answers, not its work."""
    asked = request(clones=(clone.path,), stages=(1, 2), n_concurrent=4)
    run(settings, asked)
    clone.merge(7, "Vectorize it")
    found = run(settings, asked)
    assert [(count.stage, count.entered, count.failed) for count in found.stages] == [(2, 6, 0), (3, 5, 0)]


def test_another_clone_keeps_the_answers_about_the_first(settings: Settings, clone: Clone, tmp_path: Path) -> None:
    """One window, two runs over different repositories: both are in the funnel."""
    other = Clone(tmp_path / "other", origin="acme/other")
    other.merge(2, "Speed up all")
    run(settings, request(clones=(clone.path,), stages=(1, 2, 3)))
    found = run(settings, request(clones=(other.path,), stages=(1, 2, 3)))
    assert [(count.entered, count.failed) for count in found.stages] == [(6, 0), (5, 0), (4, 0)]


@pytest.mark.parametrize("executor", ["local", "inline"])
def test_what_another_repository_has_is_left_alone(settings: Settings, clone: Clone, executor: str) -> None:
    """What waits there, at any stage, waits on, and what is published stays."""
    item, key = "acme/other:7", "2026-02-01..2026-03-01"
    folder = settings.data_dir / "dataset/tasks/acme_other_7"
    folder.mkdir(parents=True)
    with SqlStore.at(settings.data_dir / "fc.sqlite") as store:
        store.migrate()
        for stage in range(2, 7):
            store.record(key, stage, [(item, "pull_request", "passed" if stage != 4 else "pending", "")], NOW)
        store.record(key, 2, [("acme/other", "repository", "pending", "")], NOW)
    run(settings, request(clones=(clone.path,), stages=(1, 2, 3)))
    with SqlStore.at(settings.data_dir / "fc.sqlite") as store:
        ours = [row for row in store.stage_items(key, 4) if row.item != item]
        store.record(key, 4, [(row.item, row.kind, "refused", "no") for row in ours], NOW)
    run(settings, request(clones=(clone.path,), stages=(4, 5, 6), resume=True, executor=executor))
    assert [rows(settings, stage).get("7") for stage in range(2, 7)] == [
        "passed", "passed", "pending", "passed", "passed",
    ]  # fmt: skip
    assert rows(settings, 2)["acme/other"] == "pending"
    assert folder.is_dir()


def test_the_sample_is_drawn_anew_under_other_flags(settings: Settings, clone: Clone) -> None:
    """What was left out comes back with a larger limit; the funnel always adds up."""
    asked = request(clones=(clone.path,), stages=(1, 2, 3))
    run(settings, asked)
    with SqlStore.at(settings.data_dir / "fc.sqlite") as store:
        for row in store.stage_items(asked.window.key, 4):
            store.record(asked.window.key, 4, [(row.item, row.kind, "passed", "")], NOW)
            store.enter(asked.window.key, 5, [(row.item, row.kind)], NOW)
    waiting = []
    for most, resume in ((1, False), (2, True), (None, True), (1, True)):
        with Pipeline.open(settings, replace(asked, tasks_per_repo=most, resume=resume)) as pipeline:
            pipeline._prepare(5, ["acme/calc"])
            assert pipeline.funnel().breaches == ()
        states = rows(settings, 5)
        out = [
            state for state in states.values() if state.startswith(f"refused {SAMPLED_OUT} (--tasks-per-repo {most}")
        ]
        waiting.append({name for name, state in states.items() if state == "pending"})
        assert len(waiting[-1]) + len(out) == 3
    assert [len(names) for names in waiting] == [1, 2, 3, 1]
    assert waiting[0] < waiting[1] < waiting[2] and waiting[0] == waiting[3]


def test_a_lease_of_a_dead_process_is_taken_up_at_once(settings: Settings, clone: Clone) -> None:
    """After kill -9 the next run does not wait for the lease to run out."""
    asked = request(clones=(clone.path,), stages=(1, 2, 3))
    run(settings, replace(asked, stages=(1, 2)))
    with SqlStore.at(settings.data_dir / "fc.sqlite") as store:
        held = store.claim(asked.window.key, 3, f"{gethostname()}-{2**22 + 1}", 2, 3600.0, datetime.now(UTC))
    assert len(held) == 2
    assert run(settings, replace(asked, resume=True)).stages[1].waiting == 0


def test_a_worker_that_joins_takes_nothing_from_one_at_work(settings: Settings, clone: Clone) -> None:
    """Both read what had failed; what the first has taken up since is not made to wait again."""
    asked = request((clone.path,), stages=(1, 2, 3), join=True)
    run(settings, asked)
    key = asked.window.key
    with Pipeline.open(settings, asked) as first, Pipeline.open(settings, asked) as second:
        (item, *_) = first._store.stage_items(key, 4)
        first._store.record(key, 4, [(item.item, item.kind, "failed", "busy")], NOW)
        held: list[StageItem] = []

        def read(window: str, stage: int | None = None) -> list[StageItem]:
            """As the second reads, just before the first begins."""
            found = first._store.stage_items(window, stage)
            if not held:
                first._prepare(4, ["acme/calc"])
                held.extend(first._store.claim(key, 4, "first-1", 1, 60, datetime.now(UTC)))
            return found

        second._store.stage_items = read  # type: ignore[method-assign]
        second._prepare(4, ["acme/calc"])
        assert held[0].item == item.item
        assert first._store.finish(held[0], "passed", "", NOW)


def test_a_window_without_pull_requests_is_told(settings: Settings, clone: Clone) -> None:
    """With the window, and again on the next run."""
    asked = request(clones=(clone.path,), start_date="2020-01-01", end_date="2020-02-01")
    for resume in (False, True):
        with pytest.raises(NothingToDo, match=r"2020-01-01\.\.2020-02-01"):
            run(settings, replace(asked, resume=resume))


def test_a_clone_without_a_suite_is_told(settings: Settings, tmp_path: Path) -> None:
    """By name, with the reason."""
    bare = Clone(tmp_path / "bare", {"a.py": "x"}, origin="acme/bare")
    with pytest.raises(NothingToDo, match="acme/bare: no asv configuration"):
        run(settings, request(clones=(bare.path,)))


def test_a_repository_that_cannot_be_looked_at_is_a_failure(
    settings: Settings, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a month without work: a timer has to notice."""

    async def broken(_runner: object, _item: object) -> None:
        raise NotFound("it is gone")

    monkeypatch.setattr(ScrapeReposRunner, "process", broken)
    with pytest.raises(ForgeError, match=r"no repository can be used: .*it is gone") as caught:
        run(settings, request(clones=(clone.path,), stages=(1,)))
    assert caught.value.exit_code != NothingToDo.exit_code


def test_an_empty_month_beside_a_repository_that_failed_is_a_failure(
    settings: Settings, clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows what was merged there: it says why, and ends otherwise than a month without work."""
    other = Clone(tmp_path / "other", origin="acme/other")
    find = ScrapeCommitsRunner.process

    async def broken(runner: ScrapeCommitsRunner, item: Repository) -> Outcome[list[PR]]:
        if item.repo == "other":
            raise ForgeError("GitHub refuses (HTTP 403)")
        return await find(runner, item)

    monkeypatch.setattr(ScrapeCommitsRunner, "process", broken)
    asked = request((clone.path, other.path), start_date="2020-01-01", end_date="2020-02-01", stages=(1, 2))
    with pytest.raises(ForgeError, match=r"2020-02-01: acme/other: ForgeError: GitHub refuses \(HTTP 403\)$"):
        run(settings, asked)


def test_nothing_is_created_for_a_wrong_clone(settings: Settings, tmp_path: Path, clone: Clone) -> None:
    """The forge is looked at before the ledger is made."""
    for clones in ((tmp_path,), (tmp_path / "missing",), (clone.path, clone.path / "."), ()):
        with pytest.raises(ConfigError, match="--repo"):
            Pipeline.open(settings, request(clones=clones))
    assert not settings.data_dir.exists()


@pytest.mark.parametrize("executor", ["local", "inline"])
def test_an_engine_that_cannot_be_used_stops_before_stage_4(
    settings: Settings, clone: Clone, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, executor: str
) -> None:
    """Earlier stages keep their answers, and everything waits; so it is where shifts do the stage."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to("/usr/bin/git")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with pytest.raises(EngineUnavailable, match="bubblewrap"):
        run(settings, request(clones=(clone.path,), executor=executor))
    assert set(rows(settings, 4).values()) == {"pending"}


@pytest.mark.parametrize(
    ("ran", "asked", "says"),
    [
        ((), (4,), r"--stage 4: .*stage 1 \(scrape_repos\) .*example: --stage 1 --stage 2 --stage 3 --stage 4\)"),
        ((), (2,), r"--stage 2: .*example: --stage 1 --stage 2\)"),
        ((1, 2), (4,), r"--stage 4: .*stage 3 \(classify_prs\) has not run .*example: --stage 3 --stage 4\)"),
        ((1, 2, 3), (6,), r"--stage 6: .*stage 4 .*example: --stage 4 --stage 5 --stage 6\)"),
        ((), (1, 3), r"--stage 3: .*stage 2 "),
    ],
)
def test_a_stage_whose_predecessor_has_not_run_is_refused(
    settings: Settings, clone: Clone, ran: tuple[int, ...], asked: tuple[int, ...], says: str
) -> None:
    """Nothing has come to it: it says which stages go first."""
    if ran:
        run(settings, request((clone.path,), stages=ran))
    for resume in (False, True):
        with pytest.raises(NothingToDo, match=says):
            run(settings, request((clone.path,), stages=asked, resume=resume))


def test_a_stage_that_has_done_everything_is_no_error(settings: Settings, clone: Clone) -> None:
    """Nor is one that nothing was let through to."""
    run(settings, request((clone.path,), stages=(1, 2, 3)))
    assert run(settings, request((clone.path,), stages=(3,), resume=True)).stages
    with SqlStore.at(settings.data_dir / "fc.sqlite") as store:
        waiting = store.stage_items("2026-02-01..2026-03-01", 4)
        store.record(waiting[0].window, 4, [(row.item, row.kind, "refused", "no") for row in waiting], NOW)
    assert run(settings, request((clone.path,), stages=(5, 6), resume=True)).stages


def test_a_shift_has_whole_paths_and_no_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is read in another directory, on another machine, with that machine's own environment."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://fc:hunter22@db.example.org/fc")
    sources = Sources("offline", (Path("clone"),), files=(Path("a.parquet"),)).absolute()
    shift = Shift(replace(request(), sources=sources), 4, tmp_path, "auto", "here")
    assert pickle.loads(pickle.dumps(shift)) == shift
    assert all(path.is_absolute() for path in sources.clones + sources.files)
    assert b"hunter22" not in pickle.dumps(shift)
