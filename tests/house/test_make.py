"""`make test` runs every test once: side by side where that does no harm, else one by one."""

import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import IO

import pytest
from scripts.run_tests import (
    ALL_CORES,
    ENGINES,
    INTERRUPTED,
    MEASURED,
    PAIRED,
    SIEGE,
    TOGETHER,
    WITH_DEMO,
    Run,
    carried_out,
    counted,
    spent,
    steps,
    summed_up,
)

from tests.house.source import ROOT, modules_of_tests

MEASURES = re.compile(r"\bdef demo\b|\bdemo: |import .*\bmeasure\b|host_load|max-rounds|docker\"|dockerd|ray_cluster")
ALONE = re.compile(r"mark\.docker|\bdef demo\b|\bdemo: |datasmith\.workloads\.measure import .*\bmeasure\b|host_load")
"""What needs an engine of its own, or clocks a machine that does nothing else."""
DEMO = re.compile(r"\bdemo: Demo\b|getfixturevalue\(\"demo\"\)")
"""What is given the demo."""
CLOCKS = re.compile(r"\bdef demo\b|\bdemo: |workloads\.measure import|\"certify\"")
"""What must find the machine as quiet as it can be."""


def given(words: list[str], prefix: str = "") -> list[str]:
    """The paths among pytest's words."""
    return [word.removeprefix(prefix) for word in words if word.startswith(f"{prefix}tests")]


def test_each_test_is_in_exactly_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last run takes all tests but those that the others are given; options go to each."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: {3, 5})
    ((first, second), (docker,), (others,)), ((spread,),), ((demo, last), (measured, siege)) = steps(["-x"])
    lists = (TOGETHER, PAIRED, ENGINES, ALL_CORES, WITH_DEMO, MEASURED, SIEGE)
    assert tuple(tuple(given(run.words)) for run in (first, second, docker, spread, demo, measured, siege)) == lists
    assert [word.replace("not docker", "docker") for word in others.words] == docker.words != others.words
    named = [path for paths in lists for path in paths]
    assert given(last.words, "--ignore=") == named and given(last.words) == ["tests"]
    assert all((ROOT / path).exists() for path in named) and len(set(named)) == len(named)
    assert not [path for paths in lists[1:] for path in paths if path.startswith(TOGETHER)]
    every = (first, second, docker, others, spread, demo, last, measured, siege)
    assert {run.words[-1] for run in every} == {"-x"}
    assert {tuple(run.words[:2]) for run in every[2:]} == {("-n", "0")}
    assert [run.core for run in every] == [None, None, None, None, None, 5, 5, 3, 3]


def test_who_has_one_core_measures_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two measurements would be on the same one."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: {1})
    (lane,) = steps()[-1]
    assert [(run.core, tuple(given(run.words))) for run in lane] == [
        (1, WITH_DEMO), (1, ("tests",)), (1, MEASURED), (1, SIEGE),
    ]  # fmt: skip


def test_the_demo_is_made_once() -> None:
    """All that looks at it is in one run, and nothing that wants more cores than one is on a core of its own."""
    users = [module.name for module in modules_of_tests() if DEMO.search(module.text)]
    assert set(users) == set(WITH_DEMO)
    pinned = [module for module in modules_of_tests() if module.name in MEASURED]
    assert len(pinned) == len(MEASURED)
    assert not [module.name for module in pinned if re.search(r"ray_cluster|n-concurrent|\bbesiege\(", module.text)]


def test_what_has_the_engine_to_itself_reads_no_clock() -> None:
    """Nor has a cluster to itself: beside it all cores compute."""
    modules = [module for module in modules_of_tests() if module.name in ENGINES]
    assert not [module.name for module in modules if CLOCKS.search(module.text)]


def test_what_runs_in_pairs_reads_no_clock_and_needs_no_docker() -> None:
    """Nothing in it measures, needs the demo or an engine that others use."""
    paired = [module for module in modules_of_tests() if module.name in PAIRED]
    assert len(paired) == len(PAIRED)
    assert not [module.name for module in paired if MEASURES.search(module.text)]


def test_what_runs_side_by_side_disturbs_nobody() -> None:
    """No Docker engine, no demo and nothing that measures in a sandbox is among it."""
    beside = [module for module in modules_of_tests() if module.name.startswith(TOGETHER)]
    assert len(beside) > 100
    found = [module.name for module in beside if ALONE.search(module.text) and "test_make" not in module.name]
    simulated = [
        f"tests/unit/workloads/test_{name}.py" for name in ("fresh", "measure", "spared", "two_speeds", "watch")
    ]
    assert sorted(found) == simulated, "no clock is read there"


@pytest.mark.parametrize(
    ("suite", "line"),
    [
        ('<testsuite tests="9" failures="0" errors="0" skipped="2"/>', "7 passed, 2 skipped in 3.00s"),
        ('<testsuite tests="9" failures="1" errors="1" skipped="0"/>', "1 failed, 7 passed, 1 errors in 3.00s"),
        ('<testsuite tests="0" failures="0" errors="0" skipped="0"/>', "no tests ran in 3.00s"),
        ("", "no tests ran in 3.00s"),
    ],
)
def test_all_runs_are_summed_up(suite: str, line: str) -> None:
    """From the reports that pytest writes."""
    report = ET.fromstring(f"<testsuites>{suite}</testsuites>")
    assert summed_up(counted(report) + Counter(), 3.0) == line


def test_the_longest_modules_are_known() -> None:
    """Over all runs, a class counting as its module."""
    cases = ("tests.a", "1.5"), ("tests.b.TestB", "2"), ("tests.b", "1")
    reports = [
        ET.fromstring(f'<testsuites><testcase classname="{name}" time="{seconds}"/></testsuites>')
        for name, seconds in cases
    ]
    assert list(spent(reports).items()) == [("tests.b", 3.0), ("tests.a", 1.5)]


def test_lanes_run_beside_each_other_and_stop_when_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A lane's runs one after another; after one that was interrupted it begins no other, and the other lane ends."""
    begun = list[str]()

    def carry_out(run: Run, report: Path, printed: IO[bytes] | None) -> None:
        begun.append(run.words[0])
        report.write_text("<testsuites/>")
        if printed:
            printed.write(b"told ")
        run.code = INTERRUPTED if run.words[0] == "stopped" else 0

    monkeypatch.setattr(Run, "carry_out", carry_out)
    lanes = [[Run(["stopped"]), Run(["never"])], [Run(["one"]), Run(["two"])]]
    assert len(carried_out(lanes, tmp_path / "0")) == 3
    assert sorted(begun) == ["one", "stopped", "two"] and begun.index("one") < begun.index("two")
    assert capfdbinary.readouterr().out == b"told told "
    assert [run.code for lane in lanes for run in lane] == [INTERRUPTED, INTERRUPTED, 0, 0]
