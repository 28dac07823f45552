"""Ctrl-C at the very beginning, while a command still loads its libraries."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from datasmith.cli.entry import INTERRUPTED

SLOW = """import os, pathlib, time
pathlib.Path(os.environ["LOADING"]).touch()
try:
    time.sleep(60)
except KeyboardInterrupt:
    pass  # as some libraries do
"""


@pytest.mark.parametrize("name", ["fc-data", "fc-eval"])
def test_ctrl_c_while_loading_is_one_line(tmp_path: Path, name: str) -> None:
    """No traceback, exit code 130, and at once: even where a library would swallow it."""
    (tmp_path / "typer.py").write_text(SLOW)
    loading = tmp_path / "loading"
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "LOADING": str(loading)}
    command = [sys.executable, str(Path(sys.executable).with_name(name)), "--help"]
    child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    give_up = time.monotonic() + 60
    while not loading.exists() and child.poll() is None and time.monotonic() < give_up:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (INTERRUPTED, "", "error: stopped before anything was begun\n")


@pytest.mark.parametrize("name", ["fc-data", "fc-eval"])
def test_the_commands_begin(name: str) -> None:
    """After loading, Ctrl-C is the command's own affair again; `--version` is printed."""
    function = name.replace("-", "_")
    program = (
        "import signal, sys; from datasmith.cli import entry\n"
        f"sys.argv = ['{name}', '--version']\n"
        f"try:\n    entry.{function}()\n"
        "finally:\n    print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.splitlines()[1], done.stderr) == (0, "True", "")


def test_an_ignored_ctrl_c_stays_ignored() -> None:
    """As `nohup` and a shell's background jobs have it."""
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from datasmith.cli.entry import _leave_at_once\n"
        "print(_leave_at_once() is signal.SIG_IGN, signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "True True\n"
