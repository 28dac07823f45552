"""The pipeline on real histories: samplelib through stages 1 to 4, a project of one module through all six."""

import shutil
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from examples.samplelib.make_history import make_history, read_steps

from datasmith.github.forges import Sources
from datasmith.pipeline import Pipeline
from datasmith.publish.funnel import Funnel
from datasmith.runners.request import Request
from datasmith.settings import Settings
from datasmith.storage.sql import SqlStore
from datasmith.tasks.dataset import load_dataset
from datasmith.tasks.folder import read_task
from datasmith.tasks.folder_check import check_task
from datasmith.workloads.plan import MeasurePlan
from tests.clones import Clone
from tests.sandboxes import embedded_engine

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

SLOW = "def total(n):\n    result = 0\n    for i in range(n):\n        result += i\n    return result\n"
FAST = "def total(n):\n    return n * (n - 1) // 2\n"
WRONG = "def total(n):\n    return n * n // 2  # faster, and not the same\n"
BENCH = "from calc import total\n\n\ndef time_total():\n    total(2000)\n\n\ntime_total.sample_time = 0.002\n"
TEST = "from calc import total\n\n\ndef test_total():\n    assert total(10) == 45\n"
PROJECT = (
    '[build-system]\nrequires = ["setuptools>=64"]\nbuild-backend = "setuptools.build_meta"\n'
    '[project]\nname = "calc"\nversion = "1"\nlicense = "MIT"\n[tool.setuptools]\npy-modules = ["calc"]\n'
)
TREE = {
    "pyproject.toml": PROJECT,
    "calc.py": SLOW,
    "asv.conf.json": '{"version": 1, "repo": ".", "benchmark_dir": "benchmarks"}',
    "benchmarks/__init__.py": "",
    "benchmarks/bench.py": BENCH,
    "tests/test_calc.py": TEST,
    "old.py": "HELP = 1\n",
    "tests/test_old.py": "from old import HELP\n\n\ndef test_help():\n    assert HELP\n",
}


def run(settings: Settings, asked: Request) -> Funnel:
    """The funnel after the stages; its counts add up."""
    with Pipeline.open(settings, asked) as pipeline:
        anyio.run(pipeline.run, lambda *_: None)
        found = pipeline.funnel()
    assert found.breaches == ()
    return found


def request(clone: Path, start: str, end: str, **changes: object) -> Request:
    flags: dict[str, object] = {
        "stages": (), "resume": False, "force": False, "n_concurrent": None, "tasks_per_repo": None, "seed": 0,
        "precise": False,
    }  # fmt: skip
    given = {**flags, "start_date": start, "end_date": end, "sources": Sources("git", (clone,)), **changes}
    return Request.checked(**given)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    place = tmp_path_factory.mktemp("pipeline")
    embedded_engine(place / "cache")
    return Settings(data_dir=place / "data", cache_dir=place / "cache", engine="bubblewrap")


def test_samplelib_up_to_its_environments(settings: Settings, tmp_path: Path) -> None:
    """Every scripted pull request that claims or brings speed gets an environment; each other one has a reason."""
    make_history(tmp_path / "samplelib")
    asked = request(tmp_path / "samplelib", "2026-02-01", "2026-07-01", stages=(1, 2, 3, 4))
    found = run(settings, asked)
    assert [(count.stage, count.waiting, count.failed) for count in found.stages] == [
        (2, 0, 0),
        (3, 0, 0),
        (4, 0, 0),
        (5, 6, 0),
    ]
    with SqlStore.at(settings.data_dir / "fc.sqlite", writable=False) as store:
        passed = {int(row.item.rpartition(":")[2]) for row in store.stage_items(asked.window.key, 5)}
        packages = store.select("packages")
    kinds = {"speed", "compiled-speed", "no-effect", "breaks-tests"}
    assert passed == {step.number for step in read_steps() if step.kind in kinds}
    assert all("pytest==" in str(row["pins"]) and row["python_version"] for row in packages)


def test_one_pull_request_becomes_a_task_and_the_others_have_reasons(settings: Settings, tmp_path: Path) -> None:
    """Few rounds are enough for one workload; a second run keeps the answers; the task is in order and sealed.

    The fast one deletes a module with its test: the test that cannot be imported any more takes no other away.

    A pull request that could not be measured for noise has failed, not been refused: it is resumed, as a user would.
    """
    clone = Clone(tmp_path / "calc", TREE)
    clone.merge(2, "Speed up total with a wrong formula", {"calc.py": WRONG})
    clone.merge(3, "Revert the wrong formula", {"calc.py": SLOW})
    clone.merge(4, "perf: less work in total", {"calc.py": SLOW + "# nothing is faster here, this is a comment\n"})
    clone.git("rm", "-q", "old.py", "tests/test_old.py")
    clone.merge(5, "perf: use the closed form for all sums", {"calc.py": FAST})
    plan = MeasurePlan(min_rounds=6, max_rounds=8, retries=3)
    base = request(clone.path, "2026-02-01", "2026-03-01")
    asked = Request(base.window, Sources("git", (clone.path,)), plan=plan)
    found = run(settings, asked)
    for _ in range(3):
        if found.stages[3].failed:
            found = run(settings, replace(asked, resume=True))
    reasons = " ".join(reason for _, reason, _ in found.stages[3].reasons)
    assert (found.stages[-1].stage, found.stages[-1].passed) == (6, 1), found
    assert "breaks 1 test: tests.test_calc::test_total" in reasons
    # A comment changes nothing. One test in twenty calls it changed all the same: by too little, or for the worse.
    assert any(words in reasons for words in ("no workload changed", "no workload improved", "too small")), reasons
    (task,) = load_dataset(str(settings.data_dir / "dataset/tasks")).select(())
    assert task.passing_tests == ("tests.test_calc::test_total",)
    folder = settings.data_dir / "dataset/tasks/acme_calc_5"
    assert check_task(folder) == () and task == read_task(folder)
    assert (task.licence, task.workloads, task.compiled) == ("MIT", ("bench.time_total",), False)
    assert task.certificate and task.certificate.changed_low and task.certificate.changed_low > 1.05
    assert run(settings, Request(base.window, Sources("git", (clone.path,)), resume=True, plan=plan)) == found
    shutil.rmtree(settings.cache_dir)
