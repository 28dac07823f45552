"""fc-eval runs: every trial of every run is in one state, told from files alone."""

import json
import re
import shutil
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.errors import ConfigError, TrialError
from datasmith.evaluation.outcome import AgentFacts
from datasmith.evaluation.request import RunRequest
from datasmith.evaluation.run_folder import RunFolder, TrialKey
from datasmith.evaluation.whole_files import write_record
from tests.unit.evaluation.sample_run import sample_run


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run_app(app, words)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs: of "b" one trial is not graded, and one not begun."""
    for name in ("a", "b"):
        sample_run(tmp_path / "runs" / name)
    folder = RunFolder(tmp_path / "runs/b")
    (folder.trial(TrialKey("acme_fast_1", "command-good", 1)) / "trial.json").unlink()
    for file in ("trial.json", "trajectory.json"):
        (folder.trial(TrialKey("acme_fast_2", "command-nothing", 1)) / file).unlink()
    return tmp_path / "runs"


def test_runs_are_listed_with_how_far_they_are(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a table, and as JSON; a folder that cannot be read is named and hides no other."""
    code, out, _ = said(capsys, "runs", "list", "--runs-dir", str(runs))
    assert code == 0
    assert "complete" in out and "4 of 6 trials" in out and "$0.00 + 6 unknown" in out
    (runs / "broken").mkdir()
    (runs / "broken/run.json").write_text("[")
    code, out, err = said(capsys, "runs", "list", "--runs-dir", str(runs), "--json")
    assert code == TrialError.exit_code and "broken/run.json" in err
    for name in "ab":
        (runs / name).rename(runs.parent / name)
    code, only, _ = said(capsys, "runs", "list", "--runs-dir", str(runs))
    assert code == TrialError.exit_code and "broken" in only and "cannot be read" in only
    rows = {row["name"]: row for row in json.loads(out)}
    assert rows["broken"].keys() == {"name", "run_id", "error"} and "broken/run.json" in rows["broken"]["error"]
    assert [rows[name]["n_complete"] for name in "ab"] == [6, 4]
    assert rows["b"]["counts"] == {"failed_tests": 1, "measured": 3, "pending": 1, "to be graded": 1}
    assert (rows["b"]["cost_usd"], rows["b"]["cost_unknown"], rows["b"]["in_use"]) == (0.0, 5, False)


def test_a_copied_run_is_listed_by_the_name_that_finds_it(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """run.json still says what the run was called; every name of the list is one that `runs status` takes."""
    shutil.copytree(runs / "b", runs / "b-before")
    _, out, _ = said(capsys, "runs", "list", "--runs-dir", str(runs), "--json")
    rows = json.loads(out)
    assert [(row["name"], row["run_id"]) for row in rows] == [("a", "a"), ("b", "b"), ("b-before", "b")]
    _, out, _ = said(capsys, "runs", "list", "--runs-dir", str(runs))
    assert "b-before" in out
    code, out, _ = said(capsys, "runs", "status", rows[2]["name"], "--runs-dir", str(runs))
    assert code == 0 and "b-before: 4 of 6 trials" in out


def test_a_run_is_told_trial_by_trial(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each trial in one state, the best ratio of each agent, and whether somebody works on it."""
    code, out, _ = said(capsys, "runs", "status", "b", "--runs-dir", str(runs), "--json")
    found = json.loads(out)
    states = {(row["task_id"], row["agent"]): row["state"] for row in found["trials"]}
    assert code == 0 and len(states) == 6
    assert states["acme_fast_1", "command-good"] == "to be graded"
    assert states["acme_fast_2", "command-nothing"] == "pending"
    assert states["acme_fast_2", "command-breaks"] == "failed_tests"
    assert 1.2 < found["best"]["command-good"] < 1.7
    with RunFolder(runs / "b").alone():
        _, out, _ = said(capsys, "runs", "status", "b", "--runs-dir", str(runs))
    assert "b: at work" in out and re.search(r"best of command-good: 1\.\d{3}×\n", out)


def test_what_an_outage_of_the_model_ended_says_so(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its agent is asked again, so nothing of it is to be graded, and it is not complete; what it cost is counted."""
    folder, key = RunFolder(runs / "a"), TrialKey("acme_fast_1", "command-good", 1)
    record = folder.read_trial(key)
    assert record is not None
    write_record(folder.trial(key) / "trial.json", record.model_copy(update={"outcome": "infra_error"}))
    write_record(folder.trial(key) / "trajectory.json", AgentFacts(wall_s=1.0, cost_usd=0.5, outage="503"))
    _, out, _ = said(capsys, "runs", "status", "a", "--runs-dir", str(runs), "--json")
    found = json.loads(out)
    assert (found["counts"]["infra_error"], "to be graded" in found["counts"], found["cost_usd"]) == (1, False, 0.5)
    assert (found["n_complete"], found["n_expected"]) == (5, 6)
    _, out, _ = said(capsys, "runs", "status", "a", "--runs-dir", str(runs))
    assert "infra_error says nothing about an agent: fc-eval runs resume does 1 trial again\n" in out


@pytest.mark.parametrize(
    ("facts", "patch", "state"),
    [
        (AgentFacts(wall_s=1.0, failure="no key"), "", "agent_error"),
        (AgentFacts(wall_s=9.0, timed_out=True), "x", "agent_timeout"),
        (AgentFacts(wall_s=1.0), "", "no_patch"),
        (AgentFacts(wall_s=1.0), "x", "to be graded"),
    ],
)
def test_an_agent_that_has_failed_is_not_shown_as_one_to_be_graded(
    runs: Path, capsys: pytest.CaptureFixture[str], facts: AgentFacts, patch: str, state: str
) -> None:
    """While the others of its task are at work or measured; it is complete once its record is written."""
    folder, key = RunFolder(runs / "b"), TrialKey("acme_fast_1", "command-good", 1)
    write_record(folder.trial(key) / "trajectory.json", facts)
    (folder.trial(key) / "patch.diff").write_text(patch)
    _, out, _ = said(capsys, "runs", "status", "b", "--runs-dir", str(runs), "--json")
    found = json.loads(out)
    states = {(row["task_id"], row["agent"]): row["state"] for row in found["trials"]}
    assert states["acme_fast_1", key.agent] == state
    assert found["n_complete"] == 4


def test_a_limit_that_was_given_can_be_taken_away(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a word of its own: without it the limit stays, and beside another limit it is refused."""
    asked = list[RunRequest]()
    monkeypatch.setattr("datasmith.cli.eval_run.carry_out", lambda request, *_rest: asked.append(request))
    words = ("runs", "resume", "a", "--runs-dir", str(runs))
    assert said(capsys, *words)[0] == said(capsys, *words, "--no-max-cost")[0] == 0
    assert [(request.keeps_limit, request.max_cost_usd) for request in asked] == [(True, None), (False, None)]
    code, _, err = said(capsys, *words, "--no-max-cost", "--max-cost", "4")
    assert (code, len(asked)) == (ConfigError.exit_code, 2)
    assert "--no-max-cost: --max-cost is given, too (example: --no-max-cost)" in err


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "status", "none"),
        ("runs", "resume", "none"),
        ("runs", "list"),
        ("report", "none"),
        ("regrade", "none"),
        ("submit", "none"),
        ("compare", "none:a", "none:b"),
        ("findings", "none"),
    ],
)
def test_who_has_no_run_is_told_where_runs_come_from(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, exit code 2; no example names a run that is not there."""
    monkeypatch.chdir(tmp_path)
    code, out, err = said(capsys, *words)
    assert (code, out, err.count("\n")) == (ConfigError.exit_code, "", 1)
    assert err.endswith("fc-eval run begins one (example: fc-eval run -d work/dataset/tasks -a nop)\n")
    (tmp_path / "runs").mkdir()
    assert "fc-eval run begins one" in "".join(said(capsys, *words)[1:])


def test_the_example_of_a_run_is_there(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of several it is the first."""
    code, _, err = said(capsys, "runs", "status", "none", "--runs-dir", str(runs))
    assert (code, err) == (2, f"error: RUN none: no run.json there (known: a, b; example: {runs / 'a'})\n")
    for given in (runs, runs / "none"):  # A path is looked for where it leads.
        code, _, err = said(capsys, "runs", "status", str(given))
        assert (code, err) == (2, f"error: RUN {given}: no run.json there (known: a, b; example: {runs / 'a'})\n")


def test_a_file_is_no_directory_of_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is told as what it is."""
    (tmp_path / "file").touch()
    code, _, err = said(capsys, "runs", "list", "--runs-dir", str(tmp_path / "file"))
    assert (code, err) == (2, f"error: --runs-dir {tmp_path / 'file'}: is a file (example: --runs-dir runs)\n")
