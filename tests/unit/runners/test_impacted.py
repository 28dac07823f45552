"""A task of the workloads that the expert's patch can touch: which ones stay, and when there is no task."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from datasmith.docker.engine import WORKDIR, Container, ExecResult
from datasmith.docker.seal import SealReport
from datasmith.docker.verifiers import TestReport
from datasmith.runners.agenda import NONE_IMPACTED
from datasmith.runners.impacted import only_impacted
from datasmith.runners.order import Refusal, Verified
from datasmith.workloads.base import Workload
from datasmith.workloads.coverage import coverage_key, write_coverage
from datasmith.workloads.impact import Coverage
from datasmith.workloads.touched import Suite

LIB = "def f():\n    return 1\n"
EDIT = "diff --git a/l.py b/l.py\n--- a/l.py\n+++ b/l.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n"
COMMENT = "diff --git a/l.py b/l.py\n--- a/l.py\n+++ b/l.py\n@@ -1,2 +1,3 @@\n+# why\n def f():\n     return 1\n"
WORKLOADS = (Workload("bench.time_f", "time"), Workload("bench.time_other", "time"))
RAN = {"bench.time_f": Coverage(called=frozenset({("l.py", 1)})), "bench.time_other": Coverage()}
REPORT = TestReport({"tests.test_a::one": "passed"}, 0, False, 1.0, "")
SEAL = SealReport((), ())


@dataclass
class Tree:
    """A container that holds one file, and lists it."""

    files: dict[str, str] = field(default_factory=lambda: {f"{WORKDIR}/l.py": LIB})

    def read_file(self, path: str) -> bytes:
        return self.files[path].encode()

    def exec(self, argv: list[str], *, timeout: float) -> ExecResult:
        assert argv[0] == "find" and timeout > 0
        return ExecResult(0, "".join(f"{path}\n" for path in self.files).encode(), b"", 0.0, 0.0, timed_out=False)


def left(place: Path, patch: str) -> Verified | Refusal:
    suite = Suite(WORKLOADS, "benchmarks", "print", "sha256:0")
    write_coverage(place / f"{coverage_key('sha256:0', 'print', WORKLOADS)}.json.gz", RAN)
    base = cast("Container", Tree())
    verified = Verified(WORKLOADS, REPORT, REPORT, seal=SEAL)
    return only_impacted(verified, base, suite, patch, kept_in=place, say=lambda _step, _done, _of: None)


def test_only_what_the_patch_can_touch_stays(tmp_path: Path) -> None:
    """The others are counted; tests and all else are as they were."""
    found = left(tmp_path, EDIT)
    assert found == Verified(WORKLOADS[:1], REPORT, REPORT, seal=SEAL, not_impacted=1)


def test_a_patch_that_no_workload_runs_is_refused(tmp_path: Path) -> None:
    """Nothing is measured then, and the reason says of how many."""
    assert left(tmp_path, COMMENT) == Refusal(f"{NONE_IMPACTED} (2 workloads)")
