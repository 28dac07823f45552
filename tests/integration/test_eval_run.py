"""Whole runs in the embedded engine: agents work, patches are graded and timed, reports come out."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.errors import TrialError
from datasmith.evaluation.records import TrialRecord
from datasmith.evaluation.run_folder import RunFolder, TrialKey, read_measurements
from datasmith.workloads import launch
from tests.integration.eval_task import HALF, WRONG, calc_image, calc_task
from tests.sandboxes import embedded_engine

pytestmark = pytest.mark.engine

SCRIPTS = {
    "half.sh": f"cat >calc.py <<'EOF'\n{HALF}EOF\n",
    "wrong.sh": f"cat >calc.py <<'EOF'\n{WRONG}EOF\n",
    "forged.sh": "echo 'raise SystemExit(0)' >tests/run_tests.py",
    "syntax.sh": "echo 'def total(' >calc.py",
    "large.sh": "printf 'def total(n):\\n    return n * (n - 1) // 2 if n < 100 else 0\\n' >calc.py",
    "idle.sh": "true",
    "slow.sh": "echo '# x' >>calc.py; sleep 30",
}


@dataclass(frozen=True)
class Place:
    """A dataset with one task, its agents and a cache, ready to run."""

    root: Path

    def eval(self, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
        """(exit code, standard output, standard error)."""
        code = run_app(app, words)
        out, err = capsys.readouterr()
        return code, out, err

    def run(self, capsys: pytest.CaptureFixture[str], *words: str, agents: str = "agents.json") -> tuple[int, str, str]:
        """`fc-eval run` with few rounds."""
        given = ("--dataset", str(self.root / "tasks"), "--config", str(self.root / agents), "--max-rounds", "6")
        return self.eval(capsys, "run", *given, "--runs-dir", str(self.root / "runs"), "--timeout", "5", *words)

    def trial(self, run_id: str, agent: str) -> TrialRecord:
        """A trial's record."""
        record = RunFolder(self.root / "runs" / run_id).read_trial(TrialKey("acme_calc_1", agent, 1))
        assert record is not None
        return record


def command(name: str) -> dict[str, object]:
    return {"agent": "command", "model": name.removesuffix(".sh"), "agent_kwargs": {"path": name}}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Place:
    root = tmp_path_factory.mktemp("eval")
    engine = embedded_engine(root / "cache")
    image = calc_image(engine, root)
    calc_task(image, root / "tasks", root / "repo.tar.gz")
    for name, text in SCRIPTS.items():
        (root / name).write_text(f"#!/bin/sh\ncd /workspace/repo\n{text}\n")
    controls = [{"agent": "nop", "model": "none"}, {"agent": "oracle", "model": "none"}]
    (root / "agents.json").write_text(json.dumps([*controls, *(command(name) for name in SCRIPTS)]))
    (root / "nop.json").write_text(json.dumps(controls[:1]))
    return Place(root)


@pytest.fixture
def place(built: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("FC_CACHE_DIR", str(built.root / "cache"))
    monkeypatch.setenv("FC_ENGINE", "bubblewrap")
    # The host guard throws away launches on a core that others use too: tests run beside each other, on any machine.
    monkeypatch.setattr(launch, "disturbance", lambda *_: None)
    return built


def test_a_run_from_end_to_end(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Each agent has its outcome; nop's interval holds 1, oracle is as fast as the expert; then resume and regrade."""
    code, out, err = place.run(capsys, "--run-id", "whole", "--json")
    assert code == 0, err
    found = json.loads(out)
    outcomes = {row["agent"]: row["outcome"] for row in found["trials"]}
    assert outcomes == {
        "nop": "measured",
        "oracle": "measured",
        "command-half": "measured",
        "command-wrong": "failed_tests",
        "command-forged": "refused_patch",
        "command-syntax": "failed_tests",
        "command-large": "failed_outputs",
        "command-idle": "no_patch",
        "command-slow": "agent_timeout",
    }
    rows = {row["agent"]: row for row in found["trials"]}
    assert rows["oracle"]["speedup"] > 10
    assert abs(rows["oracle"]["advantage"]) < 0.5 * rows["oracle"]["speedup"]
    assert 1.2 < rows["command-half"]["speedup"] < rows["oracle"]["speedup"]
    _only_the_right_outputs_are_timed(place)
    nop = place.trial("whole", "nop").ratios
    assert nop is not None
    assert nop.low is not None
    assert nop.high is not None
    assert nop.low <= 1.05
    assert nop.high >= 0.95
    assert rows["command-wrong"]["speedup"] == 1.0
    assert (place.root / "runs" / "whole" / "report.html").read_text().startswith("<!doctype html>")
    _nothing_is_done_twice(place, capsys)
    _regrading_changes_nothing(place, capsys)
    _a_changed_run_is_refused(place, capsys)


def _only_the_right_outputs_are_timed(place: Place) -> None:
    """What no test sees is seen in the benchmark's own outputs: named, stored, and never timed."""
    wrong = place.trial("whole", "command-large")
    assert (wrong.reason or "").endswith("bench.time_total: 0 at line 8 instead of 1999000")
    folder = RunFolder(place.root / "runs" / "whole")
    for agent, state in (
        ("command-large", "differs"),
        ("nop", "equal"),
        ("oracle", "equal"),
        ("command-half", "equal"),
    ):
        facts = folder.read_outputs(TrialKey("acme_calc_1", agent, 1))
        assert facts is not None
        assert dict(facts.counts) == {state: 1}
    launches = read_measurements(folder.trial(TrialKey("acme_calc_1", "command-large", 1)) / "measurements.jsonl")
    assert {launch.round for launch in launches} == {-1}


def _nothing_is_done_twice(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A complete run is complete: the same command only reports, byte for byte the same."""
    folder = place.root / "runs" / "whole"
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file() and path.suffix != ".html"}
    code, _, err = place.run(capsys, "--run-id", "whole", "--json")
    assert code == 0, err
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file() and path.suffix != ".html"}
    assert before == after


def _regrading_changes_nothing(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """What was written is exactly what the raw files say; a damaged record is put right from them."""
    code, _, err = place.eval(capsys, "regrade", str(place.root / "runs" / "whole"), "--json")
    assert code == 0, err
    assert "0 trials changed" in err
    path = place.root / "runs" / "whole" / "trials" / "acme_calc_1" / "oracle" / "1" / "trial.json"
    good = path.read_text()
    record = json.loads(good)
    path.write_text(json.dumps({**record, "outcome": "failed_tests", "score": None}))
    code, _, err = place.eval(capsys, "regrade", str(place.root / "runs" / "whole"), "--json")
    assert code == 0, err
    assert "acme_calc_1 oracle#1: failed_tests -> measured" in err
    assert json.loads(path.read_text()) == record


def _a_changed_run_is_refused(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Case 79: the field is named, and nothing is touched."""
    code, _, err = place.run(capsys, "--run-id", "whole", "--n-attempts", "2")
    assert code == 2
    assert "n_attempts: 1 -> 2" in err


def test_a_stopped_run_goes_on(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A patch that was handed in is not asked for again; a trial without trial.json is completed."""
    code, _, err = place.run(capsys, "--run-id", "stopped", agents="nop.json")
    assert code == 0, err
    folder = RunFolder(place.root / "runs" / "stopped")
    key = TrialKey("acme_calc_1", "nop", 1)
    first = place.trial("stopped", "nop").session
    (folder.trial(key) / "trial.json").unlink()
    handed_in = (folder.trial(key) / "trajectory.json").stat().st_mtime_ns
    code, _, err = place.run(capsys, "--run-id", "stopped", agents="nop.json")
    assert code == 0, err
    assert place.trial("stopped", "nop").outcome == "measured"
    assert place.trial("stopped", "nop").session != first
    assert (folder.trial(key) / "trajectory.json").stat().st_mtime_ns == handed_in


def test_a_damaged_run_goes_on_as_its_message_says(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Resuming names the file; with what it says to delete gone, all is measured again, and no agent is asked again."""
    code, _, err = place.run(capsys, "--run-id", "damaged", agents="nop.json")
    assert code == 0, err
    folder, key = RunFolder(place.root / "runs" / "damaged"), TrialKey("acme_calc_1", "nop", 1)
    handed_in = (folder.trial(key) / "trajectory.json").stat().st_mtime_ns
    session = folder.session(key.task_id, 1)
    for name, text in (("session.json", ""), ("measurements.jsonl", "garbage\n")):
        whole = (session / name).read_bytes()
        (session / name).write_text(text)
        code, _, err = place.eval(capsys, "runs", "resume", str(folder.root))
        assert code == TrialError.exit_code and f"{session / name}: " in err.splitlines()[-1]
        assert "delete its folder and each trial.json of the task, and fc-eval runs resume" in err
        (session / name).write_bytes(whole)
    shutil.rmtree(session)
    (folder.trial(key) / "trial.json").unlink()
    code, _, err = place.eval(capsys, "runs", "resume", str(folder.root))
    assert code == 0, err
    assert folder.read_session(key.task_id, 1) is not None and folder.is_complete(key)
    assert (folder.trial(key) / "trajectory.json").stat().st_mtime_ns == handed_in


@pytest.mark.parametrize("n_concurrent", ["1", "2"])
def test_ctrl_c_loses_nothing(place: Place, capsys: pytest.CaptureFixture[str], n_concurrent: str) -> None:
    """A stopped command leaves no process, no sandbox and no half trial; the same command completes the run."""
    words = ["run", "--dataset", str(place.root / "tasks"), "--config", str(place.root / "nop.json")]
    words += ["--max-rounds", "6", "--runs-dir", str(place.root / "runs"), "--timeout", "5"]
    words += ["--run-id", f"ctrl-c-{n_concurrent}", "--n-concurrent", n_concurrent]
    said = place.root / f"ctrl-c-{n_concurrent}.err"
    with said.open("wb") as stream:
        # Two at once need two cores, whatever this process was given.
        spread = ["taskset", "-c", f"0-{(os.cpu_count() or 1) - 1}"] if n_concurrent == "2" else []
        child = subprocess.Popen([*spread, sys.executable, "-m", "datasmith.cli.eval", *words], stderr=stream)
    give_up = time.monotonic() + 60
    while b"measure, round 1" not in said.read_bytes() and time.monotonic() < give_up:
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=60) == 130, said.read_text()
    assert list((place.root / "cache" / "containers").glob("*")) == []
    folder = RunFolder(place.root / "runs" / f"ctrl-c-{n_concurrent}")
    assert folder.trials() == ()
    assert folder.read_facts(TrialKey("acme_calc_1", "nop", 1)) is not None
    code = run_app(app, words)
    assert code == 0, capsys.readouterr().err
    assert [trial.outcome for trial in folder.trials()] == ["measured"]


def test_a_pattern_that_matches_nothing_is_named(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Case 75."""
    code, _, err = place.run(capsys, "--task-id", "nobody_*")
    assert code == 2
    assert "nobody_*" in err
    assert err.count("\n") == 1


def test_too_many_tasks_at_once_are_refused(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Each needs a core of its own."""
    code, _, err = place.run(capsys, "--n-concurrent", "4096")
    assert code == 2
    assert "--n-concurrent 4096" in err
