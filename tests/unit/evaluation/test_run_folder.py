"""The run folder: whole files, one process at a time, errors that name the file."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.errors import ConfigError, StoreUnavailable, TrialError
from datasmith.evaluation.outcome import AgentFacts
from datasmith.evaluation.run_folder import RunFolder, TrialKey, keys, open_run, read_measurements, write_measurements
from datasmith.evaluation.whole_files import write_record, write_text
from datasmith.workloads.base import Measurement
from tests.mounts import small_disk
from tests.unit.evaluation.sample_run import sample_run

KEY = TrialKey("acme_fast_1", "command-good", 1)


def test_records_come_back_equal(tmp_path: Path) -> None:
    """What was written is what is read."""
    run = sample_run(tmp_path / "r")
    assert run.folder.read_run() is not None
    assert [record.agent for record in run.folder.trials()][:3] == ["command-breaks", "command-good", "command-nothing"]
    assert run.folder.read_facts(KEY) == AgentFacts(wall_s=12.5)
    record = run.folder.read_trial(KEY)
    assert record is not None
    assert record.score is not None
    assert record.score.n_valid == 3


def test_a_patch_keeps_its_bytes(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 survive the way through text."""
    folder = RunFolder(tmp_path)
    text = b"\xff\xfe+x\r\n".decode("utf-8", "surrogateescape")
    write_text(folder.trial(KEY) / "patch.diff", text)
    assert folder.read_patch(KEY) == text
    assert (folder.trial(KEY) / "patch.diff").read_bytes() == b"\xff\xfe+x\r\n"


def test_measurements_come_back_equal(tmp_path: Path) -> None:
    """Samples to the last digit, reasons and marks included."""
    launches = (
        Measurement("m.time_a", "base", 0, (0.1, 1 / 3), 7, 0.5, None, 1),
        Measurement("m.time_a", "agent:x#1", -1, (), 0, 0.5, 0.25, None, noisy=True, reason="it raised: \u00e9"),
    )
    write_measurements(tmp_path / "m.jsonl", launches)
    assert read_measurements(tmp_path / "m.jsonl") == launches
    assert read_measurements(tmp_path / "none.jsonl") == ()


IMPOSSIBLE = {
    "trial.json": (
        "wall_s", "cost_usd", "ratios.speedup", "ratios.low", "ratios.workloads.0.ratio", "score.speedup",
        "score.expert_speedup", "score.advantage", "score.worst_speedup", "score.log_advantage",
        "score.normalised_advantage", "score.by_level.module", "score.n_valid",
    ),
    "trajectory.json": ("wall_s", "cost_usd"),
    "session.json": ("cost.timed_s", "expert.high", "expert.workloads.0.ratio", "control.workloads.0.base_s"),
    "measurements.jsonl": ("samples.0", "wall_s", "cpu_s"),
    "run.json": ("config.n_attempts", "config.seed"),
}  # fmt: skip
ABSURD: dict[str, dict[str, tuple[str, ...]]] = {
    "trial.json": {
        "score.speedup": ("1e300", "-2.0", "1e28"),
        "score.worst_speedup": ("1e300", "100.0"),
        "score.advantage": ("1e300",),
        "score.n_valid": ("-1", "77"),
        "ratios.low": ("77.0", "-1.0"),
        "ratios.high": ("0.001",),
        "ratios.speedup": ("77.0", "0.001"),
        "ratios.workloads.0.low": ("77.0",),
        "ratios.workloads.0.high": ("0.001",),
        "ratios.workloads.0.ratio": ("77.0", "0.001"),
    },
    "session.json": {"expert.low": ("77.0",), "control.speedup": ("77.0",), "expert.workloads.0.ratio": ("77.0",)},
}
"""Numbers that something could be, and not what stands there beside the others."""


@pytest.mark.parametrize(("name", "at"), [(name, at) for name, all_of in IMPOSSIBLE.items() for at in all_of])
@pytest.mark.parametrize("number", ["NaN", "1e999", "-1e308", "1e308", "-9" + "9" * 30, "9" * 400])
def test_a_number_that_nothing_can_be_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, at: str, number: str
) -> None:
    """Infinite, negative or absurd: a report ends with a line that names the file, and with no defect."""
    path = with_number(tmp_path, name, at, number)
    words = ["runs", "status"] if name == "trajectory.json" else ["report"]
    assert run_app(app, [*words, str(tmp_path / "r")]) == TrialError.exit_code
    told = capsys.readouterr().err
    assert f"error: {path}: " in told
    assert at.split(".")[0] in told


@pytest.mark.parametrize(
    ("name", "at", "number"),
    [(name, at, number) for name, fields in ABSURD.items() for at, numbers in fields.items() for number in numbers],
)
def test_a_number_that_does_not_fit_the_others_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, at: str, number: str
) -> None:
    """An interval upside down, an estimate outside of it, a speedup of 1e300: file and field, and no report."""
    path = with_number(tmp_path, name, at, number)
    assert run_app(app, ["report", str(tmp_path / "r")]) == TrialError.exit_code
    told = capsys.readouterr().err
    assert f"error: {path}: " in told
    assert at.split(".")[0] in told
    assert at.split(".")[-1] in told


def with_number(tmp_path: Path, name: str, at: str, number: str) -> Path:
    """A run in whose file the field `at` holds something else; the file's path."""
    run = sample_run(tmp_path / "r")
    beside = run.folder.session(KEY.task_id, 1) if name == "session.json" else run.folder.trial(KEY)
    path = (run.folder.root if name == "run.json" else beside) / name
    first, *rest = path.read_text().split("\n" if name.endswith("l") else "\0")
    record = json.loads(first)
    *parents, last = (int(part) if part.isdigit() else part for part in at.split("."))
    inner = record
    for part in parents:
        inner = inner[part]
    inner[last] = "HERE"
    path.write_text("\n".join([json.dumps(record).replace('"HERE"', number), *rest]))
    return path


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    """A damaged run says where."""
    run = sample_run(tmp_path / "r")
    (run.folder.trial(KEY) / "trial.json").write_text("{")
    with pytest.raises(TrialError, match=r"command-good/1/trial\.json"):
        run.folder.trials()
    (tmp_path / "m.jsonl").write_text("{}\n")
    with pytest.raises(TrialError, match="line 1"):
        read_measurements(tmp_path / "m.jsonl")


def test_a_draft_is_no_record(tmp_path: Path) -> None:
    """What an interrupted write leaves behind is not read; the trial is simply not complete."""
    folder = RunFolder(tmp_path)
    folder.trial(KEY).mkdir(parents=True)
    (folder.trial(KEY) / ".trial.json.draft").write_text('{"task_id"')
    assert folder.read_trial(KEY) is None
    assert not folder.is_complete(KEY)
    assert folder.trials() == ()


def test_an_outage_is_not_complete(tmp_path: Path) -> None:
    """It is counted in reports and tried again by the next call."""
    run = sample_run(tmp_path / "r")
    record = run.folder.read_trial(KEY)
    assert record is not None
    assert run.folder.is_complete(KEY)
    write_record(run.folder.trial(KEY) / "trial.json", record.model_copy(update={"outcome": "infra_error"}))
    assert not run.folder.is_complete(KEY)


def test_two_processes_do_not_share_a_run(tmp_path: Path) -> None:
    """The second one is told; after the first has left, the folder is free."""
    folder = RunFolder(tmp_path / "r")
    with folder.alone(), pytest.raises(ConfigError, match="another process"), RunFolder(tmp_path / "r").alone():
        pass
    with folder.alone():
        assert folder.root.is_dir()


def test_an_error_of_the_work_is_not_told_as_somebody_elses_work(tmp_path: Path) -> None:
    """No process can be started, for example, which is the same class of error as a lock that is held."""
    with pytest.raises(BlockingIOError, match="no more processes"), RunFolder(tmp_path / "r").alone():
        raise BlockingIOError("no more processes")


@pytest.mark.parametrize("words", ["regrade", "submit"])
def test_a_run_on_a_disk_that_may_only_be_read_is_worked_on_as_a_copy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    """No mode of the folder helps there: the line says what does, and that works."""
    with small_disk(tmp_path / "disk", megabytes=20) as disk:
        root = sample_run(disk / "r").folder.root
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        assert run_app(app, [words, str(root)]) == StoreUnavailable.exit_code
        told = capsys.readouterr().err
        assert told == (
            f"error: cannot write {root}/.in-use: Read-only file system: work on a copy of the run "
            f"(example: cp -r {root} /tmp/r)\n"
        )
        shutil.copytree(root, tmp_path / "copy")
    with RunFolder(tmp_path / "copy").alone():
        assert (tmp_path / "copy/.in-use").is_file()


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """The flag is named where the run's folder cannot be made, and the file where it is there."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="--runs-dir"), RunFolder(tmp_path / "file" / "r").alone():
        pass
    (tmp_path / "r" / ".in-use").mkdir(parents=True)
    with (
        pytest.raises(StoreUnavailable, match=r"cannot write .*/r/\.in-use: Is a dir"),
        RunFolder(tmp_path / "r").alone(),
    ):
        pass
    with pytest.raises(StoreUnavailable, match=r"x\.json"):
        write_text(tmp_path / "file" / "x.json", "")


def test_a_run_is_found_by_path_and_by_id(tmp_path: Path) -> None:
    """An unknown one lists those that are there."""
    sample_run(tmp_path / "runs" / "r")
    assert open_run(tmp_path / "runs", "r").root == open_run(Path("nowhere"), str(tmp_path / "runs" / "r")).root
    with pytest.raises(ConfigError, match="known: r"):
        open_run(tmp_path / "runs", "other")


def test_sessions_are_numbered_on(tmp_path: Path) -> None:
    """The remains of an interrupted session are never mixed into the next."""
    folder = RunFolder(tmp_path)
    assert folder.next_session("t") == 1
    folder.session("t", 3).mkdir(parents=True)
    assert folder.next_session("t") == 4


def test_trials_are_ordered_task_by_task() -> None:
    """Every agent's every attempt, once."""
    found = keys(["t1", "t2"], ["a", "b"], 2)
    assert len(set(found)) == 8
    assert found[:4] == (
        TrialKey("t1", "a", 1), TrialKey("t1", "a", 2), TrialKey("t1", "b", 1), TrialKey("t1", "b", 2),
    )  # fmt: skip


def test_a_file_that_cannot_be_read_has_a_code_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the disk refuses it nothing is said of the trial, whose records may be in order."""
    run = sample_run(tmp_path / "r")
    record = next(run.folder.root.glob("trials/*/*/*/trial.json"))
    record.unlink()
    record.mkdir()
    assert run_app(app, ["report", str(tmp_path / "r")]) == StoreUnavailable.exit_code
    assert capsys.readouterr().err == f"error: cannot read {record}: Is a directory\n"
    assert run_app(app, ["runs", "list", "--runs-dir", str(tmp_path)]) == StoreUnavailable.exit_code


def test_no_run_is_left_out_of_the_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One without run.json, and one that may not be looked into, are named, and the exit code tells of them."""
    for name in ("one", "two", "three"):
        sample_run(tmp_path / "runs" / name)
    (tmp_path / "runs/two/run.json").unlink()
    (tmp_path / "runs/no run").mkdir()
    closed, access = str(tmp_path / "runs/three"), os.access
    monkeypatch.setattr(os, "access", lambda path, *rest, **more: str(path) != closed and access(path, *rest, **more))
    assert run_app(app, ["runs", "list", "--runs-dir", str(tmp_path / "runs")]) == StoreUnavailable.exit_code
    told = capsys.readouterr()
    assert "run.json is missing" in told.err and f"{closed} may not be read" in told.err
    assert all(f"│ {name} " in told.out for name in ("one", "three", "two")) and "no run" not in told.out


@pytest.mark.parametrize(("name", "example"), [("run.json", "r"), ("run.lock", "my-run")])
def test_a_file_is_no_run(tmp_path: Path, name: str, example: str) -> None:
    """It is said to be one; of run.json the example is the directory that it lies in."""
    sample_run(tmp_path / "r")
    path = tmp_path / "r" / name
    with pytest.raises(ConfigError, match=rf"^RUN {path}: is a file, and a run is a directory \(.*/{example}\)$"):
        open_run(tmp_path, str(path))
