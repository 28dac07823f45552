"""fc-data verify and dataset/verify.py from the outside."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.data import app
from datasmith.errors import ConfigError, EngineUnavailable
from datasmith.settings import known_variables
from tests.sandboxes import embedded_engine
from tests.unit.runners.verification_folders import legacy_folder, sealed_folder

pytestmark = pytest.mark.engine
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedded engine that works, and nothing of this machine's settings."""
    for name in known_variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("FC_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("FC_ENGINE", "bubblewrap")
    embedded_engine(tmp_path / "cache")


def asked(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = run_app(app, ["verify", *map(str, words)])
    return (code, *capsys.readouterr())


def test_good_and_bad_folders_are_told_apart(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One line for each, exit code 1 where one fails; the second run takes over what is known; --json tells all."""
    good = sealed_folder(tmp_path / "tasks/good")
    bad = sealed_folder(tmp_path / "tasks/bad", workloads=("bench.time_gone",))
    code, out, err = asked(capsys, "--task", tmp_path / "tasks", "--workers", "2")
    assert code == 1 and "1 verified, 1 failed, 0 without a verdict" in err
    assert f"FAILED    {bad}: measure: not in the suite: 1 workload: bench.time_gone" in out
    assert f"verified  {good}: 1 test passed, 1 benchmark\n" in out
    code, out, _ = asked(capsys, "--task", good, "--task", bad, "--json")
    rows = json.loads(out)["folders"]
    assert (code, [(row["state"], row["known"]) for row in rows]) == (1, [("verified", True), ("failed", True)])
    assert rows[1]["verdict"]["found"]["stage"] == "measure"
    assert asked(capsys, "--task", good)[0] == 0


def test_a_folder_without_a_verdict_has_a_code_of_its_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """An engine that cannot do it is neither success nor failure."""
    legacy_folder(tmp_path / "old", "nothing")
    code, out, err = asked(capsys, "--task", tmp_path / "old")
    assert code == EngineUnavailable.exit_code and out.startswith("held ")
    assert "error: 1 of 1 folders have no verdict: bubblewrap builds no Dockerfiles" in err


def test_results_have_their_place_outside_of_the_folders(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From inside a folder, the directory for results has to be named: the usual one would be a part of it."""
    folder = sealed_folder(tmp_path / "tasks")
    before = sorted(folder.rglob("*"))
    monkeypatch.chdir(folder)
    monkeypatch.delenv("FC_DATA_DIR")
    code, _, err = asked(capsys, "--task", ".")
    assert code == ConfigError.exit_code and "--data-dir" in err and "example: --data-dir ../work" in err
    assert sorted(folder.rglob("*")) == before


def test_a_data_directory_that_is_a_file_is_a_wrong_setting(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Said before anything is judged."""
    (tmp_path / "file").write_text("x")
    sealed_folder(tmp_path / "tasks")
    words = ["verify", "--task", str(tmp_path / "tasks"), "--data-dir", str(tmp_path / "file")]
    assert run_app(app, words) == ConfigError.exit_code
    assert capsys.readouterr().err == f"error: --data-dir {tmp_path / 'file'}: is a file (example: --data-dir ./work)\n"


def test_a_root_without_folders_is_a_wrong_flag(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One line with an example."""
    code, out, err = asked(capsys, "--task", tmp_path / "nothing")
    assert (code, out) == (2, "") and err.count("\n") == 1 and "example: --task" in err


def started(folder: Path) -> "subprocess.Popen[str]":
    words = [sys.executable, str(ROOT / "dataset/verify.py"), "--task", str(folder)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))


def test_the_seeds_command_line_works(tmp_path: Path) -> None:
    """Python dataset/verify.py --task DIR, from another directory, writes the success file."""
    folder = sealed_folder(tmp_path / "tasks")
    child = started(folder)
    out, err = child.communicate(timeout=120)
    assert (child.returncode, (folder / "verification_success.json").is_file()) == (0, True), err
    assert out.startswith("verified  ")


def test_ctrl_c_leaves_no_verdict(tmp_path: Path) -> None:
    """Stopped in the middle of the tests: exit code 130, told at once, no file, and nothing left running."""
    slow = b"import time\nif __name__ == '__main__':\n    time.sleep(4322.5)\n"
    mark = f"slow-{os.getpid()}-{tmp_path.name}"
    command = ("python", "tests/run_tests.py", "{junit}", mark)
    folder = sealed_folder(tmp_path / "tasks", files={"tests/run_tests.py": slow}, test_command=command)
    child = started(folder)
    deadline = time.monotonic() + 120
    while mark.encode() not in subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, check=True).stdout:
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=120)
    assert child.returncode == 130
    assert err.startswith("stopping: clearing up\nerror: stopped; ") and err.count("\n") == 2
    assert not (folder / "failure.json").exists() and not (tmp_path / "data/verdicts").exists()
    assert mark.encode() not in subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, check=True).stdout
