"""Who stands above whom on a board."""

from pathlib import Path

from datasmith.evaluation.gather import gather
from datasmith.evaluation.run_folder import RunFolder
from tests.unit.evaluation.sample_run import SampleRun

TASK = "acme_fast_1"
WORKLOADS = ("bench.time_a", "bench.time_b")


def ranks(place: Path, **speeds: float | None) -> dict[str, int | None]:
    """Of agents that have these speedups on one task; None: the trial failed."""
    run = SampleRun(place, [TASK], list(speeds))
    session = run.session(TASK, dict.fromkeys(WORKLOADS, 2.0))
    for name, speed in speeds.items():
        found = None if speed is None else dict.fromkeys(WORKLOADS, speed)
        run.trial(session, f"command-{name}", "no_patch" if speed is None else "measured", found)
    board = gather([RunFolder(place)], "floor").board
    return {agent.agent.removeprefix("command-"): agent.rank for agent in board.agents}


def test_what_the_rounds_cannot_tell_apart_is_a_tie(tmp_path: Path) -> None:
    """Intervals of 1 % on either side: 1.001 is no better than 1, nor than a failure, and 1.1 is."""
    assert ranks(tmp_path / "near", one=1.001, other=1.0, failed=None) == {"one": 1, "other": 1, "failed": 1}
    assert ranks(tmp_path / "far", one=1.1, other=1.0, failed=None) == {"one": 1, "other": 2, "failed": 2}
