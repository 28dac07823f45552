"""What is kept of a suite's coverage, and what is watched again."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from datasmith.docker.engine import Container, ExecResult
from datasmith.workloads.base import Workload
from datasmith.workloads.coverage import Watched, suite_coverage

SEEN = {"imported": [], "called": [], "names": ["f"], "opened": [], "compiled": [], "spawned": False, "jit": False}
WORKLOADS = (Workload("bench.time_a", "time"), Workload("bench.time_b", "time"))


class Sandbox:
    """Watches workloads; those in `failing` run out of memory."""

    def __init__(self) -> None:
        self.failing: set[str] = set()
        self.watched: list[str] = []

    def exec(self, argv: Sequence[str], **_: object) -> ExecResult:
        """What the tracing script says of the workload that it is given."""
        name = json.loads(argv[-1])["name"]
        self.watched.append(name)
        failed = name in self.failing
        return ExecResult(137 if failed else 0, json.dumps(SEEN).encode(), b"", 1.0, None, timed_out=False)


def test_a_watch_that_failed_is_done_again(tmp_path: Path) -> None:
    """A machine that was full for a moment is no property of the suite; what was seen is not watched again."""
    sandbox, kept = Sandbox(), tmp_path / "seen.gz"

    def watch() -> Watched:
        sandbox.watched.clear()
        return suite_coverage(cast(Container, sandbox), WORKLOADS, "benchmarks", kept=kept, say=lambda *_: None)

    sandbox.failing = {"bench.time_b"}
    assert watch().by_workload["bench.time_b"].failed == "the process ended with exit code 137"
    sandbox.failing = set()
    again = watch()
    assert sandbox.watched == ["bench.time_b"]
    assert not again.known
    assert [again.by_workload[name].failed for name in ("bench.time_a", "bench.time_b")] == [None, None]
    assert watch().known
    assert sandbox.watched == []
