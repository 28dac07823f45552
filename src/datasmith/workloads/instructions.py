"""A second channel: instructions per call, counted once by a program that reads no clock; reported, never deciding.

`perf stat` counts on the processor where it may; else valgrind's callgrind counts in a machine of its own, fifty times
slower. The difference of two launches with different numbers of calls leaves start and set-up out.
"""

import json
import re
from dataclasses import dataclass
from typing import Literal

from datasmith.docker.engine import Container
from datasmith.errors import MeasurementFailed
from datasmith.workloads.base import Workload
from datasmith.workloads.calibrate import LaunchSize
from datasmith.workloads.channel import new_key, own_lines
from datasmith.workloads.launch import Order, request
from datasmith.workloads.mounts import COMPILED_ENV, COMPILED_HOME, script

Counter = Literal["perf", "callgrind"]
COMMANDS: dict[Counter, tuple[str, ...]] = {
    "perf": ("perf", "stat", "-x,", "-e", "instructions:u", "--"),
    "callgrind": ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=yes"),
}
_SEEN: dict[Counter, re.Pattern[str]] = {
    "perf": re.compile(r"^(\d+),[^,]*,instructions", re.MULTILINE),
    "callgrind": re.compile(r"^==\d+== Collected : (\d+)", re.MULTILINE),
}
FLOOR = 0.005
"""Instruction counts of the same code differ by less than this, as |ln ratio|."""
COUNTED_S = 0.05
MOST_CALLS = 2000
"""Calls that are counted take about COUNTED_S at base's usual speed; at least one, at most these."""
TIMEOUT_S = 1800.0
_PROBE_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Counted:
    """Instructions per call of base / of the arm for one workload; None where they could not be counted, and why."""

    workload: str
    ratio: float | None
    reason: str | None = None


def counter_in(container: Container) -> Counter:
    """The first counter that works in a sandbox.

    Raises:
        MeasurementFailed: none does; says what to install, and where.
    """
    for counter, words in COMMANDS.items():
        result = container.exec([*words, "python", "-c", "pass"], timeout=_PROBE_TIMEOUT_S)
        if _SEEN[counter].search(result.error_text):
            return counter
    raise MeasurementFailed(
        "no instruction counter works in the sandbox: bubblewrap shows the host's programs (apt-get install valgrind),"
        " for docker and podman valgrind has to be in the image"
    )


def counted(
    counter: Counter,
    base: Container,
    arm: Container,
    workload: Workload,
    call_s: float | None,
    *,
    benchmark_dir: str,
) -> Counted:
    """Count one workload in two prepared arms; `call_s` is what a call takes at base, None where it is not known.

    Raises:
        EngineUnavailable: the engine is gone.
    """
    if workload.kind == "timeraw":
        return Counted(workload.id, None, "it runs in processes of its own")
    calls = min(MOST_CALLS, max(1, round(COUNTED_S / call_s))) if call_s else 1
    counts = []
    for container in (base, arm):
        found = per_call(counter, container, workload, calls, benchmark_dir)
        if isinstance(found, str):
            return Counted(workload.id, None, found)
        counts.append(found)
    return Counted(workload.id, counts[0] / counts[1])


def per_call(counter: Counter, container: Container, workload: Workload, calls: int, benchmark_dir: str) -> float | str:
    """Instructions of one call, from a launch of one call and one of `calls` more; or why there is no number."""
    totals = []
    for number in (1, 1 + calls):
        key = new_key()
        asked = request(workload, LaunchSize(number, 1, 0.0), Order(benchmark_dir, "count", 0, None), key)
        words = [*COMMANDS[counter], *script("launch")]
        result = container.exec(words, timeout=TIMEOUT_S, env=COMPILED_ENV, cwd=COMPILED_HOME, stdin=asked.encode())
        if result.timed_out:
            return f"not counted after {TIMEOUT_S:g} s"
        seen = _SEEN[counter].findall(result.error_text)
        if not seen or not _has_samples(own_lines(result.stdout, key, cut_off=False)):
            return f"the launch was not counted (exit code {result.rc})"
        totals.append(sum(map(int, seen)))
    gained = (totals[1] - totals[0]) / calls
    return gained if gained > 0 else "more calls take no more instructions"


def _has_samples(lines: bytes | None) -> bool:
    try:
        said = json.loads(lines or b"")
    except (ValueError, RecursionError):
        return False
    return isinstance(said, dict) and bool(said.get("samples"))
