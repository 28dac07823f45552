"""Geometry of the plots."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from datasmith.evaluation.forest import NARROW, TICK_GAP, Absent, Dot, Forest, Group, layout, layouts

positive = st.floats(min_value=1e-6, max_value=1e6)


@given(st.lists(st.tuples(positive, positive, positive), min_size=1, max_size=6))
def test_everything_drawn_lies_inside_the_plot(rows: list[tuple[float, float, float]]) -> None:
    """Whatever the ratios: no mark leaves the axis, order is kept, and 1 is always labelled."""
    groups = [
        Group(f"w{index}", (Dot(0, "x", ratio, min(ratio, low), max(ratio, high)),))
        for index, (ratio, low, high) in enumerate(rows)
    ]
    for plot in layouts(groups):
        _is_whole(plot)


def _is_whole(plot: Forest) -> None:
    marks = [mark for row in plot.rows for mark in row.marks]
    for mark in marks:
        assert plot.shape.plot_left <= mark.left <= mark.x <= mark.right <= plot.shape.plot_right
        assert 0 < mark.y < plot.height
    by_ratio = sorted(marks, key=lambda mark: mark.dot.ratio)
    assert [mark.x for mark in by_ratio] == sorted(mark.x for mark in marks)
    assert sum(tick.is_one for tick in plot.ticks) == 1
    places = [tick.x for tick in plot.ticks]
    assert all(right - left >= TICK_GAP for left, right in itertools.pairwise(places))


def test_a_long_name_is_cut_and_kept_as_a_title() -> None:
    """The plot shows the beginning; the whole name is there to read."""
    row = layout([Group("w" * 200, (Dot(0, "x", 1.0, None, None),))]).rows[0]
    assert len(row.label) < 60
    assert row.title == "w" * 200


def test_on_a_phone_a_name_stands_above_its_dots() -> None:
    """Beside them there would be no room for the axis and the figures."""
    dots = tuple(Dot(number, "x", 1.0 + number, None, None) for number in range(3))
    for row in layout([Group("first", dots), Group("second", dots)], NARROW).rows:
        assert row.top < row.y < row.y + 8 < min(mark.y for mark in row.marks)
        assert max(mark.y for mark in row.marks) < row.top + row.height


def test_what_has_no_estimate_has_a_row_below_those_that_have() -> None:
    """Also where nothing else is there; the axis does not know of it."""
    absent = (Absent(1, "a", "failed tests"), Absent(2, "b", "no patch"))
    with_dot, alone = layout([Group("x", (Dot(0, "x", 1.0, None, None),), absent), Group("y", (), absent)]).rows
    for row in (with_dot, alone):
        rows = [*(mark.y for mark in row.marks), *(gap.y for gap in row.gaps)]
        assert rows == sorted(set(rows)) and row.top < rows[0] and rows[-1] < row.top + row.height
        assert [gap.absent for gap in row.gaps] == list(absent)
