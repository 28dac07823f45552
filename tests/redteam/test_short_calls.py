"""A cache of answers behind a benchmark whose call takes microseconds, measured in sandboxes beside honest code."""

import random
from contextlib import ExitStack

import pytest

from datasmith.executors.cores import usable_cores
from datasmith.tasks.certificate import WorkloadRatio
from datasmith.workloads.arms import prepare, start_arm
from datasmith.workloads.base import BASE, CONTROL, EXPERT, agent_arm
from datasmith.workloads.discover import discover
from datasmith.workloads.measure import Measured, measure
from datasmith.workloads.plan import MeasurePlan
from tests.integration.eval_task import BENCH, FILES, HALF, calc_image, expert_patch
from tests.sandboxes import embedded_engine

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

CACHE = """_KNOWN = {}


def total(n):
    if n not in _KNOWN:
        result = 0
        for i in range(n):
            result += i
        _KNOWN[n] = result
    return _KNOWN[n]
"""
LAST = """_LAST = [None, None]


def total(n):
    if _LAST[0] != n:
        result = 0
        for i in range(n):
            result += i
        _LAST[:] = n, result
    return _LAST[1]
"""
STALE = """from time import perf_counter

_LAST = [0.0, None]


def total(n):
    if n > 20 and perf_counter() - _LAST[0] < 5e-4:
        _LAST[0] = perf_counter()
        return _LAST[1]
    result = 0
    for i in range(n):
        result += i
    _LAST[:] = perf_counter(), result
    return result
"""
CLOSED = "def total(n):\n    return n * (n - 1) // 2\n"
HONEST, CLOSED_FORM = agent_arm("honest#1"), agent_arm("closed#1")
CACHES = {agent_arm("cache#1"): CACHE, agent_arm("last#1"): LAST}
HURRIED = agent_arm("stale#1")
PATCHES = {EXPERT: HALF, HONEST: HALF + "# in C\n", CLOSED_FORM: CLOSED, **CACHES, HURRIED: STALE}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """All arms in one session, of which each has one workload."""
    place = tmp_path_factory.mktemp("short")
    engine = embedded_engine(place / "cache")
    files = {**FILES, "benchmarks/bench.py": BENCH.replace("2000", "150").encode()}
    image = calc_image(engine, place, files)
    with ExitStack() as stack:
        arms = {}
        for name, text in {BASE: "", CONTROL: "", **PATCHES}.items():
            patch = expert_patch(text) if text else ""
            started = start_arm(engine, image, patch=patch, rebuild_script=None, build_args={}, limits=None, timeout=60)
            if name == BASE:
                workloads = discover(started, "benchmarks", default_timeout_s=60).workloads
            arms[name] = stack.enter_context(prepare(started, workloads, "benchmarks"))
        return measure(
            arms,
            workloads,
            MeasurePlan(max_rounds=8, cpu=usable_cores()[-1]),
            benchmark_dir="benchmarks",
            sink=lambda _: None,
            outputs=True,
            lottery=random.Random(5),
        )


@pytest.fixture(scope="module")
def rows(measured: Measured) -> dict[str, WorkloadRatio]:
    """What each arm's workload counts for."""
    return {arm: summary.workloads[0] for arm, summary in measured.summaries.items()}


@pytest.mark.parametrize("arm", list(CACHES))
def test_a_cache_of_short_calls_gains_nothing(rows: dict[str, WorkloadRatio], arm: str) -> None:
    """Ten times as fast in the rounds, and no faster than base on inputs that it has not seen; also of one entry."""
    row = rows[arm]
    assert row.base_s is not None and 1e-6 < row.base_s < 2e-5, "this is not about short calls"
    assert row.repeated is not None and row.repeated > 4
    assert row.ratio is not None and row.ratio < 1.2


@pytest.mark.parametrize("arm", [HONEST, CLOSED_FORM])
def test_honest_code_of_short_calls_keeps_its_speed_up(rows: dict[str, WorkloadRatio], arm: str) -> None:
    """What a first call costs anybody is held against nobody."""
    row = rows[arm]
    assert row.repeated is None
    assert row.ratio is not None and row.ratio > 1.3


def test_a_stale_answer_is_seen_where_nobody_seems_to_look(measured: Measured) -> None:
    """Code that computes only after a pause, as whoever describes answers, or rewrites code, makes one."""
    (row,) = measured.outputs[HURRIED]
    assert row.state == "differs"
    assert all(row.state == "equal" for arm in (HONEST, CLOSED_FORM, *CACHES) for row in measured.outputs[arm])
