"""What is kept of a suite's coverage, and what is watched again."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from datasmith.docker.engine import Container, ExecResult
from datasmith.workloads.base import Workload
from datasmith.workloads.coverage import AT_ONCE, Watched, suite_coverage

SEEN = {"imported": [], "called": [], "names": ["f"], "opened": [], "compiled": [], "spawned": False, "jit": False}
WORKLOADS = (Workload("bench.time_a", "time"), Workload("bench.time_b", "time"))


class Sandbox:
    """Watches workloads; those in `failing` run out of memory."""

    def __init__(self) -> None:
        self.failing: set[str] = set()
        self.watched: list[str] = []
        self.rc = 0

    def exec(self, argv: Sequence[str], **_: object) -> ExecResult:
        """What the tracing script says of the workload that it is given."""
        names = [entry["name"] for entry in json.loads(argv[-1])["entries"]]
        self.watched += names
        replies = [{"failed": "MemoryError"} if name in self.failing else SEEN for name in names]
        return ExecResult(self.rc, json.dumps({"replies": replies}).encode(), b"", 1.0, None, timed_out=False)


def test_a_watch_that_failed_is_done_again(tmp_path: Path) -> None:
    """A machine that was full for a moment is no property of the suite; what was seen is not watched again."""
    sandbox, kept = Sandbox(), tmp_path / "seen.gz"

    def watch() -> Watched:
        sandbox.watched.clear()
        return suite_coverage(cast(Container, sandbox), WORKLOADS, "benchmarks", kept=kept, say=lambda *_: None)

    sandbox.failing = {"bench.time_b"}
    assert watch().by_workload["bench.time_b"].failed == "MemoryError"
    sandbox.failing = set()
    again = watch()
    assert sandbox.watched == ["bench.time_b"]
    assert not again.known
    assert [again.by_workload[name].failed for name in ("bench.time_a", "bench.time_b")] == [None, None]
    assert watch().known
    assert sandbox.watched == []


def test_a_process_that_died_tells_nothing_of_any_workload(tmp_path: Path) -> None:
    """Nobody knows which of them it was."""
    sandbox = Sandbox()
    sandbox.rc = 137
    kept = tmp_path / "seen.gz"
    watched = suite_coverage(cast(Container, sandbox), WORKLOADS, "benchmarks", kept=kept, say=lambda *_: None)
    assert {seen.failed for seen in watched.by_workload.values()} == {"the process ended with exit code 137"}


def test_many_workloads_are_watched_in_several_processes(tmp_path: Path) -> None:
    """Each of them once, and progress is told in between."""
    sandbox, told = Sandbox(), []
    many = [Workload(f"bench.time_{number}", "time") for number in range(2 * AT_ONCE + 1)]
    kept = tmp_path / "seen.gz"
    suite_coverage(
        cast(Container, sandbox), many, "benchmarks", kept=kept, say=lambda _, done, of: told.append((done, of))
    )
    assert sandbox.watched == [workload.benchmark for workload in many]
    assert told == [(0, len(many)), (AT_ONCE, len(many)), (2 * AT_ONCE, len(many))]
