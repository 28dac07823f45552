"""What asv left behind, read as untrusted data."""

import gzip
import io
import json
import os
import tarfile

import pytest

from datasmith.workloads.asv_results import in_archive, in_file, printed

OUTPUT = """· Discovering benchmarks
[  0.00%] ·· Benchmarking existing-py_opt_env_bin_python
[ 16.67%] ··· bench.TimeSuite.time_keys                        14.2±0.3μs
[ 33.33%] ··· bench.time_slow                                       1.23s
[ 50.00%] ··· bench.track_size                                        42
[ 66.67%] ··· bench.mem_list                                        1.5k
[ 83.33%] ··· bench.time_broken                                    failed
[ 90.00%] ··· bench.time_skipped                                      n/a
[100.00%] ··· bench.time_table                                         ok
"""


def test_lines_with_a_result_are_counted() -> None:
    """Failed and skipped benchmarks have no result; nor has the head of a table."""
    assert printed(OUTPUT) == {"bench.TimeSuite.time_keys", "bench.time_slow", "bench.track_size", "bench.mem_list"}
    assert not printed("12 passed\nbench.time_a 1.2s\n")


@pytest.mark.parametrize(
    ("result", "measured"),
    [
        ([[0.1], []], True),
        ([[None, 2], [["1", "2"]]], True),
        ([[None], []], False),
        ([None], False),
        ([], False),
        (0.5, True),
        ({"result": [0.5]}, True),
        (True, False),
        ("0.5", False),
        (float("nan"), False),
    ],
)
def test_a_result_holds_a_number(result: object, measured: bool) -> None:
    """Of both versions of asv's files; null, NaN and text are no results."""
    text = json.dumps({"version": 2, "results": {"bench.time_a": result}}).encode()
    assert in_file(text) == ({"bench.time_a"} if measured else set())


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b'{"results": 1}', b'{"results": {"a b": 1}}', b"[" * 100_000])
def test_other_files_hold_none(text: bytes) -> None:
    """What is no result file is not an error either."""
    assert not in_file(text)


def archive(*texts: bytes) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as tar:
        for number, text in enumerate(texts):
            member = tarfile.TarInfo(f"results/m/{number}.json")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    return target.getvalue()


def test_an_archive_is_read_as_far_as_it_goes() -> None:
    """All files count; a cut or damaged archive gives what comes before, and never an error."""
    whole = archive(b'{"results": {"a.time_x": 1}}', b'{"results": {"a.time_y": [[2.5]]}}', b"junk")
    assert in_archive(whole) == {"a.time_x", "a.time_y"}
    assert in_archive(whole[: len(whole) // 2]) <= {"a.time_x", "a.time_y"}
    assert not in_archive(b"") and not in_archive(os.urandom(100)) and not in_archive(gzip.compress(b"no tar"))
