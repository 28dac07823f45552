"""A task of the workloads that a screening ranks first, made for real in the embedded engine."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from datasmith.runners.agenda import SCREENED
from datasmith.runners.suites import SuiteWish
from datasmith.settings import Settings
from datasmith.workloads import launch
from tests.clones import Clone
from tests.integration.test_pipeline import TREE
from tests.integration.test_suite_from import QUIET, library, made, measured, window
from tests.sandboxes import embedded_engine

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("screening") / "cache"
    embedded_engine(place)
    return place


@pytest.fixture(autouse=True)
def any_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host guard throws away launches on a core that others use too, and tests run beside each other."""
    monkeypatch.setattr(launch, "disturbance", lambda *_: None)


def test_what_a_screening_ranks_first_is_measured_anew(cache: Path, tmp_path: Path) -> None:
    """The workload without an effect is left out and counted; the other two are launched in rounds of their own."""
    clone = library(tmp_path / "calc")
    settings = Settings(data_dir=tmp_path / "data", cache_dir=cache, engine="bubblewrap")
    found = measured(settings, replace(window(clone), suite=SuiteWish("newest"), most_workloads=2))
    assert (found.stages[-1].stage, found.stages[-1].passed) == (6, 1), found
    task = made(settings)
    assert set(task.workloads) == {"bench_sums.Sums.time_total", "bench_total.time_total_of_very_many_numbers_at_once"}
    assert task.screened_out == 1 and task.certificate and task.certificate.screened_out == 1
    assert {row.workload for row in task.certificate.expert.workloads} == set(task.workloads)
    kept = settings.data_dir / "measurements"
    screening, final = (
        [json.loads(line) for line in (kept / f"acme_calc_5{what}.jsonl").read_text().splitlines()]
        for what in (".screening", "")
    )
    seen = {row["workload"]: row["base"] / row["other"] for row in screening}
    assert seen.keys() == {*task.workloads, "bench.time_nothing"}
    assert seen.pop("bench.time_nothing") < 2 < min(seen.values())
    assert {row["workload"] for row in final} == set(task.workloads)


def test_a_refusal_says_that_it_rests_on_a_screening(cache: Path, tmp_path: Path) -> None:
    """With all workloads the pull request might have been a task, so a run without a screening decides it again."""
    clone = Clone(tmp_path / "calc", {**TREE, "benchmarks/bench.py": QUIET + QUIET.replace("nothing", "no_more")})
    clone.merge(5, "perf: use the closed form for all sums", {"old.py": "HELP = 2\n"})
    settings = Settings(data_dir=tmp_path / "data", cache_dir=cache, engine="bubblewrap")
    found = measured(settings, replace(window(clone), most_workloads=1))
    ((state, reason, number),) = found.stages[3].reasons
    assert (state, number) == ("refused", 1), found
    assert reason.startswith(f"{SCREENED} (1 of 2 workloads): no workload changed"), reason
