"""Which workloads a screening leaves, by glances whose truth is known."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from datasmith.docker.seal import SealReport
from datasmith.docker.verifiers import TestReport
from datasmith.errors import MeasurementFailed
from datasmith.runners.order import Verified
from datasmith.runners.screening import AGAIN, nearest_first, screen, screened, write_glances
from datasmith.workloads.base import Workload
from datasmith.workloads.glance import LONGEST_S, Glance

REPORT = TestReport({"tests.test_a::one": "passed"}, 0, False, 1.0, "")
TRUTH = {"slower": 0.8, "same": 1.0, "faster": 1.5, "a little": 1.1}


def glances(ratios: dict[str, float]) -> list[Glance]:
    return [Glance(name, ratio, 1.0) for name, ratio in ratios.items()]


def left(seen: list[Glance], most: int) -> Verified:
    workloads = tuple(Workload(glance.workload, "time") for glance in seen)
    return screened(Verified(workloads, REPORT, REPORT, seal=SealReport((), ()), not_impacted=7), seen, most)


def names(verified: Verified) -> list[str]:
    return [workload.id for workload in verified.workloads]


@pytest.mark.parametrize(
    ("most", "expected"),
    [(1, ["faster"]), (2, ["slower", "faster"]), (3, ["slower", "faster", "a little"]), (9, list(TRUTH))],
)
def test_the_largest_effects_stay_in_the_suites_order(most: int, expected: list[str]) -> None:
    """Slower or faster alike; what is left out is counted, beside what the patch cannot touch."""
    found = left(glances(TRUTH), most)
    assert names(found) == expected
    assert (found.screened_out, found.not_impacted) == (len(TRUTH) - len(expected), 7)


def test_what_only_the_patch_fails_comes_first_and_what_base_fails_is_left_out() -> None:
    """The first is a finding about the patch, the second says nothing about it; nor does what both are too slow for."""
    nothing = [Glance("never", None, 1.0), Glance("slow", LONGEST_S, LONGEST_S), Glance("slower", LONGEST_S, None)]
    seen = [*nothing, *glances({"same": 1.0, "faster": 1.5}), Glance("broken", 1.0, None)]
    assert names(left(seen, 1)) == ["broken"]
    assert names(left(seen, 2)) == ["faster", "broken"]
    assert names(left(seen, 3)) == ["same", "faster", "broken"]
    assert names(left(seen, 5)) == ["same", "faster", "broken"]
    assert (left(seen, 5).screened_out, left(seen, 1).unseen) == (len(nothing), len(nothing))


def test_a_screening_that_saw_nothing_leaves_nothing() -> None:
    """Else the first names of the alphabet would make a task."""
    with pytest.raises(MeasurementFailed, match="a screening saw nothing: not done after 5 s"):
        left([Glance("a", None, None), Glance("b", LONGEST_S, LONGEST_S, "not done after 5 s")], 1)


def test_what_comes_first_is_looked_at_again() -> None:
    """What only seemed slow once is not measured for that; what never came first is not looked at again."""
    names = [f"m.time_{number:02}" for number in range(10)]
    luck = {"m.time_07": 3.0, "m.time_03": 1.2}
    looked: list[list[str]] = []

    def look(workloads: Sequence[Workload], _enough: Callable[[], bool]) -> list[Glance]:
        looked.append([workload.id for workload in workloads])
        first = len(looked) == 1
        return [
            Glance(one.id, luck.get(one.id, 1.0) if first or one.id == "m.time_03" else 1.0, 1.0) for one in workloads
        ]

    seen = screen(look, [Workload(name, "time") for name in names], 1)
    assert sorted(glance.workload for glance in seen) == names
    assert [len(each) for each in looked] == [10, AGAIN, AGAIN]
    assert {"m.time_03", "m.time_07"} <= set(looked[1])
    effects = {glance.workload: glance.effect for glance in seen}
    assert effects["m.time_07"] == 0.0
    assert effects["m.time_03"] == pytest.approx(math.log(1.2))


def test_what_was_looked_at_again_comes_before_what_was_not() -> None:
    """There was no time for all: those that came first are looked at again in that order; the others had luck."""
    looked: list[list[str]] = []

    def look(workloads: Sequence[Workload], _enough: Callable[[], bool]) -> list[Glance]:
        looked.append([workload.id for workload in workloads])
        within = workloads if len(looked) == 1 else workloads[:3]
        return [Glance(one.id, 1.0 + int(one.id[-1]) / 10 if len(looked) == 1 else 1.01, 1.0) for one in within]

    seen = screen(look, [Workload(f"m.time_{number}", "time") for number in range(10)], 2)
    assert looked[1][:3] == ["m.time_9", "m.time_8", "m.time_7"]
    assert sorted(glance.workload for glance in seen if glance.times > 1) == ["m.time_7", "m.time_8", "m.time_9"]
    assert set(names(left(seen, 2))) < {"m.time_7", "m.time_8", "m.time_9"}


def test_there_is_no_second_look_at_what_nothing_was_seen_of() -> None:
    """Twenty workloads that take minutes would be waited for again, and again."""
    looked: list[list[str]] = []

    def look(workloads: Sequence[Workload], _enough: Callable[[], bool]) -> list[Glance]:
        looked.append([workload.id for workload in workloads])
        return [Glance(one.id, LONGEST_S if one.id == "m.slow" else 1.0, LONGEST_S) for one in workloads]

    screen(look, [Workload("m.quick", "time"), Workload("m.slow", "time")], 2)
    assert [sorted(names) for names in looked] == [["m.quick", "m.slow"], ["m.quick"], ["m.quick"]]


PATCH = """diff --git a/lib/indexing.py b/lib/indexing.py
--- a/lib/indexing.py
+++ b/lib/indexing.py
@@ -10,3 +10,3 @@ class OuterIndexer:
-    def read_netcdf(self):
+    def read_netcdf(self, fast=True):
+        return not fast
"""


def test_what_the_patch_speaks_of_is_looked_at_first() -> None:
    """Words that all names have say nothing; the order of the others is drawn, and the same each time."""
    spoken = ["indexing.Indexing.time_outer_read", "dataset_io.IOReadSingle.time_load_netcdf"]
    others = ["combine.Combine.time_not_for_import", *(f"combine.Combine.time_concat_{number}" for number in range(30))]
    workloads = [Workload(name, "time") for name in (*others, *spoken)]
    ordered = [workload.id for workload in nearest_first(workloads, PATCH)]
    assert set(ordered[:2]) == set(spoken)
    assert sorted(ordered) == sorted((*others, *spoken))
    assert ordered[2:] != others
    assert ordered == [workload.id for workload in nearest_first(workloads, PATCH)]
    assert ordered[2:] != [workload.id for workload in nearest_first(workloads, PATCH + "+x\n")][2:]


@pytest.mark.parametrize(("second_s", "looked", "again"), [(1.0, 100, 2), (10.0, 60, 1), (50.0, 12, 1)])
def test_a_screening_takes_no_longer_than_it_may(second_s: float, looked: int, again: int) -> None:
    """Three fifths of its time for the first look at each; what that does not suffice for is left out."""
    passed_s = [0.0]
    asked: list[int] = []

    def look(workloads: Sequence[Workload], enough: Callable[[], bool]) -> list[Glance]:
        seen: list[Glance] = []
        for workload in workloads:
            if enough():
                break
            passed_s[0] += second_s
            seen.append(Glance(workload.id, 1.0, 1.0))
        asked.append(len(seen))
        return seen

    workloads = [Workload(f"m.time_{number}", "time") for number in range(100)]
    seen = screen(look, workloads, 20, budget_s=1000.0 - 1e-9, clock=lambda: passed_s[0])
    assert (len(seen), len(asked)) == (looked, 1 + again)
    assert left(seen, 20).screened_out == looked - min(20, looked)


def test_what_was_seen_is_kept(tmp_path: Path) -> None:
    """Who doubts what was left out finds the times; a failure is no number."""
    kept = tmp_path / "measurements" / "task.screening.jsonl"
    write_glances(kept, [Glance("m.time_x", 2.0, 1.0), Glance("m.time_y", 1.0, None, "raised")])
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    assert rows == [
        {"workload": "m.time_x", "base": 2.0, "other": 1.0, "reason": None, "times": 1},
        {"workload": "m.time_y", "base": 1.0, "other": None, "reason": "raised", "times": 1},
    ]
