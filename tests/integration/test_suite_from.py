"""A pull request that is older than the benchmark which shows it: measured with the suite of another day."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from datasmith.agents.coding.diff import baseline, extract_patch
from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.docker.engines import open_engine
from datasmith.evaluation.run_folder import RunFolder, TrialKey
from datasmith.evaluation.suite import show_suite
from datasmith.github.forges import Sources
from datasmith.pipeline import Pipeline
from datasmith.publish.funnel import Funnel
from datasmith.runners.agenda import ENDS
from datasmith.runners.request import Request
from datasmith.runners.suites import SuiteWish
from datasmith.settings import Settings
from datasmith.storage.sql import SqlStore
from datasmith.tasks.folder import read_task, write_task
from datasmith.tasks.folder_check import check_task
from datasmith.tasks.suite import SuiteRecord, patch_digest
from datasmith.tasks.task import Task
from datasmith.workloads import launch
from datasmith.workloads.plan import MeasurePlan
from tests.clones import Clone
from tests.integration.eval_task import BENCH, HALF, calc_image, calc_task
from tests.integration.test_pipeline import FAST, TREE, request, run
from tests.sandboxes import embedded_engine

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

PLAN = MeasurePlan(min_rounds=6, max_rounds=8, retries=3)
QUIET = "def time_nothing():\n    pass\n\n\ntime_nothing.sample_time = 0.002\n"
OF_THE_FIX = (
    "from calc import total\n\n\ndef time_total_of_very_many_numbers_at_once():\n    total(2000)\n\n\n"
    "time_total_of_very_many_numbers_at_once.sample_time = 0.002\n"
)
LATER = (
    "from calc import total\n\n\nclass Sums:\n    def time_total(self):\n        total(3000)\n\n"
    "    sample_time = 0.002\n"
)
TOO_NEW = "from calc import product\n\n\ndef time_product():\n    product(10)\n"
CONFIG = '{"version": 1, "project": "calc", "repo": "https://github.com/acme/calc.git", "benchmark_dir": "benchmarks"}'


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("suite") / "cache"
    embedded_engine(place)
    return place


def library(place: Path, *, suite: bool = True) -> Clone:
    """A library whose suite, if any, says nothing of what pull request 5 makes faster; two later ones bring that."""
    tree = {name: text for name, text in TREE.items() if suite or not name.startswith(("asv", "benchmarks"))}
    clone = Clone(place, tree | ({"benchmarks/bench.py": QUIET} if suite else {}))
    brings = {"benchmarks/bench_total.py": OF_THE_FIX} if suite else {}
    clone.merge(5, "perf: use the closed form for all sums", {"calc.py": FAST, **brings})
    if suite:
        clone.merge(8, "Benchmark of sums", {"benchmarks/bench_sums.py": LATER})
        new = {"calc.py": FAST + "\n\ndef product(n):\n    return n\n", "benchmarks/bench_product.py": TOO_NEW}
        clone.merge(9, "Add product", new)
    return clone


def measured(settings: Settings, asked: Request) -> Funnel:
    """The funnel; what a busy machine made fail is tried again, as a user would."""
    found = run(settings, asked)
    for _ in range(3):
        if not any(count.failed for count in found.stages):
            break
        found = run(settings, replace(asked, resume=True))
    return found


def window(clone: Clone) -> Request:
    base = request(clone.path, "2026-02-05", "2026-02-06")
    return Request(base.window, Sources("git", (clone.path,)), plan=PLAN)


def made(settings: Settings) -> Task:
    folder = settings.data_dir / "dataset/tasks/acme_calc_5"
    assert check_task(folder) == ()
    return read_task(folder)


def test_the_newest_suite_shows_an_older_pull_request(cache: Path, tmp_path: Path) -> None:
    """Base's own suite sees no effect, the newest one does.

    What does not import at base is left out by name. The image is sealed without any of it; the task folder holds
    what is measured; the certificate, the provenance and the store say which suite it was. An agent finds the suite
    in its tree's one commit, without the benchmark that the fix itself brought.
    """
    clone = library(tmp_path / "calc")
    settings = Settings(data_dir=tmp_path / "data", cache_dir=cache, engine="bubblewrap")
    own = measured(settings, window(clone))
    assert "no workload" in " ".join(reason for _, reason, _ in own.stages[3].reasons), own

    found = measured(settings, replace(window(clone), suite=SuiteWish("newest")))
    assert (found.stages[-1].stage, found.stages[-1].passed) == (6, 1), found
    task = made(settings)
    record = task.suite
    assert record is not None and record.commit == clone.git("rev-parse", "main")
    assert [item.module for item in record.left_out] == ["benchmarks.bench_product"]
    assert "product" in record.left_out[0].reason and record.hidden == ("benchmarks/bench_total.py",)
    assert set(task.workloads) == {
        "bench.time_nothing",
        "bench_sums.Sums.time_total",
        "bench_total.time_total_of_very_many_numbers_at_once",
    }
    assert task.certificate and task.certificate.suite == record and task.certificate.status == "valid"
    assert {row.workload for row in task.certificate.expert.changed} == {*task.workloads} - {"bench.time_nothing"}
    assert record.commit in (settings.data_dir / "dataset/tasks/acme_calc_5/provenance.json").read_text()
    assert "product" not in task.suite_patch and "benchmarks" not in task.expert_patch
    assert "- `benchmarks/bench_total.py`" in task.instruction
    with SqlStore.at(settings.data_dir / "fc.sqlite", writable=False) as store:
        assert record.digest in str(store.select("certificates")[0]["certificate"])
        assert record.commit in str(store.select("packages")[0]["resolution"])

    engine = open_engine(settings)
    image = engine.inspect(task.image_digest)
    assert image is not None
    with engine.start(image) as sandbox:
        names = sandbox.exec(["ls", "benchmarks"], timeout=60).text.split()
        assert set(names) - {"__pycache__"} == {"__init__.py", "bench.py"}, "the image holds base's own suite"
        show_suite(sandbox, task)
        names = sandbox.exec(["ls", "benchmarks"], timeout=60).text.split()
        assert set(names) - {"__pycache__"} == {"__init__.py", "bench.py", "bench_sums.py"}
        assert sandbox.exec(["git", "rev-list", "--count", "--all"], timeout=60).text.strip() == "1"
        start = baseline(sandbox)
        sandbox.write_file("/workspace/repo/calc.py", FAST.encode())
        sandbox.exec(["git", "stash", "-q"], timeout=60)
        assert extract_patch(sandbox, start) == "", "what takes an agent's work back leaves the suite"


def test_a_suite_of_its_own_repository_is_taken_as_of_the_merge(cache: Path, tmp_path: Path) -> None:
    """Of several configurations that for the project counts, at the newest commit that is not younger than the merge.

    The library itself has no suite; resume and a second pull of the suite's repository change nothing.
    """
    clone = library(tmp_path / "calc", suite=False)
    files = {
        "other/asv.conf.json": CONFIG.replace("calc", "other"),
        "calc/asv.conf.json": CONFIG,
        "calc/benchmarks/__init__.py": "",
        "calc/benchmarks/sums.py": LATER,
    }
    suites = Clone(tmp_path / "suites", {"README": "empty"}, origin="acme/calc-benchmarks")
    then = suites.commit("benchmarks", files, "2026-02-01T00:00:00+0000")
    suites.commit("too late", {"calc/benchmarks/sums.py": "raise ImportError\n"}, "2026-02-06T00:00:00+0000")
    settings = Settings(data_dir=tmp_path / "data", cache_dir=cache, engine="bubblewrap")
    wish = SuiteWish.checked("", str(suites.path))
    found = measured(settings, replace(window(clone), suite=wish))
    assert (found.stages[-1].stage, found.stages[-1].passed) == (6, 1), found
    task = made(settings)
    assert task.suite and (task.suite.repository, task.suite.commit) == ("acme/calc-benchmarks", then)
    assert (task.suite.benchmark_dir, task.benchmark_dir) == (".asv_suite/benchmarks", ".asv_suite/benchmarks")
    assert (task.suite.left_out, task.suite.hidden) == ((), ())
    assert task.workloads == ("sums.Sums.time_total",)


def test_trials_are_graded_with_the_tasks_own_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is timed is the suite of the task folder, hidden files and all; an agent sees no hidden file."""
    engine = embedded_engine(tmp_path / "cache")
    image = calc_image(engine, tmp_path)
    bench = BENCH.replace("time_total", "time_later").splitlines(keepends=True)
    added = f"new file mode 100644\n--- /dev/null\n+++ b/benchmarks/{{}}.py\n@@ -0,0 +1,{len(bench)} @@\n" + "".join(
        f"+{line}" for line in bench
    )
    patch = "".join(
        f"diff --git a/benchmarks/{name}.py b/benchmarks/{name}.py\n" + added.format(name) for name in ("hid", "seen")
    )
    record = SuiteRecord(
        repository="acme/calc",
        commit="c" * 40,
        committed_at=datetime(2026, 3, 1, tzinfo=UTC),
        config="asv.conf.json",
        benchmark_dir="benchmarks",
        hidden=("benchmarks/hid.py",),
        digest=patch_digest(patch),
    )
    plain = calc_task(image, tmp_path / "plain", tmp_path / "repo.tar.gz")
    workloads = ("hid.time_later", "seen.time_later")
    task = plain.model_copy(update={"suite": record, "suite_patch": patch, "workloads": workloads})
    folder = write_task(task, tmp_path / "tasks", source=tmp_path / "repo.tar.gz", provenance={})
    assert read_task(folder) == task
    look = "test -f benchmarks/seen.py && test ! -e benchmarks/hid.py"
    (tmp_path / "look.sh").write_text(f"#!/bin/sh\ncd /workspace/repo\n{look} && cat >calc.py <<'EOF'\n{HALF}EOF\n")
    agents = [
        {"agent": "oracle", "model": "none"},
        {"agent": "command", "model": "look", "agent_kwargs": {"path": "look.sh"}},
    ]
    (tmp_path / "agents.json").write_text(json.dumps(agents))
    monkeypatch.setenv("FC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("FC_ENGINE", "bubblewrap")
    # The host guard throws away launches on a core that others use too: tests run beside each other, on any machine.
    monkeypatch.setattr(launch, "disturbance", lambda *_: None)
    words = ["run", "--dataset", tmp_path / "tasks", "--config", tmp_path / "agents.json", "--max-rounds", "6"]
    words += ["--runs-dir", tmp_path / "runs", "--run-id", "one", "--json"]
    assert run_app(app, list(map(str, words))) == 0
    found = json.loads(capsys.readouterr().out)
    # On a busy machine the audit of the clocks may be undecided; what was timed is known all the same.
    assert {row["outcome"] for row in found["trials"]} <= {"measured", "invalid_measurement"}, found
    for agent in ("oracle", "command-look"):
        trial = RunFolder(tmp_path / "runs/one").read_trial(TrialKey("acme_calc_1", agent, 1))
        assert trial and trial.ratios
        assert {row.workload for row in trial.ratios.workloads} == set(workloads)


def test_stage_5_can_end_before_it_measures(cache: Path, tmp_path: Path) -> None:
    """Built, sealed and verified with each step told, and then refused with what would have been measured.

    The time for tests is up after the module that is next to the patch: the other one's test is not the task's.
    """
    clone = library(tmp_path / "calc")
    settings = Settings(data_dir=tmp_path / "data", cache_dir=cache, engine="bubblewrap")
    steps: list[str] = []

    def show(_stage: str, done: int, _total: int, text: str) -> None:
        steps.extend([text.removeprefix("acme/calc:5 ")] if done < 0 else [])

    asked = replace(window(clone), suite=SuiteWish("newest"), until="verified", test_budget_s=0.0)
    with Pipeline.open(settings, asked) as pipeline:
        anyio.run(pipeline.run, show)
        found = pipeline.funnel()
    known = ["build", "verify", "benchmarks", "tests", "tests with the expert's patch"]
    assert [step for step in steps if step in known] == known
    ((state, reason, number),) = found.stages[3].reasons
    assert (state, reason, number) == ("refused", f"{ENDS['verified']}: 3 workloads, 1 test", 1)
