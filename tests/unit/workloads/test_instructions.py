"""Instruction counts: how they are read, and what has none."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from datasmith.docker.engine import Container, ExecResult
from datasmith.errors import MeasurementFailed
from datasmith.workloads.base import Workload
from datasmith.workloads.channel import signed
from datasmith.workloads.instructions import Counted, counted, counter_in

WORK = Workload("m.time_x", "time")


@dataclass
class Answers:
    """Stands for a sandbox whose programs say these things on standard error, in turn."""

    said: list[str]
    stdout: bytes = b'{"samples": [0.1]}'
    asked: list[str] = field(default_factory=list)

    def exec(self, argv: Sequence[str], *, stdin: bytes = b"", **_: object) -> ExecResult:
        self.asked.append(argv[0])
        output = signed(self.stdout, json.loads(stdin)["key"]) if stdin else b""
        return ExecResult(0, output, self.said.pop(0).encode(), 1.0, 1.0, False)

    def as_container(self) -> Container:
        return cast(Container, self)


def callgrind(count: int) -> str:
    return f"==7== Events    : Ir\n==7== Collected : {count}\n"


def test_start_and_set_up_are_left_out_of_a_count() -> None:
    """Two launches with different numbers of calls: the difference is the calls'. 0.05 s of calls are counted."""
    base = Answers([callgrind(1_000_000), callgrind(1_000_000 + 10 * 600)])
    arm = Answers([callgrind(5_000_000), callgrind(5_000_000 + 10 * 200)])
    found = counted("callgrind", base.as_container(), arm.as_container(), WORK, 0.005, benchmark_dir="b")
    assert found == Counted(WORK.id, 3.0)


def test_a_launch_that_is_not_counted_has_a_reason() -> None:
    """No total, no samples, and more calls that cost nothing: never a ratio."""
    for answers in (Answers(["killed"]), Answers([callgrind(5)], b"{}"), Answers([callgrind(5), callgrind(5)])):
        sandbox = answers.as_container()
        found = counted("callgrind", sandbox, sandbox, WORK, 0.005, benchmark_dir="b")
        assert found.ratio is None
        assert found.reason
    raw = Workload("m.timeraw_x", "timeraw")
    nothing = Answers([]).as_container()
    assert counted("perf", nothing, nothing, raw, 0.005, benchmark_dir="b").ratio is None


def test_the_processor_s_own_counter_is_preferred() -> None:
    """`perf` where it counts; "<not supported>" is no count; where nothing counts the error says what to install."""
    counts = Answers(["4711,,instructions:u,100,100.00,,\n"])
    assert counter_in(counts.as_container()) == "perf"
    refused = Answers(["<not supported>,,instructions:u,0,100.00,,\n", callgrind(9)])
    assert counter_in(refused.as_container()) == "callgrind"
    assert refused.asked == ["perf", "valgrind"]
    with pytest.raises(MeasurementFailed, match="apt-get install valgrind"):
        counter_in(Answers(["not found", "not found"]).as_container())
