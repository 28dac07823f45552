"""kill -9 of a process that builds and runs bubblewrap sandboxes: nothing half made is used, nothing stays behind."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from datasmith.docker.cgroups import Cgroups
from datasmith.docker.engine import ENV_PREFIX, WORKDIR
from tests.faults.bubblewrap_child import build, shown_in_processes
from tests.sandboxes import embedded_engine

pytestmark = pytest.mark.engine
KILLS = 6
STARTS = 60
LONG = 60.0


def killed_at(cache: Path, after_s: float, ready: Callable[[], object] = lambda: True) -> None:
    """Start a build in a process of its own and kill it after a while, but not before it is `ready`."""
    child = subprocess.Popen([sys.executable, "-m", "tests.faults.bubblewrap_child", str(cache)])
    time.sleep(after_s)
    deadline = time.monotonic() + 30
    while not ready() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()


def slots(cache: Path) -> set[str]:
    """Names of sandboxes whose directories lie there."""
    return {path.stem for path in cache.glob("containers/*.lock")}


def test_killed_builds_are_made_anew(tmp_path: Path) -> None:
    """After kills at random points the images are those of a build that was left alone, and every remainder is gone."""
    embedded_engine(tmp_path / "probe")
    rng = random.Random(7)
    _, expected = build(tmp_path / "whole/cache")
    cache = tmp_path / "killed/cache"
    cache.parent.mkdir()
    left: set[str] = set()
    for _ in range(KILLS):
        killed_at(cache, rng.uniform(0.4, 2.0))
        left |= slots(cache)
    engine, image = build(cache)
    assert image == expected
    with engine.start(image) as container:
        shown = container.exec(["sh", "-c", f"ls {WORKDIR} | wc -l; cat {ENV_PREFIX}/lib/1"], timeout=LONG)
        assert shown.text.split() == ["40", "x"]
    assert slots(cache) == set() and not list(cache.glob("layers/.draft-*"))
    groups = [parent / f"fc-{name}" for parent in Cgroups.probe().parents.values() for name in left]
    assert not [group for group in groups if group.exists()]


def test_sandboxes_die_with_the_process_that_started_them(tmp_path: Path) -> None:
    """After the kill no process of the sandbox is left, and the next engine deletes the rest when it looks around."""
    embedded_engine(tmp_path / "probe")
    cache = tmp_path / "cache"
    build(cache)
    killed_at(cache, 0.1, lambda: any(shown_in_processes(name) for name in slots(cache)))
    (name,) = slots(cache)
    deadline = time.monotonic() + 10
    while shown_in_processes(name) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not shown_in_processes(name)
    embedded_engine(cache).limits()
    assert slots(cache) == set()


def test_kills_at_a_start_leave_nothing(tmp_path: Path) -> None:
    """Between the fork and the last of bwrap's own calls too: neither a command nor a half made sandbox lives on."""
    embedded_engine(tmp_path / "probe")
    words = ["-m", "tests.faults.bubblewrap_starts", str(tmp_path / "cache"), str(STARTS)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == f"left 0 of {STARTS}\n", done.stderr
