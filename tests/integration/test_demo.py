"""The demo does what the tutorial says: four tasks, every other pull request refused with a reason, a page."""

import json
from pathlib import Path

import pytest
from examples.samplelib.make_history import read_steps

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.errors import ConfigError
from tests.conftest import Demo

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1800)]

TASKS = {f"formulacode_samplelib_{step.number}" for step in read_steps() if step.kind in {"speed", "compiled-speed"}}


def task_folders(demo: Demo) -> dict[str, Path]:
    """Task id -> folder."""
    return {path.parent.name: path.parent for path in (demo.place / "data/dataset/tasks").glob("*/task.toml")}


def test_the_four_faster_pull_requests_become_tasks(demo: Demo) -> None:
    """Three plain ones and the compiled one, and nothing else."""
    assert set(task_folders(demo)) == TASKS


def test_each_task_has_a_valid_certificate(demo: Demo) -> None:
    """Its expert is faster beyond the gate, on this machine, in an image that was found sealed."""
    for folder in task_folders(demo).values():
        certificate = json.loads((folder / "certificate.json").read_text())
        assert (certificate["status"], certificate["sealed"]) == ("valid", True)
        assert certificate["changed_speedup"] >= 1.05 and certificate["changed_low"] > 1


def test_a_task_shows_nothing_of_its_solution(demo: Demo) -> None:
    """The instruction and the environment name neither the pull request nor a line that the expert added."""
    for folder in task_folders(demo).values():
        patch = (folder / "solution/expert.patch").read_text()
        added = {line[1:].strip() for line in patch.splitlines() if line.startswith("+") and len(line) > 30}
        shown = (folder / "instruction.md").read_text()
        assert added and not [line for line in added if line in shown]
        assert f"#{folder.name.rpartition('_')[2]}" not in shown


def test_oracle_is_faster_than_nop(demo: Demo) -> None:
    """There is a trial of each agent on each task; where both were measured, the expert's patch shows where it should.

    That is in the workload with the expert's largest effect: in the mean over all of them, noise is as large as some.
    """
    trials = {}
    for path in (demo.place / "runs/demo/trials").glob("*/*/*/trial.json"):
        trials[path.parts[-4], path.parts[-3]] = json.loads(path.read_text())
    assert list((demo.place / "runs/demo").glob("*.html"))
    assert trials.keys() == {(task, agent) for task in TASKS for agent in ("nop", "oracle", "command")}
    measured = {key: ratios(trial["ratios"]) for key, trial in trials.items() if trial["outcome"] == "measured"}
    both = [task for task in TASKS if {(task, "nop"), (task, "oracle")} <= measured.keys()]
    assert len(both) >= 3, {key: trial["reason"] for key, trial in trials.items()}
    for task in both:
        expert = ratios(json.loads((task_folders(demo)[task] / "certificate.json").read_text())["expert"])
        largest = max(expert, key=lambda name: expert[name])
        assert measured[task, "oracle"][largest] > measured[task, "nop"][largest]


def ratios(summary: dict[str, list[dict[str, float | None]]]) -> dict[str, float]:
    """Workload -> ratio, where there is one."""
    return {str(row["workload"]): row["ratio"] for row in summary["workloads"] if row["ratio"]}


def test_the_demo_says_where_the_report_is(demo: Demo) -> None:
    """The last lines name the page and the time it took."""
    *_, report, wall = demo.output.strip().splitlines()
    assert report.startswith("report: ") and Path(report.removeprefix("report: ")).is_file()
    assert wall.startswith("wall time: ")


def test_solutions_of_the_demo_raise_no_alarm(demo: Demo) -> None:
    """On each of samplelib's tasks: neither the experts' patches, nor those of an agent that rewrites lists."""
    alarms = {"refused_patch", "failed_outputs", "tampered_or_unreliable"}
    paths = [path for path in (demo.place / "runs/demo/trials").glob("*/*/*/trial.json") if path.parts[-3] != "nop"]
    outcomes = {path.parts[-4:-2]: json.loads(path.read_text())["outcome"] for path in paths}
    assert {"oracle", "command"} <= {agent for _, agent in outcomes}
    assert not {key: outcome for key, outcome in outcomes.items() if outcome in alarms}


def test_too_few_rounds_are_refused_before_the_image(demo: Demo, capsys: pytest.CaptureFixture[str]) -> None:
    """How many are enough depends on how many workloads there are, which is known at once."""
    folder = next(iter(task_folders(demo).values()))
    code = run_app(app, ["certify", str(folder), "--max-rounds", "6"])
    said = capsys.readouterr().err
    assert code == ConfigError.exit_code and "--max-rounds 6: no effect could be told" in said
    assert ": image" not in said
