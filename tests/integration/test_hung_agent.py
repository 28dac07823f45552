"""An agent of somebody else's that never comes back: its trial ends without it, and so does the command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from datasmith.evaluation.run_folder import RunFolder, TrialKey
from tests.integration.eval_task import calc_image, calc_task
from tests.sandboxes import embedded_engine

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

HANGS = """
import time
from concurrent.futures import ThreadPoolExecutor

PLACE = "/workspace/repo/calc.py"
FAST = b"def total(n):\\n    return n * (n - 1) // 2\\n"

class Hangs:
    name = "hangs"

    def __init__(self, options):
        self.note = options.directory / "note"

    def solve(self, task, container, *, timeout_s):
        with ThreadPoolExecutor() as pool:
            pool.submit(self.go_on, container).result()

    def go_on(self, container):
        tries = {
            "exec": lambda: container.exec(["sh", "-c", f"echo x >>{PLACE}"], timeout=5.0),
            "write": lambda: container.write_file(PLACE, FAST),
            "read": lambda: container.read_file(PLACE),
        }
        over = False
        while True:
            if over:
                tries["freeze"] = container.freeze
            for what, act in tries.items():
                try:
                    act()
                    said = "done"
                except Exception as error:
                    said = type(error).__name__
                with self.note.open("a") as file:
                    file.write(f"{what} {said}\\n")
                over = over or said != "done"
            time.sleep(0.01)
"""
"""Works on in a thread that even the interpreter waits for, and tries everything again that its sandbox can do."""
SLOW = "#!/bin/sh\ncd /workspace/repo\necho '# slow' >>calc.py\nsleep 60\n"


def test_who_never_comes_back_changes_nothing_any_more(tmp_path: Path) -> None:
    """After its time is over each of its calls is refused, the next agent's tree is its own, and the command ends."""
    engine = embedded_engine(tmp_path / "cache")
    calc_task(calc_image(engine, tmp_path), tmp_path / "tasks", tmp_path / "repo.tar.gz")
    (tmp_path / "hung.py").write_text(HANGS)
    (tmp_path / "slow.sh").write_text(SLOW)
    theirs = {"agent_import_path": "hung:Hangs", "model": "none"}
    slow = {"agent": "command", "model": "slow", "agent_kwargs": {"path": "slow.sh"}}
    (tmp_path / "agents.json").write_text(json.dumps([theirs, slow]))
    command = [str(Path(sys.executable).with_name("fc-eval")), "run", "--dataset", "tasks", "--config", "agents.json"]
    given = ["--run-id", "r", "--runs-dir", "runs", "--timeout", "3", "--max-rounds", "6", "--engine", "bubblewrap"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "FC_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [*command, *given], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    folder = RunFolder(tmp_path / "runs/r")
    hung, other = (TrialKey("acme_calc_1", name, 1) for name in ("Hangs", "command-slow"))
    assert [record.outcome for record in folder.trials()] == ["agent_timeout", "agent_timeout"]
    assert folder.read_patch(hung) == ""
    added = [line for line in folder.read_patch(other).splitlines() if line.startswith("+") and line[1:2] != "+"]
    assert added == ["+# slow"]
    lines = (tmp_path / "note").read_text().splitlines()
    refused = next(at for at, line in enumerate(lines) if not line.endswith(" done"))
    assert refused >= 3, "it has worked before"
    assert {line.split()[0] for line in lines[refused + 1 :]} == {"exec", "write", "read", "freeze"}
    assert not [line for line in lines[refused:] if line.endswith(" done")]
    assert not [*(tmp_path / "cache/containers").glob("*")]
