"""What is held against a submission of what a launch said, and what merged code excuses."""

import json
from collections import deque
from collections.abc import Iterator
from datetime import date

import numpy as np
import pytest
from pydantic import JsonValue

from datasmith.workloads.captured import Capture, Merged, apart, unlike
from datasmith.workloads.inside import outline
from datasmith.workloads.inside.describe import Describer
from datasmith.workloads.inside.labels import SET_UP
from datasmith.workloads.outputs import Difference
from datasmith.workloads.set_up import is_plain, part_unlike

NOTHING = Capture(reason="timed out")


def said(output: int, **made: int) -> Capture:
    """A launch that computed this, of what set-up made."""
    records: list[JsonValue] = [[SET_UP + name, ["int", str(value)]] for name, value in made.items()]
    values, parts = apart([["returned value", ["int", str(output)]], *records])
    return Capture(values, parts=parts)


BASE = said(1, rows=20, place=1)
OTHER_PLACE = said(1, rows=20, place=2)
SMALLER = Difference(SET_UP + "rows", "20", "5")
NONE_SUCH = Difference(SET_UP + "rows", "20", "nothing")
OTHER_OUTPUT = Difference("returned value", "1", "2")
REFUSED = Difference("", "values", "timed out")


@pytest.mark.parametrize(
    ("found", "merged", "expected"),
    [
        (said(1, rows=20, place=1), Merged(), None),
        (said(1, rows=20, place=1, more=3), Merged(), None),
        (said(1, rows=5, place=1), Merged(), SMALLER),
        (said(1, place=1), Merged(), NONE_SUCH),
        (said(2, rows=5, place=1), Merged(), OTHER_OUTPUT),
        (NOTHING, Merged(), REFUSED),
        (said(1, rows=5, place=3), Merged((OTHER_PLACE,)), SMALLER),
        (said(1, rows=20, place=3), Merged((OTHER_PLACE,)), None),
        (said(1, rows=5, place=1), Merged((said(1, rows=7, place=1),)), None),
        (said(1, rows=5, place=1), Merged((said(1, place=1),)), None),
        (said(1, rows=5, place=1), Merged(expert=BASE), SMALLER),
        (said(1, rows=7, place=1), Merged(expert=said(1, rows=7, place=1)), None),
        (said(1, rows=20, place=1), Merged(expert=said(1, rows=7, place=1)), None),
        (said(1, rows=5, place=1), Merged(expert=said(1, rows=7, place=1)), SMALLER),
        (said(1, rows=5, place=1), Merged(expert=NOTHING), None),
        (said(2, rows=20, place=1), Merged(expert=said(3, rows=20, place=1)), None),
        (said(2, rows=5, place=1), Merged(expert=said(3, rows=20, place=1)), SMALLER),
        (said(2, rows=20, place=1), Merged((NOTHING,)), None),
        (NOTHING, Merged((BASE,), BASE), REFUSED),
        (NOTHING, Merged((said(3, rows=20, place=1),)), None),
        (NOTHING, Merged((NOTHING,)), None),
    ],
)
def test_what_is_held_against_a_capture(found: Capture, merged: Merged, expected: Difference | None) -> None:
    """Outputs as a whole; of what set-up made each part that base repeats, where it is not as the expert's either."""
    assert unlike(BASE, found, merged) == expected


def test_what_is_no_list_of_records_is_left_for_the_comparison() -> None:
    """Which refuses it."""
    assert apart({"values": 1}) == ({"values": 1}, {})
    assert apart([3, ["x"], [SET_UP, 1]]) == ([3, ["x"]], {SET_UP: 1})
    assert unlike(BASE, Capture(BASE.values, parts={SET_UP + "rows": "20", SET_UP + "place": 1}), Merged()) == (
        Difference(SET_UP + "rows", "a description", "malformed")
    )


class Rows:
    """A container of a library's."""

    def __init__(self, *rows: object) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[object]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class Thing:
    """Made of whatever it is given, in public and in private."""

    def __init__(self, **parts: object) -> None:
        vars(self).update(parts)


def told(value: object) -> JsonValue:
    node: JsonValue = json.loads(json.dumps(outline.told(Describer(7).node(value))))
    return node


MANY = [float(number) for number in range(3000)]
HONEST: dict[str, tuple[object, object]] = {
    "as it was": ({"a": [1.5, "x"]}, {"a": [1.5, "x"]}),
    "an attribute that is made later": (Thing(weights=[1, 2], n=2), Thing(n=2)),
    "one that is private now": (Thing(xs=[1, 2]), Thing(_xs=[1, 2], xs_kept=True)),
    "another class": (Thing(xs=[1, 2]), Rows(1, 2)),
    "a tuning constant": (Thing(_leaf=64, _rows=[1]), Thing(_leaf=8, _rows=[1])),
    "another order": (Thing(_index=[3, 1, 2]), Thing(_index=[1, 2, 3])),
    "a name with a counter": (Thing(name="node-10"), Thing(name="node-9")),
    "more": (Rows(1, 2), Rows(1, 2, 3)),
    "more, in other places": (Rows([1, 2], [1]), Rows([1], [1, 2], [1])),
    "less in private": (Thing(_xs=np.ones((20, 20))), Thing(_xs=np.ones((20, 10)))),
    "a table that is filled later": (Thing(_table=MANY), Thing(_table=[])),
    "large, and as it was": ([MANY[:20]] * 400, [MANY[:20]] * 400),
    "a list of things": ([Thing(xs=[1, 2])], [Thing(xs=[2, 1])]),
}
LESS: dict[str, tuple[object, object]] = {
    "a shorter list": ([1, 2], [1]),
    "other numbers": ([1.0, 2.0], [1.0, 0.0]),
    "a shorter array": (np.ones(20), np.ones(10)),
    "an array of zeros": (np.ones(20), np.zeros(20)),
    "fewer things": ([Thing(x=1), Thing(x=1)], [Thing(x=1)]),
    "fewer rows": (Rows(1, 2), Rows(1)),
    "many rows": (Rows(*MANY), Rows(*MANY[:-1])),
    "a smaller part": (Thing(xs=MANY), Thing(xs=MANY[:300])),
    "beyond what is told": ([MANY[:20]] * 400, [MANY[:10]] * 400),
    "rows beyond that": ([MANY[:9]] * 1000, [[0.0]]),
    "arrays beyond that": ([np.ones(1000)] * 40, [np.ones(1)] * 40),
    "objects beyond that": ([Thing(xs=MANY[:100])] * 90, [Thing(xs=MANY[:9])] * 90),
    "days": ([date(2026, 3, day) for day in (1, 2)], [date(2026, 3, 1)] * 2),
    "a queue": (deque([1, 2, 3]), deque([0, 0, 0])),
    "beside an object": ({"g": Thing(x=1), "w": np.ones(5)}, {"g": Thing(x=1), "w": np.zeros(5)}),
    "further in": ({"a": Thing(x={"b": Rows(1, 2)})}, {"a": Thing(x={"b": Rows(1)})}),
    "fewer keys": (Thing(table={1: 2, 2: 3}), Thing(table={1: 2})),
    "a smaller set": (Thing(kinds={1, 2}), Thing(kinds={1})),
}


@pytest.mark.parametrize("name", HONEST)
def test_what_a_librarys_objects_are_made_of_may_change(name: str) -> None:
    """An honest patch does that to make them faster."""
    ours, theirs = HONEST[name]
    assert part_unlike("x", told(ours), told(theirs)) is None


@pytest.mark.parametrize("name", LESS)
def test_less_of_an_input_is_seen(name: str) -> None:
    """And plain data is as it was."""
    ours, theirs = LESS[name]
    assert part_unlike("x", told(ours), told(theirs)) is not None
    assert part_unlike("x", told(ours), told(ours)) is None


@pytest.mark.parametrize("forged", ["x", ["object"], ["object", "unit.Thing", [["xs"]], False], ["seq", "", "many"]])
def test_what_is_no_description_is_refused_or_says_nothing(forged: JsonValue) -> None:
    """It ends nothing."""
    whole = told(Thing(xs=[1, 2]))
    found = part_unlike("x", whole, forged)
    assert found is None or found.found == "malformed"
    assert not is_plain(whole) and is_plain(told([1, np.ones(3)]))
