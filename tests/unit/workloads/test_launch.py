"""The reply of a launch is data to be checked."""

import json

import pytest

from datasmith.workloads.launch import TAMPERED, Reply, cache_path, parse_reply, suite_path

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
