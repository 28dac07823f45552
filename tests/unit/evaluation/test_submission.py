"""Submissions: complete, clean runs are packed; what was changed in one is found from its raw files."""

import errno
import gzip
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.errors import ConfigError, StoreUnavailable, TrialError
from datasmith.evaluation import submission
from datasmith.evaluation.overview import run_state
from datasmith.evaluation.records import TaskFacts
from datasmith.evaluation.regrade import regrade_run
from datasmith.evaluation.run_folder import RunFolder, TrialKey
from datasmith.evaluation.submission import Checked, check_submission, write_submission
from datasmith.evaluation.unlikely import is_of_a_run, unlike
from datasmith.evaluation.whole_files import write_record
from datasmith.tasks.dataset import LOCAL, Dataset
from datasmith.workloads.base import agent_arm
from tests.secrets_made_up import BY_FORM
from tests.unit.evaluation.sample_run import sample_run
from tests.unit.tasks.samples import sample_task

GOOD = TrialKey("acme_fast_1", "command-good", 1)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose records follow from its launches."""
    run = sample_run(tmp_path_factory.mktemp("runs") / "mine")
    folder = run.folder
    for task_id in run.config.task_ids:
        session = folder.read_session(task_id, 1)
        assert session is not None
        labels = [label for label in run.config.labels if _timed(folder, task_id, label)]
        arms = tuple(agent_arm(TrialKey(task_id, label, 1).label) for label in labels)
        write_record(folder.session(task_id, 1) / "session.json", session.model_copy(update={"agents": arms}))
        facts = TaskFacts(task_id=task_id, benchmark_dir="benchmarks", expert_patch_sha256="0" * 64, workloads=("x",))
        write_record(folder.task_facts(task_id), facts)
    regrade_run(folder)
    return folder.root


def _timed(folder: RunFolder, task_id: str, label: str) -> bool:
    return (folder.trial(TrialKey(task_id, label, 1)) / "measurements.jsonl").exists()


@pytest.fixture
def run(graded: Path, tmp_path: Path) -> RunFolder:
    shutil.copytree(graded, tmp_path / "mine")
    return RunFolder(tmp_path / "mine")


def packed(run: RunFolder) -> tuple[Path, Checked]:
    target = run.root.parent / "mine.tar.gz"
    return target, write_submission(run, target)


def test_a_record_counts_only_where_it_belongs(run: RunFolder) -> None:
    """A good trial's record over a bad one's is no second good one, and none leads out of the run."""
    bad = TrialKey("acme_fast_2", "command-breaks", 1)
    shutil.copy(run.trial(GOOD) / "trial.json", run.trial(bad) / "trial.json")
    with pytest.raises(TrialError, match="record of another trial, command-good at acme_fast_1"):
        packed(run)


@pytest.mark.parametrize("name", ["../other", "..", "/tmp", "//", ""])
def test_tasks_have_names(run: RunFolder, name: str) -> None:
    """Another run's folder is none."""
    record = run.read_run()
    assert record is not None
    config = record.config.model_copy(update={"task_ids": ("acme_fast_1", name)})
    write_record(run.root / "run.json", record.model_copy(update={"config": config}))
    with pytest.raises(TrialError, match=re.escape(f"{name!r} is no task's id")):
        packed(run)


def test_a_complete_run_is_packed_and_holds_what_it_says(run: RunFolder) -> None:
    """The same bytes twice; nothing but files that belong to a run; checking changes nothing and finds nothing."""
    (run.root / "report.html").write_text("page")
    file, written = packed(run)
    first = file.read_bytes()
    assert packed(run)[0].read_bytes() == first
    with tarfile.open(file) as tar:
        names = set(tar.getnames())
    assert {"manifest.json", "run.json", "run.lock", f"trials/acme_fast_1/{GOOD.agent}/1/patch.diff"} <= names
    assert not [name for name in names if "report" in name or name.rpartition("/")[2].startswith(".")]
    found = check_submission(file)
    assert (found.problems, found.digest, found.state.n_complete) == ((), written.digest, 6)


def test_a_place_that_cannot_be_written_is_left_as_it_was(run: RunFolder, tmp_path: Path) -> None:
    """A directory as the file, one that does not exist, or another file: said with an example, and no draft stays."""
    before = sorted(tmp_path.rglob("*"))
    mine = tmp_path / "notes.md"
    mine.write_text("precious")
    before.append(mine)
    for target in (tmp_path, tmp_path / "nowhere/mine.tar.gz", mine):
        with pytest.raises(ConfigError, match=r"--to .*example: --to (my-run|other)\.tar\.gz"):
            write_submission(run, target)
    assert sorted(tmp_path.rglob("*")) == sorted(before) and mine.read_text() == "precious"


def test_without_room_to_unpack_it_nothing_is_said_of_a_submission(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a name that is there twice show where it was unpacked."""
    file, _ = packed(run)
    for number, error, said in (
        (errno.ENOSPC, StoreUnavailable, r"TMPDIR .*: No space left on device, for .*mine\.tar\.gz$"),
        (errno.EEXIST, TrialError, r"mine\.tar\.gz: no submission: File exists \("),
    ):
        refusal = OSError(number, os.strerror(number), "/tmp/somewhere")
        monkeypatch.setattr(submission, "unpack", Mock(side_effect=refusal))
        with pytest.raises(error, match=said):
            check_submission(file)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_what_is_no_file_is_told(run: RunFolder, kind: bytes) -> None:
    """It is not unpacked, and so would have been passed over."""
    file, _ = packed(run)
    with gzip.open(file) as squeezed:
        data = io.BytesIO(squeezed.read())
    with tarfile.open(fileobj=data, mode="a") as tar:
        member = tarfile.TarInfo("trials/acme_fast_1/command-good/1/odd")
        member.type, member.linkname = kind, "trial.json"
        tar.addfile(member)
    file.write_bytes(gzip.compress(data.getvalue()))
    (problem,) = check_submission(file).problems
    assert problem == "a link or a device, where a run has files: trials/acme_fast_1/command-good/1/odd"


def test_no_other_run_is_overwritten(run: RunFolder) -> None:
    """Of the same run it is written again; that of another one, though it has the same id, stays."""
    file, _ = packed(run)
    before = packed(run)[0].read_bytes()
    path = run.root / "run.json"
    path.write_text(path.read_text().replace("2026-01-02", "2026-01-03"))
    with pytest.raises(ConfigError, match="is no submission of this run"):
        packed(run)
    assert file.read_bytes() == before


@pytest.mark.parametrize(("release", "told"), [("2026-03", True), (LOCAL, False), ("c" * 40, False)])
def test_a_release_is_held_against_the_datasets(run: RunFolder, release: str, told: bool) -> None:
    """Two names of releases must be one; a plain directory and a commit have none."""
    path = run.root / "run.json"
    path.write_text(path.read_text().replace('"release": "local"', f'"release": "{release}"'))
    found = check_submission(packed(run)[0], Dataset("formulacode@2026-04", "2026-04", {}))
    assert any("run.json says release '2026-03'" in problem for problem in found.problems) is told


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("run.json", True),
        ("trials/t/_arms/task.json", True),
        ("trials/t/_arms/1/session.json", True),
        ("trials/t/a/1/trial.json", True),
        ("trials/t/a/1/more.json", False),
        ("trials/t/a/x/trial.json", False),
        ("trials/t/_arms/leases/1.json", False),
        ("trials/t/_arms/1/agent#1/outputs.json", False),
        ("more.json", False),
    ],
)
def test_only_files_of_a_run_belong_to_it(name: str, there: bool) -> None:
    """By their names and places, not by their endings."""
    assert is_of_a_run(name) is there


def test_a_run_is_held_against_its_task(run: RunFolder) -> None:
    """Tests that it left out, another image and other workloads are told; an image that was built again is not."""
    session = run.read_session("acme_fast_1", 1)
    assert session is not None
    passing = ("a::b", "c::d", "e::f")
    mine = {"task_id": "acme_fast_1", "passing_tests": passing, "image_digest": session.image_digest}
    task = sample_task().model_copy(update=mine)
    write_record(run.task_facts("acme_fast_1"), TaskFacts.of(task))
    assert list(unlike(run, run_state(run), task)) == []
    fewer = run.read_tests(GOOD)
    assert fewer is not None
    write_record(run.trial(GOOD) / "tests.json", fewer.model_copy(update={"expected": 2}))
    write_record(
        run.session("acme_fast_1", 1) / "session.json", session.model_copy(update={"image_digest": "sha256:2"})
    )
    facts = TaskFacts.of(task).model_copy(update={"workloads": ("x",)})
    write_record(run.task_facts("acme_fast_1"), facts)
    assert list(unlike(run, run_state(run), task)) == ["task.json", "image", "tests of command-good#1"]
    lock = run.read_lock().model_copy(update={"rebuilt": {"acme_fast_1": task.image_digest}})
    write_record(run.root / "run.lock", lock)
    assert "image" not in list(unlike(run, run_state(run), task))


def _better_score(run: RunFolder) -> None:
    path = run.trial(GOOD) / "trial.json"
    record = json.loads(path.read_text())
    record["score"]["advantage"] += 1.0
    path.write_text(json.dumps(record))


def _cheaper(run: RunFolder) -> None:
    path = run.trial(GOOD) / "trial.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"cost_usd": 0.001}))


def _removed(run: RunFolder) -> None:
    path = run.trial(GOOD) / "trial.json"
    new = {"outcome": "invalid_measurement", "reason": "noise", "session": None, "ratios": None, "score": None}
    path.write_text(json.dumps(json.loads(path.read_text()) | new))


def _slower_expert(run: RunFolder) -> None:
    path = run.session("acme_fast_1", 1) / "session.json"
    record = json.loads(path.read_text())
    record["expert"]["speedup"] = 1.0
    path.write_text(json.dumps(record))


def _no_launches(run: RunFolder) -> None:
    (run.session("acme_fast_2", 1) / "measurements.jsonl").unlink()


def _unlocked(run: RunFolder) -> None:
    (run.root / "run.lock").unlink()


def _dropped(run: RunFolder) -> None:
    path = run.root / "run.json"
    record = json.loads(path.read_text())
    record["config"]["task_ids"].remove("acme_fast_2")
    path.write_text(json.dumps(record))


def _no_log(run: RunFolder) -> None:
    (run.trial(GOOD) / "agent.log").unlink()


def _no_outputs(run: RunFolder) -> None:
    (run.trial(GOOD) / "outputs.json").write_text('{"workloads": []}')


def _untimed(run: RunFolder) -> None:
    """All that was timed of a task's agents is taken away, and called a bad measurement."""
    where = run.session("acme_fast_1", 1) / "session.json"
    session = json.loads(where.read_text())
    shared = len((where.parent / "measurements.jsonl").read_text().splitlines())
    session["cost"]["launches"] = shared + 36 * len(session["agents"])
    where.write_text(json.dumps(session | {"agents": []}))
    for trial in (run.root / "trials/acme_fast_1").glob("command-*/1"):
        for name in ("measurements.jsonl", "outputs.json"):
            (trial / name).unlink()
        new = {"outcome": "invalid_measurement", "reason": "noise", "session": None, "ratios": None, "score": None}
        path = trial / "trial.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | new))


def _longer(run: RunFolder) -> None:
    path = run.session("acme_fast_1", 1) / "measurements.jsonl"
    path.write_text(path.read_text().replace('"wall_s":0.2', '"wall_s":0.002'))


def _link(run: RunFolder) -> None:
    log = run.trial(GOOD) / "agent.log"
    log.rename(run.root.parent / "elsewhere.log")
    log.symlink_to(run.root.parent / "elsewhere.log")


def _no_patch(run: RunFolder) -> None:
    (run.trial(GOOD) / "patch.diff").unlink()


def _unfinished(run: RunFolder) -> None:
    (run.trial(GOOD) / "trial.json").unlink()


def _token(run: RunFolder) -> None:
    (run.trial(GOOD) / "agent.log").write_text(f"asked with {BY_FORM['anthropic']}\n")


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (_better_score, "its records do not follow from its raw files: acme_fast_1 command-good#1"),
        (
            _cheaper,
            "follow from its raw files: acme_fast_1 command-good#1: measured, another cost_usd",
        ),
        (_removed, "acme_fast_1 command-good#1: invalid_measurement -> measured"),
        (_slower_expert, "its records do not follow"),
        (_no_launches, "measurements.jsonl lacks base"),
        (_unlocked, "run.lock does not say which tasks these were: acme_fast_1"),
        (_no_patch, "patch.diff is missing"),
        (_unfinished, "not complete: acme_fast_1 command-good#1"),
        (_dropped, "run.json lacks tasks of run.lock: acme_fast_2"),
        (_dropped, "trials of tasks that run.json does not name: acme_fast_2"),
        (_no_outputs, "outputs.json lacks what was timed: "),
        (_untimed, "108 of its 216 launches are gone"),
        (_longer, "calls that took longer than their launch: trials/acme_fast_1/_arms/1/measurements.jsonl"),
        (_no_log, "agent.log is missing: acme_fast_1 command-good#1"),
        (_link, "a link, where a run has files: trials/acme_fast_1/command-good/1/agent.log"),
        (_token, "holds what looks like a secret: trials/acme_fast_1/command-good/1/agent.log"),
    ],
)
def test_what_cannot_be_believed_is_not_packed(run: RunFolder, harm: Callable[[RunFolder], None], says: str) -> None:
    """Each for its reason, and no file appears."""
    harm(run)
    with pytest.raises(TrialError, match="cannot be submitted") as caught:
        packed(run)
    assert says in str(caught.value)
    assert not (run.root.parent / "mine.tar.gz").exists()


def forged(file: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """The submission with other files in it, packed by somebody else's program."""
    with tarfile.open(file) as tar:
        files = {name: part.read() for name in tar.getnames() if (part := tar.extractfile(name))}
    change(files)
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    target = file.with_name("forged.tar.gz")
    target.write_bytes(gzip.compress(whole.getvalue()))
    return target


def test_a_forged_submission_is_found_out(run: RunFolder) -> None:
    """Files that the manifest does not name, and scores that the launches do not give, with a manifest that fits."""
    file, _ = packed(run)
    name = f"trials/acme_fast_1/{GOOD.agent}/1/trial.json"

    def better(files: dict[str, bytes]) -> None:
        record = json.loads(files[name])
        record["score"]["advantage"] += 1.0
        files[name] = json.dumps(record).encode()

    assert "not as manifest.json says" in check_submission(forged(file, better)).problems[0]

    def consistent(files: dict[str, bytes]) -> None:

        better(files)
        manifest = json.loads(files["manifest.json"])
        manifest["files"][name] = hashlib.sha256(files[name]).hexdigest()
        files["manifest.json"] = json.dumps(manifest).encode()

    assert "do not follow from its raw files" in check_submission(forged(file, consistent)).problems[0]
    with pytest.raises(TrialError, match="no submission"):
        check_submission(forged(file, lambda files: files.update({"../out": b"x"})))
    assert not (run.root.parent.parent / "out").exists()
    (run.root.parent / "text").write_text("not a tar")
    text = run.root.parent / "text"
    with pytest.raises(TrialError) as caught:
        check_submission(text)
    assert str(caught.value) == (
        f"{text}: no submission: damaged: it is no tar archive (fc-eval submit RUN writes one; "
        "example: --check my-run.submission.tar.gz)"
    )


def test_the_command_packs_and_checks(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line with the digest, and how to check it; --check exits with an error where something does not hold."""
    monkeypatch.chdir(run.root.parent)
    monkeypatch.setenv("FC_DATASETS_FILE", "none.json")
    assert run_app(app, ["submit", "gone"]) == ConfigError.exit_code
    assert run_app(app, ["submit", "mine", "--runs-dir", "."]) == 0
    assert run_app(app, ["submit"]) == ConfigError.exit_code
    capsys.readouterr()
    assert run_app(app, ["submit", "mine", "--runs-dir", ".", "--to", "my run.tar.gz"]) == 0
    program, *words = shlex.split(capsys.readouterr().err.partition("check it with: ")[2])
    assert (program, run_app(app, words)) == ("fc-eval", 0)
    capsys.readouterr()
    assert run_app(app, ["submit", "--check", "mine.submission.tar.gz", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["problems"], found["n_trials"], found["agents"][0]["label"]) == ([], 6, "command-good")
    assert run_app(app, ["submit", "--check", "mine.submission.tar.gz"]) == 0
    assert "; in order: every record follows from its raw files" in capsys.readouterr().out
    (run.root.parent / "tasks/other_task_1").mkdir(parents=True)
    (run.root.parent / "tasks/other_task_1/task.toml").touch()
    code = run_app(app, ["submit", "--check", "mine.submission.tar.gz", "--dataset", "tasks"])
    assert code == TrialError.exit_code
    out, err = capsys.readouterr()
    assert "other tasks than those of tasks: acme_fast_1, acme_fast_2" in err and "in order" not in out
