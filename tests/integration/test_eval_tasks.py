"""Tasks from the outside: certified on this machine, shown, and looked into by a person or a script."""

import json
import os
import subprocess
import sys
import time
from math import log
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.errors import ConfigError
from datasmith.tasks.certificates import machine_key
from datasmith.tasks.folder import CERTIFICATES, read_task, task_digest, write_certificate
from datasmith.tasks.folder_check import check_task
from datasmith.workloads import launch
from datasmith.workloads.machine import this_machine
from tests.integration.eval_task import calc_image, calc_task, expert_patch
from tests.sandboxes import embedded_engine
from tests.unit.tasks.samples import certificate

pytestmark = pytest.mark.engine

TASK = "acme_calc_1"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tasks")
    image = calc_image(embedded_engine(place / "cache"), place)
    calc_task(image, place / "tasks", place / "repo.tar.gz")
    return place


@pytest.fixture
def home(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(root)
    monkeypatch.setenv("FC_CACHE_DIR", str(root / "cache"))
    monkeypatch.setenv("FC_ENGINE", "bubblewrap")
    monkeypatch.setenv("FC_DATASETS_FILE", str(root / "none.json"))
    # The host guard throws away launches on a core that others use too: tests run beside each other, on any machine.
    monkeypatch.setattr(launch, "disturbance", lambda *_: None)
    return root


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run_app(app, words)
    out, err = capsys.readouterr()
    return code, out, err


def test_a_task_is_certified_here_and_shown(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The expert's patch is faster here, its tests pass, of its one short line nothing is said; the digest stays.

    The noise of an earlier certificate of this machine still counts.
    """
    folder = home / "tasks" / TASK
    digest = task_digest(folder)
    issued, (noisy,) = certificate(TASK, read_task(folder).image_digest), read_task(folder).workloads
    control = {"workload": noisy, "high": 1.4}
    rows = tuple(row.model_copy(update=control) for row in issued.control.workloads)
    issued = issued.model_copy(
        update={"machine": this_machine(), "control": issued.control.model_copy(update={"workloads": rows})}
    )
    write_certificate(folder, issued, f"{CERTIFICATES}/{machine_key(issued.machine)}.json")
    code, out, err = said(capsys, "certify", str(folder), "--max-rounds", "8", "--json")
    (found,) = json.loads(out)
    here = found["here"]
    assert (code, here["status"], here["sealed"]) == (0, "valid", None), (err, here["reason"])
    assert here["not_looked_for"][-1].startswith("calc.py: the lines that the fix adds are too short")
    assert (here["tests_passed_base"], here["tests_passed_expert"], here["engine"]) == (1, 1, "bubblewrap")
    assert here["expert"]["speedup"] > 5 > 1.5 > here["control"]["speedup"]
    assert here["expert"]["workloads"][0]["floor"] >= log(1.4) > here["control"]["workloads"][0]["floor"]
    assert found["merged"] == here
    assert len(list((folder / "certificates").glob("*.json"))) == 1
    assert task_digest(folder) == digest
    assert [problem for problem in check_task(folder) if "certificate" in problem] == []
    code, out, _ = said(capsys, "tasks", "show", "acme/calc#1", "--dataset", "tasks")
    assert code == 0
    assert f"{TASK}: Use the closed form" in out and "certificate: valid, expert " in out
    assert "total(n) is slow" in out and "n * (n - 1)" not in out
    code, out, _ = said(capsys, "tasks", "show", TASK, "--dataset", "tasks", "--json")
    assert json.loads(out)[0]["certificates"][0]["status"] == "valid" and "expert_patch" not in out
    code, _, err = said(capsys, "certify", TASK)
    assert code == ConfigError.exit_code and "no task folder" in err


def test_a_certificate_is_confirmed_by_other_channels(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fastest calls, and instructions where a counter is installed, say what the certificate says.

    The first look is enough: what is five times as fast needs no interval of half a percent.
    """
    monkeypatch.setattr("datasmith.workloads.fastest.PRECISE", 1.0)
    code, out, err = said(capsys, "confirm", "--dataset", "tasks", "--task-id", TASK, "--json")
    assert code == 0, err
    ((one,), (row,)) = (found := json.loads(out)), found[0]["rows"]
    assert row["time_ratio"] > 5 and row["fastest"]["low"] > 5 and not row["disagrees"]
    assert (row["counted"]["ratio"] is None) == (one["counter"] is None) == bool(one["no_counter"])
    assert one["counter"] is None or row["counted"]["ratio"] > 5


def test_a_command_runs_in_a_pristine_sandbox(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its output and exit code come through; nothing of it is there the next time; a patch can be laid in first."""
    words = ("tasks", "interact", TASK, "--dataset", "tasks")
    code, out, _ = said(capsys, *words, "--command", "echo x >>calc.py; git status --porcelain; id -u; exit 7")
    assert code == 7
    assert out.split() == ["M", "calc.py", "1000"]
    (home / "my.diff").write_text(expert_patch())
    code, out, _ = said(capsys, *words, "--command", "cat calc.py", "--patch", "my.diff")
    assert (code, out) == (0, "def total(n):\n    return n * (n - 1) // 2\n")
    code, out, err = said(capsys, *words, "--command", "sleep 60", "--timeout", "1")
    assert (code, out, err) == (124, "", "not done after 1 s (--timeout)\n")
    code, _, err = said(capsys, *words)
    assert code == ConfigError.exit_code and "there is no terminal" in err


def test_a_person_gets_a_shell(home: Path) -> None:
    """On a terminal of its own: it is one inside too, a child can be interrupted, and the exit code comes through.

    Also where the command was begun in the background, which ignores Ctrl-C.
    """
    ours, theirs = os.openpty()
    words = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "-m", "datasmith.cli.eval"]
    words += ["tasks", "interact", TASK, "--dataset", "tasks"]
    child = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    seen = _until(ours, b"$ ")
    os.write(ours, b"tty; echo sum=$((40 + 2)); sleep 1000\n")
    seen += _until(ours, b"sum=42\r\n")
    time.sleep(1)
    os.write(ours, b"\x03")
    os.write(ours, b"echo again; exit 9\n")
    seen += _until(ours, b"again\r\n")
    assert child.wait(timeout=120) == 9, seen
    assert b"/dev/pts/" in seen or b"/dev/console" in seen, seen
    os.close(ours)


def _until(terminal: int, text: bytes) -> bytes:
    seen, deadline = b"", time.monotonic() + 120
    while text not in seen:
        assert time.monotonic() < deadline, seen
        seen += os.read(terminal, 4096)
    return seen
