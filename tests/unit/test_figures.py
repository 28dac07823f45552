"""What the end of a run shows of its tests."""

from typing import Literal

import pytest

from tests.support.figures import MARK, counted, printed, pytest_collection_modifyitems


def report(
    name: str,
    when: Literal["setup", "call", "teardown"],
    outcome: Literal["passed", "failed", "skipped"],
    text: str = "",
) -> pytest.TestReport:
    """Of a test that counts for `links`; the text is what it printed by then."""
    sections = [("Captured stdout call", text)] if text else []
    where = (name, 1, name)
    return pytest.TestReport(name, where, {}, outcome, None, when, sections, user_properties=[(MARK, "links")])


def test_what_failed_at_any_time_has_not_held() -> None:
    """Once a test, also where it fails twice; what was skipped counts for nothing."""
    reports = [
        report("a", "setup", "passed"), report("a", "call", "passed"), report("a", "teardown", "passed"),
        report("b", "call", "passed"), report("b", "teardown", "failed"),
        report("c", "setup", "failed"),
        report("d", "call", "failed"), report("d", "teardown", "failed"),
        report("e", "setup", "skipped"), report("f", "call", "skipped"),
    ]  # fmt: skip
    assert list(counted(reports)) == ["links: 1 of 4 held"]
    assert list(counted([])) == []
    crashed = pytest.TestReport("g", ("g", None, "g"), {}, "failed", "died", "???", ())  # type: ignore[arg-type]
    assert list(counted([*reports, crashed])) == ["crashed, and counted nowhere: 1", "links: 1 of 4 held"]


@pytest.mark.parametrize(("outcome", "held"), [("passed", 4), ("failed", 1)])
def test_a_test_of_several_things_counts_for_each(outcome: Literal["passed", "failed"], held: int) -> None:
    """All of them hold or none does; what it counts for comes from its mark."""
    several, one = report("a", "call", outcome), report("b", "call", "passed")
    several.user_properties *= 3
    assert list(counted([several, one])) == [f"links: {held} of 4 held"]


def test_a_mark_says_how_often_a_test_counts(request: pytest.FixtureRequest) -> None:
    """Once where it says nothing."""
    for args, times in ((("links",), 1), (("links", 3), 3)):
        item = pytest.Function.from_parent(request.node.parent, name="test_x", callobj=lambda: None)
        item.add_marker(pytest.mark.figure(*args))
        pytest_collection_modifyitems([item])
        assert item.user_properties == [(MARK, "links")] * times


def test_figures_are_what_tests_of_faults_print() -> None:
    """Each line once, though the reports that follow hold it, too."""
    name, text = "tests/faults/test_x.py::test_y", "x: 3 of 3\n\n"
    reports = [report(name, "call", "passed", text), report(name, "teardown", "passed", text)]
    assert list(printed([*reports, report("tests/unit/test_z.py::test_z", "call", "passed", "debris\n")])) == [
        "x: 3 of 3"
    ]
