"""Damaged files of a run: each command that rests on one ends with a line that names it, and says what helps."""

from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.errors import TrialError
from datasmith.evaluation.records import TaskFacts
from datasmith.evaluation.regrade import regrade_run
from datasmith.evaluation.run_folder import RunFolder, TrialKey, read_record
from datasmith.evaluation.whole_files import write_record
from datasmith.workloads.base import agent_arm
from tests.unit.evaluation.sample_run import SampleRun

TASK = "trials/acme_fast_1"
SESSION = f"{TASK}/_arms/1"
TRIAL = f"{TASK}/command-good/1"
REPORT, REGRADE, STATUS, LIST = ("report", "r"), ("regrade", "r"), ("runs", "status", "r"), ("runs", "list")
COMPARE, FINDINGS = ("compare", "r:command-good", "r:command-nothing"), ("findings", "r")
READ = (REPORT, REGRADE, COMPARE, FINDINGS)
AGAIN = "each trial.json of the task, and fc-eval runs resume RUN measures them again"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run of two agents at one task in runs/ of the working directory, as it is after a regrade."""
    monkeypatch.chdir(tmp_path)
    made, names = SampleRun(Path("runs/r"), ["acme_fast_1"], ["good", "nothing"]), ("bench.time_a", "bench.time_b")
    session = made.session("acme_fast_1", dict.fromkeys(names, 2.0))
    keys = [TrialKey("acme_fast_1", f"command-{name}", 1) for name in ("good", "nothing")]
    for speed, key in enumerate(keys, 1):
        made.trial(session, key.agent, "measured", dict.fromkeys(names, 1.5 / speed))
    cost = session.cost.model_copy(update={"launches": session.cost.launches * 5 // 3})  # of five arms
    timed = {"agents": tuple(agent_arm(key.label) for key in keys), "cost": cost}
    write_record(made.folder.session("acme_fast_1", 1) / "session.json", session.model_copy(update=timed))
    facts = TaskFacts(task_id="acme_fast_1", benchmark_dir="benchmarks", expert_patch_sha256="0", workloads=names)
    write_record(made.folder.task_facts("acme_fast_1"), facts)
    regrade_run(made.folder)
    return made.folder


@pytest.mark.parametrize("text", ["", "{", "\0" * 40, "[]", "garbage\n"])
@pytest.mark.parametrize(
    ("name", "commands", "helps"),
    [
        ("run.lock", (*READ, STATUS, LIST), "bring it back from a copy; else delete it: the run can be reported then"),
        (f"{SESSION}/session.json", (*READ, STATUS, LIST), AGAIN),
        (f"{TRIAL}/trial.json", (*READ, STATUS, LIST), "delete it, and fc-eval runs resume RUN makes it anew"),
        (f"{TRIAL}/trajectory.json", (REGRADE, STATUS, LIST), "fc-eval runs resume RUN asks the agent again"),
        (f"{TRIAL}/outputs.json", (REGRADE,), "delete the trial.json beside it, and fc-eval runs resume RUN grades"),
        (f"{TRIAL}/tests.json", (REGRADE,), "delete the trial.json beside it, and fc-eval runs resume RUN grades"),
        (f"{TASK}/_arms/task.json", (REGRADE, COMPARE, FINDINGS), "fc-eval runs resume RUN writes both anew"),
    ],
)
def test_a_damaged_record_is_named_by_all_that_rests_on_it(
    run: RunFolder,
    capsys: pytest.CaptureFixture[str],
    name: str,
    commands: tuple[tuple[str, ...], ...],
    helps: str,
    text: str,
) -> None:
    """In one line, with what to do; an empty file is said to be empty."""
    path = run.root / name
    path.write_text(text)
    for words in commands:
        assert run_app(app, words) == TrialError.exit_code, words
        err = capsys.readouterr().err
        assert err.startswith(f"error: {path}: cannot be read: ") and helps in err and err.count("\n") == 1
        assert ("not JSON: it is empty" in err) is (text == "")


@pytest.mark.parametrize(("place", "helps"), [(SESSION, AGAIN), (TRIAL, "fc-eval runs resume RUN grades the trial")])
@pytest.mark.parametrize("line", ["garbage", "{", "{}", "", "\0\0", "torn"])
def test_a_damaged_line_is_named_by_its_number(
    run: RunFolder, capsys: pytest.CaptureFixture[str], place: str, helps: str, line: str
) -> None:
    """The file, the line, what is wrong with it and what helps; nothing is computed from the others."""
    path = run.root / place / "measurements.jsonl"
    lines = path.read_text().splitlines()
    # A comma between two lines makes this one whole again.
    broken = lines[2].replace(",", "\n", 1) if line == "torn" else line
    path.write_text("\n".join([*lines[:2], broken, *lines[3:]]))
    for words in READ:
        assert run_app(app, words) == TrialError.exit_code, words
        err = capsys.readouterr().err
        assert err.startswith(f"error: {path}: line 3 is no measurement: ") and helps in err and err.count("\n") == 1


@pytest.mark.parametrize("place", [SESSION, TRIAL])
def test_measurements_that_are_gone_are_told_with_what_helps(
    run: RunFolder, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    """An empty file has no line that is wrong."""
    (run.root / place / "measurements.jsonl").write_text("")
    for words in READ:
        assert run_app(app, words) == TrialError.exit_code, words
        err = capsys.readouterr().err
        assert "measurements.jsonl" in err and "fc-eval runs resume RUN" in err and err.count("\n") == 1


def test_a_damaged_lease_says_when_it_may_go(tmp_path: Path) -> None:
    """Somebody may be at work: it is only for who knows that nobody is."""
    path = tmp_path / "trials/t/_arms/leases/000001.json"
    path.parent.mkdir(parents=True)
    path.touch()
    with pytest.raises(TrialError, match=r"it is empty \(delete it where nobody is at work on the run\)$"):
        read_record(path, TaskFacts)
