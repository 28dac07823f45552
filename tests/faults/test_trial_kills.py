"""kill -9 of a worker and of the command on a Ray cluster: a run redoes what was in flight, and loses no trial."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from datasmith.evaluation.leases import Holder, holder_of
from datasmith.evaluation.run_folder import RunFolder, TrialKey
from tests.integration.eval_task import calc_image, calc_task
from tests.sandboxes import embedded_engine
from tests.support.ray_cluster import ROOT, RayCluster

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]
TASKS = ("acme_calc_1", "acme_calc_2")


def wait_until(holds: Callable[[], bool]) -> None:
    """Up to four minutes."""
    deadline = time.monotonic() + 240
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.05)


def at_work(folder: RunFolder, task: str, but: Holder | None = None) -> Holder:
    """Who measures a task, once somebody other than `but` does, with its agent's work done."""
    found: list[Holder] = []

    def holds() -> bool:
        holder = holder_of(folder.leases(task))
        if holder and holder != but and folder.read_facts(TrialKey(task, "nop", 1)):
            found.append(holder)
        return bool(found)

    wait_until(holds)
    return found[0]


def is_gone(holder: Holder) -> bool:
    return holder.is_gone(Holder.me())


def test_killed_workers_and_a_killed_command_cost_only_what_was_in_flight(
    ray_cluster: RayCluster, tmp_path: Path
) -> None:
    """One task is done, one is measured when its worker is killed, then the command; the same command completes it.

    Ray calls the task again after the first kill. What the agent had handed in is never asked for again, and the task
    that was done before is not touched.
    """
    image = calc_image(embedded_engine(ray_cluster.cache), tmp_path)
    for number in (1, 2):
        calc_task(image, tmp_path / "tasks", tmp_path / "repo.tar.gz", number)
    (tmp_path / "agents.json").write_text(json.dumps([{"agent": "nop", "model": "none"}]))
    words = [sys.executable, "-m", "datasmith.cli.eval", "run", "--dataset", str(tmp_path / "tasks")]
    words += ["--config", str(tmp_path / "agents.json"), "--runs-dir", str(tmp_path), "--run-id", "placed"]
    words += ["--max-rounds", "6", "--executor", "ray", "--json"]
    env = {**os.environ, **ray_cluster.variables, "FC_RAY_ADDRESS": ray_cluster.address, "PYTHONPATH": str(ROOT)}
    env |= {"FC_CACHE_DIR": str(ray_cluster.cache), "FC_ENGINE": "bubblewrap"}
    folder = RunFolder(tmp_path / "placed")
    command = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    first = at_work(folder, TASKS[1])
    done = {path: path.stat().st_mtime_ns for path in folder.root.glob(f"trials/{TASKS[0]}/nop/1/*")}
    assert folder.is_complete(TrialKey(TASKS[0], "nop", 1))
    handed_in = (folder.trial(TrialKey(TASKS[1], "nop", 1)) / "trajectory.json").stat().st_mtime_ns
    os.kill(first.pid, signal.SIGKILL)
    second = at_work(folder, TASKS[1], but=first)
    command.kill()
    command.communicate()
    wait_until(lambda: is_gone(second))
    assert not folder.is_complete(TrialKey(TASKS[1], "nop", 1))
    finished = subprocess.run(words, env=env, capture_output=True, check=False, timeout=400)
    assert finished.returncode == 0, finished.stderr.decode()[-2000:]
    assert json.loads(finished.stdout)["n_complete"] == len(TASKS)
    assert [folder.is_complete(TrialKey(task, "nop", 1)) for task in TASKS] == [True, True]
    assert {path: path.stat().st_mtime_ns for path in done} == done
    assert (folder.trial(TrialKey(TASKS[1], "nop", 1)) / "trajectory.json").stat().st_mtime_ns == handed_in
    session = folder.read_session(TASKS[1], folder.next_session(TASKS[1]) - 1)
    assert session is not None
    assert session.machine is not None
    assert list((ray_cluster.cache / "containers").glob("*")) == []
