"""The published command as printed, against a hub on loopback; then a run that stops for its cost and goes on."""

import contextlib
import json
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.errors import BudgetSpent
from datasmith.tasks.release import write_release
from datasmith.workloads import launch
from tests.integration.eval_task import calc_image, calc_task
from tests.loopback.hub import loopback_hub
from tests.sandboxes import embedded_engine

pytestmark = pytest.mark.engine

TASK = "shapely_shapely_2283"
SPENDING = "tests.integration.spending:SpendingAgent"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory whose settings lead to caches of its own."""
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "FC_CACHE_DIR": str(tmp_path / "cache"),
        "FC_ENGINE": "bubblewrap",
        "FC_DATASETS_FILE": str(tmp_path / "none.json"),
        "HF_HUB_DISABLE_XET": "1",
    }.items():
        monkeypatch.setenv(name, value)
    # The host guard throws away launches on a core that others use too: tests run beside each other, on any machine.
    monkeypatch.setattr(launch, "disturbance", lambda *_: None)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run_app(app, words)
    out, err = capsys.readouterr()
    return code, out, err


def test_the_published_command_runs_as_printed(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name leads to the Hub, the task comes with its release, nop is measured; the run then goes on offline."""
    image = calc_image(embedded_engine(home / "cache"), home)
    task = calc_task(image, home / "tasks", home / "repo.tar.gz", 2283, owner="shapely", repo="shapely")
    assert task.task_id == TASK
    write_release({TASK: home / "tasks" / TASK}, home / "release", name="formulacode", release="2026-03")
    (home / "cfg.json").write_text('[{"agent": "nop", "model": "none"}]')
    with loopback_hub() as hub:
        sha = hub.commit("formulacode/formulacode-all", home / "release", "2026-03", "main")
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        words = ("run", "--dataset", "formulacode", "--task-id", TASK, "--config", "cfg.json")
        code, out, err = said(capsys, *words, "--max-rounds", "6", "--json")
    assert code == 0, err
    assert (
        f"warning: --dataset formulacode: no release is named: its newest state is used, 2026-03, commit {sha[:12]}"
        in err
    )
    assert f"{TASK}: nop#1: " in err and "; best so far" in err
    found = json.loads(out)
    assert [(row["task_id"], row["outcome"]) for row in found["trials"]] == [(TASK, "measured")]
    run = json.loads((home / "runs" / found["run_id"] / "run.json").read_text())
    assert (run["config"]["dataset"], run["config"]["release"]) == ("formulacode", sha)
    code, out, err = said(capsys, "runs", "resume", found["run_id"], "--json")
    assert (code, json.loads(out)["n_complete"]) == (0, 1), err
    code, out, err = said(capsys, "runs", "resume", found["run_id"], "--dataset", "tasks", "--json")
    assert (code, json.loads(out)["n_complete"]) == (0, 1), err
    _a_run_stops_for_its_cost(home, capsys)


def _a_run_stops_for_its_cost(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Known costs count, unknown ones are told; what was not begun is pending, and is done with a higher limit."""
    costs = [{}, {"cost": 1.5}, {"cost": 1.0}, {"cost": 1.0}]
    entries = [
        {"agent_import_path": SPENDING, "model": f"m{n}", "agent_kwargs": kwargs} for n, kwargs in enumerate(costs)
    ]
    (home / "cfg.json").write_text(json.dumps(entries))
    words = ("run", "--dataset", "tasks", "--config", "cfg.json", "--run-id", "paid", "--max-rounds", "6")
    code, out, err = said(capsys, *words, "--max-cost", "2", "--json")
    assert code == BudgetSpent.exit_code
    assert "--max-cost 2: trials for $2.50, and 1 of unknown cost; 1 were not begun" in err
    assert json.loads(out)["n_complete"] == 3
    _, out, _ = said(capsys, "runs", "status", "paid", "--json")
    state = json.loads(out)
    assert state["counts"] == {"no_patch": 3, "pending": 1}
    assert (state["cost_usd"], state["cost_unknown"]) == (2.5, 1)
    code, _, err = said(capsys, "runs", "resume", "paid", "--json")
    assert code == BudgetSpent.exit_code
    assert "warning: --max-cost 2 holds, as it was last given for this run (" in err and "; 1 were not begun" in err
    code, _, err = said(capsys, *words, "--n-attempts", "2")
    assert code == 2 and "n_attempts: 1 -> 2" in err
    code, out, err = said(capsys, "runs", "resume", "paid", "--max-cost", "9", "--json")
    assert code == 0, err
    assert json.loads(out)["n_complete"] == 4
    _it_goes_on_from_elsewhere(home, capsys)
    _, out, _ = said(capsys, "runs", "list", "--json")
    assert {row["n_complete"] == row["n_expected"] for row in json.loads(out)} == {True}


def _it_goes_on_from_elsewhere(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It knows where its tasks were; where they are gone from there, the error names an option that helps."""
    (home / "elsewhere").mkdir()
    with contextlib.chdir(home / "elsewhere"):
        code, out, err = said(capsys, "runs", "resume", "../runs/paid", "--json")
        assert (code, json.loads(out)["n_complete"]) == (0, 4), err
        (home / "tasks").rename(home / "moved")
        code, _, err = said(capsys, "runs", "resume", "../runs/paid", "--json")
        assert code == 2 and err.startswith("error: ../runs/paid/run.json: config.dataset tasks: not a directory"), err
        assert "to say where its tasks are now: fc-eval runs resume ../runs/paid --dataset" in err
        code, out, err = said(capsys, "runs", "resume", "../runs/paid", "--dataset", "../moved", "--json")
    assert (code, json.loads(out)["n_complete"]) == (0, 4), err
