"""What a sandbox says about its suite is data to be checked."""

import json
from types import SimpleNamespace

import pytest

from datasmith.workloads.discover import MOST_WORKLOADS, Discovery, read_discovery
from datasmith.workloads.inside.discover import describe


def entry(**changes: object) -> dict[str, object]:
    return {
        "name": "m.time_f",
        "kind": "time",
        "params": [],
        "unit": "seconds",
        "timeout": None,
        "setup_cache_key": None,
        "number": 0,
        "repeat": 0,
        "warmup_time": -1,
        "sample_time": 0.01,
        **changes,
    }


def read(*entries: object, errors: object = ()) -> Discovery:
    return read_discovery(json.dumps({"benchmarks": entries, "errors": list(errors)}).encode())  # type: ignore[call-overload]


def test_parameters_are_unrolled_in_asv_s_order() -> None:
    """Case 21: the last parameter changes fastest, and names are asv's."""
    found = read(entry(name="time_f", params=[["100", "200"], ["'a'", "'b'"]]))
    assert [(workload.id, workload.index) for workload in found.workloads] == [
        ("time_f(100, 'a')", 0),
        ("time_f(100, 'b')", 1),
        ("time_f(200, 'a')", 2),
        ("time_f(200, 'b')", 3),
    ]


def test_attributes_of_a_benchmark_are_kept() -> None:
    """Number, repeat, times, the key of setup_cache."""
    attributes = {"number": 3, "repeat": 4, "warmup_time": 0.5, "sample_time": 0.02, "timeout": 7}
    (found,) = read(entry(setup_cache_key="m:12", **attributes)).workloads
    assert (found.number, found.repeat, found.warmup_s, found.sample_time_s) == (3, 4, 0.5, 0.02)
    assert (found.timeout_s, found.setup_cache_key) == (7.0, "m:12")


def test_a_benchmark_without_a_limit_gets_the_suite_s() -> None:
    """`default_benchmark_timeout` of the configuration."""
    said = json.dumps({"benchmarks": [entry()], "errors": []}).encode()
    assert read_discovery(said, default_timeout_s=180.0).workloads[0].timeout_s == 180.0


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "m.time_f; rm -rf /"},
        {"name": ""},
        {"name": 3},
        {"name": "time_" + "x" * 2000},
        {"kind": "other"},
        {"params": "abc"},
        {"params": [[1, 2]]},
        {"params": [["1"], []]},
        {"params": [["x"] * 150, ["y"] * 150]},
        {"params": [["1", "1"]]},
        {"params": [["x" * 1001]]},
    ],
    ids=lambda changes: str(changes)[:30],
)
def test_a_malformed_entry_is_refused_by_name(changes: dict[str, object]) -> None:
    """One bad entry does not hide the good one beside it."""
    found = read(entry(**changes), entry(name="m.time_good"))
    assert [workload.id for workload in found.workloads] == ["m.time_good"]
    assert len(found.refused) == 1


@pytest.mark.parametrize("value", [-1, 0, 1e9, float("nan"), float("inf"), "60", True, None, [1]])
def test_a_time_limit_that_is_none_is_not_believed(value: object) -> None:
    """What is no number of seconds up to an hour becomes the default."""
    assert read(entry(timeout=value)).workloads[0].timeout_s == 60.0


def test_a_name_given_twice_is_refused_the_second_time() -> None:
    """Ids of workloads are unique."""
    found = read(entry(), entry())
    assert len(found.workloads) == 1
    assert found.refused == (("m.time_f", "a second benchmark has this name"),)


def test_there_are_never_more_workloads_than_the_cap() -> None:
    """Many benchmarks with many parameters stop at 20,000 workloads; the rest is refused."""
    axes = [[str(value) for value in range(100)]] * 2
    found = read(*(entry(name=f"m.time_{number}", params=axes) for number in range(5)))
    assert len(found.workloads) == MOST_WORKLOADS
    assert len(found.refused) == 3


@pytest.mark.parametrize("said", [b"", b"[]", b"{}", b"{", b"[" * 100_000, b'{"benchmarks": 3}', b"\xff\xfe"])
def test_a_list_that_cannot_be_read_is_an_empty_suite_with_an_error(said: bytes) -> None:
    """Nothing found, and the reason why."""
    found = read_discovery(said)
    assert found.workloads == ()
    assert found.errors


def test_texts_are_made_printable() -> None:
    """A parameter's text with control characters or lone surrogates cannot reach a terminal or a database."""
    found = read(entry(params=[["a\x1b[31m\n", "\ud800"]]), errors=["x\x00y"])
    assert all(workload.id.isprintable() for workload in found.workloads)
    assert found.errors == ("x y",)


def test_a_parameter_of_megabytes_hides_no_other_workload() -> None:
    """Inside it is cut to what the host refuses by name, and the others arrive."""
    large = SimpleNamespace(name="m.time_large", params=[["x" * 5_000_000]], timeout=60.0)
    small = SimpleNamespace(name="m.time_small", params=[["a"]], timeout=60.0)
    rows = [{**describe(each), "kind": "time"} for each in (large, small)]
    said = json.dumps({"benchmarks": rows, "errors": []}).encode()
    assert len(said) < 5000
    found = read_discovery(said, 60.0)
    assert [workload.benchmark for workload in found.workloads] == ["m.time_small"]
    assert [name for name, _ in found.refused] == ["m.time_large"]
