"""When workloads are watched at all."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from datasmith.docker.engine import WORKDIR, Container, ExecResult
from datasmith.workloads.base import Workload
from datasmith.workloads.touched import Suite, look

from .test_coverage import SEEN

SOURCE = "LIMITS = [3]\n\n\ndef f(n):\n    return n + 0\n"
BODY = SOURCE.replace("n + 0", "n")
CONSTANT = SOURCE.replace("[3]", "[4]")
COMMENT = SOURCE.replace("n + 0", "n + 0  # nothing")
WORKLOADS = (Workload("bench.time_a", "time"), Workload("bench.time_b", "time"))


def diff(new: str) -> str:
    """A git diff of calc.py from SOURCE, whole file against whole file."""
    removed, added = ([sign + line for line in text.splitlines()] for sign, text in (("-", SOURCE), ("+", new)))
    head = ["diff --git a/calc.py b/calc.py", "--- a/calc.py", "+++ b/calc.py"]
    return "\n".join([*head, f"@@ -1,{len(removed)} +1,{len(added)} @@", *removed, *added, ""])


class Tree:
    """A sandbox with one source file; counts the workloads that are watched in it."""

    def __init__(self) -> None:
        self.watched = 0

    def exec(self, argv: Sequence[str], **_: object) -> ExecResult:
        """The listing of the tree, or what the tracing script says."""
        if argv[0] == "find":
            said = f"{WORKDIR}/calc.py\n"
        else:
            asked = len(json.loads(argv[-1])["entries"])
            self.watched += asked
            said = json.dumps({"replies": [SEEN] * asked})
        return ExecResult(0, said.encode(), b"", 1.0, None, timed_out=False)

    def read_file(self, path: str) -> bytes:
        """The one file."""
        assert path == f"{WORKDIR}/calc.py"
        return SOURCE.encode()


@pytest.mark.parametrize(
    ("patches", "watched"),
    [
        ([BODY], 2),
        ([COMMENT, BODY], 2),
        ([COMMENT], 0),
        ([CONSTANT], 0),
        ([BODY, CONSTANT], 0),
    ],
    ids=["a function", "a function beside a comment", "a comment", "a constant", "a constant beside a function"],
)
def test_workloads_are_watched_only_where_it_matters(tmp_path: Path, patches: list[str], watched: int) -> None:
    """Who selects everything, or nothing, need not know what each of them runs."""
    tree = Tree()
    suite = Suite(WORKLOADS, "benchmarks", "print", "sha256:0")
    given = [diff(text) for text in patches]
    seen = look(cast(Container, tree), suite, given, kept_in=tmp_path, say=lambda *_: None)
    assert tree.watched == watched
    assert set(seen.coverage) == {"bench.time_a", "bench.time_b"}
    assert seen.sources["calc.py"] == SOURCE
