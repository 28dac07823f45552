"""What is held against a submission of what a launch said, and what witnesses excuse."""

import pytest
from pydantic import JsonValue

from datasmith.workloads.captured import Capture, apart, set_up_unlike, unlike
from datasmith.workloads.inside.capture import SET_UP
from datasmith.workloads.outputs import Difference

NOTHING = Capture(reason="timed out")


def said(output: int, **made: int) -> Capture:
    """A launch that computed this, of what set-up made."""
    records: list[JsonValue] = [[SET_UP + name, ["int", str(value)]] for name, value in made.items()]
    values, set_up = apart([["returned value", ["int", str(output)]], *records])
    return Capture(values, set_up=set_up)


BASE = said(1, rows=20, place=1)
OTHER_PLACE = said(1, rows=20, place=2)
SMALLER = Difference(SET_UP + "rows", "20", "5")
NONE_SUCH = Difference(SET_UP + "rows", "20", "nothing")
OTHER_OUTPUT = Difference("returned value", "1", "2")
REFUSED = Difference("", "values", "timed out")


@pytest.mark.parametrize(
    ("found", "witnesses", "expected"),
    [
        (said(1, rows=20, place=1), (), None),
        (said(1, rows=20, place=1, more=3), (), None),
        (said(1, rows=5, place=1), (), SMALLER),
        (said(1, place=1), (), NONE_SUCH),
        (said(2, rows=5, place=1), (), OTHER_OUTPUT),
        (NOTHING, (), REFUSED),
        (said(1, rows=5, place=3), (OTHER_PLACE,), SMALLER),
        (said(1, rows=20, place=3), (OTHER_PLACE,), None),
        (said(1, rows=5, place=1), (said(1, rows=7, place=1),), None),
        (said(1, rows=5, place=1), (said(1, place=1),), None),
        (said(2, rows=20, place=1), (said(3, rows=20, place=1),), None),
        (said(2, rows=5, place=1), (said(3, rows=20, place=1),), SMALLER),
        (said(2, rows=20, place=1), (NOTHING,), None),
        (said(2, rows=5, place=1), (NOTHING,), SMALLER),
        (NOTHING, (OTHER_PLACE,), REFUSED),
        (NOTHING, (said(3, rows=20, place=1),), None),
        (NOTHING, (NOTHING,), None),
    ],
)
def test_what_is_held_against_a_capture(
    found: Capture, witnesses: tuple[Capture, ...], expected: Difference | None
) -> None:
    """Outputs as a whole, of what set-up made each part: none that a witness does not repeat."""
    assert unlike(BASE, found, witnesses) == expected


def test_what_is_no_list_of_records_is_left_for_the_comparison() -> None:
    """Which refuses it."""
    assert apart({"values": 1}) == ({"values": 1}, {})
    assert apart([3, ["x"], [SET_UP, 1]]) == ([3, ["x"]], {SET_UP: 1})
    assert set_up_unlike(BASE, Capture(set_up={SET_UP + "rows": "20", SET_UP + "place": 1})) == Difference(
        SET_UP + "rows", "20", "malformed"
    )
