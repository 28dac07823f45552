"""The scripts that a clone is set up and tried with, beside programs that stand in for what takes minutes."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT


def program(path: Path, lines: str) -> None:
    """A shell script that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)


def called(script: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A script, with nothing of this machine but its system programs on PATH."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(script.parent)}
    return subprocess.run([script, *words], env=env, capture_output=True, text=True, check=False, timeout=60)


def test_installing_says_that_uv_comes_first(tmp_path: Path) -> None:
    """Some ten seconds pass before uv has something to say for itself; where it is there, nothing is said."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    python = tmp_path / "python"
    program(tmp_path / "scripts/find-python.sh", f"echo {python}")
    # `python -m venv .venv` makes an environment whose `python -m pip install` makes a uv that says its words.
    program(tmp_path / "uv", 'echo "uv $*"')
    program(tmp_path / "pip", "cp uv .venv/bin/uv")
    program(python, "mkdir -p .venv/bin && cp pip .venv/bin/python")
    first, second = (called(tmp_path / "scripts/install.sh", "--no-dev").stdout.splitlines() for _ in range(2))
    synced = f"uv sync --locked --python {python} --no-dev"
    assert first[0].startswith("uv: none on this machine") and first[1:] == [synced]
    assert second == [synced]


@pytest.mark.parametrize(
    ("code", "tasks", "ends"),
    [(0, 4, 0), (1, 3, 0), (1, 0, 1), (0, 0, 1), (130, 3, 130)],
    ids=["all", "the rest failed", "all failed", "none", "Ctrl-C"],
)
def test_the_demo_goes_on_with_the_tasks_that_there_are(code: int, tasks: int, ends: int, tmp_path: Path) -> None:
    """Where what was left to measure fails again, agents run on the others; any other end of fc-data is the demo's."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    made = tmp_path / "demo/data/dataset/tasks"
    for number in range(tasks):
        (made / f"acme_calc_{number}").mkdir(parents=True)
    program(tmp_path / ".venv/bin/python", "true")
    program(tmp_path / ".venv/bin/fc-data", f"exit {code}")
    program(tmp_path / ".venv/bin/fc-eval", 'echo "fc-eval $1"')
    done = called(tmp_path / "examples/demo.sh")
    assert done.returncode == ends, done.stderr
    assert ("error: no task yet" in done.stderr) == (ends == 1)
    assert ("fc-eval run" in done.stdout) == ("report: " in done.stdout) == (ends == 0)
    assert (f"only {tasks} of 4 tasks" in done.stdout) == (ends == 0 and tasks < 4)
