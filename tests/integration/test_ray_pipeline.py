"""fc-data --executor ray on a cluster of two nodes: stages 4 and 5 in real sandboxes, stopped, and taken up again."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.clones import Clone
from tests.commands import WINDOW, FcData
from tests.integration.test_pipeline import FAST, SLOW, TREE, WRONG
from tests.sandboxes import embedded_engine
from tests.support.ray_cluster import RayCluster

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]
RAY = ("--executor", "ray")


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A pull request of speed that breaks a test, its repair, and one that is right."""
    found = Clone(tmp_path / "calc", TREE)
    found.merge(2, "Speed up total with a wrong formula", {"calc.py": WRONG})
    found.merge(3, "Revert the wrong formula", {"calc.py": SLOW})
    found.merge(5, "perf: use the closed form for all sums", {"calc.py": FAST})
    return found


def command(place: Path, cluster: RayCluster) -> FcData:
    """fc-data as a user of the cluster runs it; its engine shares a cache with that of the nodes."""
    variables = {**cluster.variables, "FC_RAY_ADDRESS": cluster.address}
    return FcData(place, cluster.cache, extra=variables, patience_s=400)


def workers(data: Path, stage: int) -> set[str]:
    """Who ended items of a stage."""
    with sqlite3.connect(f"file:{data}/fc.sqlite?mode=ro", uri=True) as ledger:
        found = ledger.execute("SELECT worker FROM runner_progress WHERE stage = ? AND completed > 0", (stage,))
        return {worker for (worker,) in found}


def packages(data: Path) -> list[tuple[str, str, str]]:
    with sqlite3.connect(f"file:{data}/fc.sqlite?mode=ro", uri=True) as ledger:
        return ledger.execute("SELECT sha, python_version, pins FROM packages ORDER BY sha").fetchall()


def test_stages_4_and_5_end_as_they_do_here(ray_cluster: RayCluster, clone: Clone, tmp_path: Path) -> None:
    """Stage 4 resolves what a run without Ray resolves; Ctrl-C in stage 5 gives back; --resume ends everything.

    A pull request that could not be measured for noise has failed, not been refused: it is resumed, as a user would.
    """
    embedded_engine(ray_cluster.cache)
    ours = command(tmp_path / "ours", ray_cluster)
    words = (*WINDOW, "--repo", clone.path, "--max-rounds", "8", "--resume")
    first = ours.run(*words, "--stage", "1", "--stage", "2", "--stage", "3")
    assert first.rc == 0, first.err
    shutil.copytree(ours.data, tmp_path / "local/data")
    local = command(tmp_path / "local", ray_cluster)
    assert local.run(*words, "--stage", "4").rc == 0

    stopped = ours.interrupted(5, *words, *RAY, "--stage", "4", "--stage", "5")
    assert (stopped.rc, stopped.errors) == (
        130,
        ["error: stopped; with --resume, the same command goes on where this one ended"],
    )
    assert (ours.states(4), packages(ours.data)) == (local.states(4), packages(local.data))
    states = ours.states(5)
    assert "pending interrupted" in states.values() and all(state.startswith("pending") for state in states.values())
    assert ours.leaks() == []

    for _ in range(4):
        ended = ours.run(*words, *RAY, "--stage", "5", "--stage", "6", "--json")
        assert ended.rc in {0, 1}, ended.err
        if not any(state.startswith("failed") for state in ours.states(5).values()):
            break
    assert json.loads(ended.out)["funnel"]["window"] == "2026-02-01..2026-03-01"
    states = ours.states(5)
    assert states["5"].startswith("passed") and "breaks 1 test: tests.test_calc::test_total" in states["2"]
    assert (ours.data / "dataset/tasks/acme_calc_5/certificate.json").is_file()
    assert ours.funnel()["breaches"] == []
    assert workers(ours.data, 4) | workers(ours.data, 5)
    assert ours.leaks() == []


def test_a_cluster_that_cannot_be_used_is_told_before_anything_begins(clone: Clone, tmp_path: Path) -> None:
    """One line and exit code 2: no address, or nobody there; nothing is created."""
    words = (*WINDOW, "--repo", clone.path, *RAY, "--stage", "4")
    for address, says in (("", "FC_RAY_ADDRESS (example"), ("127.0.0.1:1", "FC_RAY_ADDRESS=127.0.0.1:1: ")):
        asked = FcData(tmp_path, tmp_path / "cache", extra={"FC_RAY_ADDRESS": address})
        ended = asked.run(*words)
        assert (ended.rc, len(ended.errors)) == (2, 1) and says in ended.errors[0]
        assert not asked.data.exists()
