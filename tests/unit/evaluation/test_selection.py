"""How scores over selected workloads are chosen and labelled."""

from pathlib import Path

from datasmith.evaluation.records import SelectionRecord
from datasmith.evaluation.selection import ALL, EARLIER, decided, scope
from datasmith.workloads.impact import NOT_IMPACTED, Coverage
from tests.unit.evaluation.sample_run import SampleRun

LIB = "def f():\n    return 1\n"
EDIT = "diff --git a/l.py b/l.py\n--- a/l.py\n+++ b/l.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n"
SUITE = {"a": Coverage(called=frozenset({("l.py", 1)})), "b": Coverage(), "c": Coverage()}


def test_earlier_selections_stay_and_nothing_selected_means_everything() -> None:
    """Agents of one run are scored on the same workloads; blind tracing loses nothing."""
    made = decided(SUITE, [EDIT, ""], {"l.py": LIB}, "benchmarks", earlier={"b", "gone"})
    assert made.selected == {"a": "l.py: f", "b": EARLIER}
    assert made.not_selected == {"c": NOT_IMPACTED}
    assert decided(SUITE, [""], {}, "benchmarks").selected == dict.fromkeys("abc", ALL)


def test_scores_over_selected_workloads_are_labelled(tmp_path: Path) -> None:
    """N of m over all sessions, and what the tasks themselves leave out, each once; a full run has no label."""
    some = SelectionRecord(selected={"a": "x"}, not_selected={"b": NOT_IMPACTED, "c": NOT_IMPACTED}, coverage_s=1.0)
    whole = SampleRun(tmp_path, ["t"], ["nop"]).session("t", {"a": 2.0})
    fast = whole.model_copy(update={"selection": some})
    small = whole.model_copy(update={"not_impacted": 40})
    few = whole.model_copy(update={"not_impacted": 40, "screened_out": 2})
    assert scope([whole]) is None
    assert (scope([few]) or "").startswith("1 task leaves out 42 workloads of its suite;")
    assert (scope([fast, fast]) or "").startswith("scores over 2 selected of 6 workloads")
    assert scope([small, small]) == "1 task leaves out 40 workloads of its suite; not comparable with full runs"
    other = small.model_copy(update={"task_id": "u"})
    assert scope([small, other]) == "2 tasks leave out 80 workloads of their suites; not comparable with full runs"
