"""The reply of a launch is data to be checked."""

import json
from dataclasses import replace

import pytest

from datasmith.docker.engine import ExecResult
from datasmith.workloads.base import Workload
from datasmith.workloads.calibrate import CALIBRATING
from datasmith.workloads.launch import TAMPERED, Order, Reply, cache_path, launch, parse_reply, suite_path

from .simulated import SimulatedContainer

OWN = {"number": 0, "repeat": 0, "warmup_time": -1}


def said(**changes: object) -> bytes:
    return json.dumps(
        {"samples": [1e-3, 2e-3], "number": 5, "run_s": 0.02, "setup_s": 0, "own": OWN, **changes}
    ).encode()


def test_a_good_reply_is_read() -> None:
    """Samples, calls per sample, and that the benchmark leaves the choice to us."""
    assert parse_reply(said()) == Reply((1e-3, 2e-3), 5, 0.02, 0.0, 0, 0, 0.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"samples": []},
        {"samples": [0.0, 1.0]},
        {"samples": [-1e-3]},
        {"samples": [1e-3, 5e-324]},
        {"samples": [float("nan")]},
        {"samples": [float("inf")]},
        {"samples": ["1e-3"]},
        {"samples": [True]},
        {"samples": [1e-3] * 5001},
        {"samples": None},
        {"number": 0},
        {"number": 2.5},
        {"run_s": -1},
        {"own": None},
    ],
    ids=lambda changes: str(changes)[:30],
)
def test_a_reply_that_no_launch_gives_is_tampered(changes: dict[str, object]) -> None:
    """Samples that are missing, no numbers, not positive or too many are a reason, never a score."""
    assert str(parse_reply(said(**changes))).startswith(TAMPERED)


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b"[" * 100_000, said() + said(), b"\xff"])
def test_anything_but_one_line_of_json_is_tampered(text: bytes) -> None:
    """Two replies are one too many."""
    assert str(parse_reply(text)).startswith(TAMPERED)


def test_reasons_are_one_printable_line() -> None:
    """A failure's text comes from the sandbox."""
    assert parse_reply(b'{"failed": "ValueError:\\n\\u001b[31mno"}') == "failed: ValueError:  [31mno"
    assert str(parse_reply(b'{"skipped": "b"}')) == "skipped: b"


def test_paths_in_the_sandbox() -> None:
    """Keys of setup_cache are text of the suite: only their hash becomes a path."""
    assert suite_path("asv_bench/benchmarks") == "/workspace/repo/asv_bench/benchmarks"
    assert "/" not in cache_path("../../etc:3").removeprefix("/workspace/cache/")


class Spread(SimulatedContainer):
    """Uses `cores` cores all the time."""

    cores = 1.0

    def exec(self, *args: object, **kwargs: object) -> ExecResult:
        """See Container."""
        done = super().exec(*args, **kwargs)  # type: ignore[arg-type]
        return replace(done, cpu_s=self.cores * done.wall_s)


@pytest.mark.parametrize(("cores", "cpu", "tampered"), [(1.0, 0, False), (1.9, 0, True), (1.9, None, False)])
def test_a_launch_on_one_core_uses_one(cores: float, cpu: int | None, tampered: bool) -> None:
    """Who gets off it is faster by other means than its code; where nothing is pinned all cores are anybody's."""
    container = Spread(lambda _request: 0.1)
    container.cores = cores
    measurement = launch(
        container, Workload("m.time_x", "time"), CALIBRATING, Order("b", "agent:x", 0, cpu)
    ).measurement
    said = f"{TAMPERED}: it used 5.985 s of processor time in 3.150 s on one core"
    assert measurement.reason == (said if tampered else None)
