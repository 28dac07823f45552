"""Containers of other classes, members of enumerations, buffers: what they hold is compared, and all of it counts."""

from __future__ import annotations

import json
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from enum import Enum, Flag, IntEnum
from functools import cached_property
from io import BytesIO, StringIO
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from pydantic import JsonValue

from datasmith.workloads.inside.attributes import attributes, by_item
from datasmith.workloads.inside.capture import Recorder
from datasmith.workloads.inside.describe import Describer
from datasmith.workloads.inside.labels import INSIDE
from datasmith.workloads.outputs import difference


class Colour(Enum):
    """Its class can be iterated over; a member cannot."""

    RED = 1
    BLUE = 2


class Right(Flag):
    """A member can, too."""

    READ = 1
    WRITE = 2


class Level(IntEnum):
    """An integer."""

    LOW = 1
    HIGH = 2


class Graph:
    """Goes over its nodes, and has a mapping for each."""

    def __init__(self, edges: dict[int, dict[int, float]]) -> None:
        self._edges = edges

    def __iter__(self) -> Iterator[int]:
        return iter(self._edges)

    def __len__(self) -> int:
        return len(self._edges)

    def __getitem__(self, node: int) -> dict[int, float]:
        return self._edges[node]


class Long:
    """Its text is not all of it, as of a geometry; it can be asked for that."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return f"<{self._text[:20]}...>"

    @property
    def text(self) -> str:
        """All of it."""
        return self._text

    @property
    def another(self) -> Long:
        """What is no plain value is not asked any further: nobody knows where that ends."""
        return Long(self._text + "!")


class Kinds(type):
    """What classes can do, their instances cannot."""

    def __iter__(cls) -> Iterator[object]:
        return iter(())

    def __len__(cls) -> int:
        return 0

    def __next__(cls) -> object:
        raise StopIteration


class Kind(metaclass=Kinds):
    """An instance of a class that can be iterated over."""

    def __init__(self, number: float) -> None:
        self.number = number


class Rows:
    """A sequence of its own."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[float]:
        return iter(self.numbers)


class Same:
    """Equal to no other, and described like all others."""

    size = 1


class Closed:
    """Shows what it has by what its class computes."""

    def __init__(self, number: float) -> None:
        self._number = number

    @property
    def number(self) -> float:
        """What it has."""
        return self._number

    @cached_property
    def double(self) -> float:
        """Twice that."""
        return 2.0 * self._number

    @property
    def none(self) -> float:
        """What cannot be asked for."""
        raise LookupError


class Endless:
    """Gives another one of its kind, which gives another one."""

    made = 0

    def __init__(self, number: int) -> None:
        Endless.made += 1
        self._number = number

    @property
    def number(self) -> int:
        """What it has."""
        return self._number

    @property
    def left(self) -> Endless:
        """Another one."""
        return Endless(self._number + 1)

    @property
    def right(self) -> Endless:
        """And another one."""
        return Endless(self._number - 1)


class Pair(NamedTuple):
    """A tuple of a class of its own."""

    number: int
    rest: object


LONG, VERY_LONG = range(3000), range(101_000)
NAN, OTHER_NAN = float("nan"), float("nan")
BY_KIND: dict[type, float] = {int: 1.0, str: 2.0, float: 3.0}


def captured(value: object, *, deep: bool = False) -> JsonValue:
    told: JsonValue = json.loads(json.dumps([["returned value", Describer(7, deep=deep).node(value)]]))
    return told


SAME: dict[str, tuple[object, object]] = {
    "keys described alike": (BY_KIND, dict(reversed(BY_KIND.items()))),
    "keys that are not numbers": ({NAN: 1, OTHER_NAN: 2}, {OTHER_NAN: 2, NAN: 1}),
    "keys of one look": ({Same(): 1, Same(): 2}, {Same(): 2, Same(): 1}),
    "sets of numbers near each other": ({10.0, 10.00015}, {10.00007, 9.99993}),
    "long counters": (Counter(LONG), Counter(reversed(LONG))),
    "an enumeration": (Colour.RED, Colour.RED),
    "rows": (Rows(1.0, 2.0), Rows(1.0, 2.0 + 1e-9)),
    "what a class computes": (Closed(1.0), Closed(1.0)),
}
COUNTED, LISTED = Counter("abca"), {"a": [1.0]}
AS_GOOD: dict[str, tuple[object, object]] = {
    "a counter": (dict(COUNTED), COUNTED),
    "a long counter": (dict(Counter(LONG)), Counter(LONG)),
    "an ordered one": (LISTED, OrderedDict(LISTED)),
    "one with a default": (LISTED, defaultdict(list, LISTED)),
}
"""What base gives, and what can do all that this can."""
UNLIKE: dict[str, tuple[object, object]] = {
    "keys described alike": (BY_KIND, {**BY_KIND, float: 4.0}),
    "a key more often": ({int: 1, str: 1, float: 2}, {int: 1, str: 2, float: 2}),
    "sets of numbers": ({10.0, 10.00015}, {10.0, 10.0004}),
    "members": (Colour.RED, Colour.BLUE),
    "flags": (Right.READ, Right.READ | Right.WRITE),
    "integers": (Level.LOW, Level.HIGH),
    "a member within": ([Colour.RED] * 9, [*[Colour.RED] * 8, Colour.BLUE]),
    "instances of a kind": (Kind(1.0), Kind(2.0)),
    "bytes": (BytesIO(b"right"), BytesIO(b"wrong")),
    "texts": (StringIO("right"), StringIO("wrong")),
    "the end of a deque": (deque(VERY_LONG), deque([*VERY_LONG[:-1], 7])),
    "how many rows": (Rows(*[0.0] * 100_500), Rows(*[0.0] * 100_600)),
    "the end of an array": (array("d", VERY_LONG), array("d", [*VERY_LONG[:-1], 7])),
    "the values of a mapping": (dict.fromkeys(LONG, 1).values(), {**dict.fromkeys(LONG, 1), 2999: 2}.values()),
    "what a class computes": (Closed(1.0), Closed(2.0)),
    "rows": (Rows(*[1.0] * 5000), Rows(*[1.0] * 4999, 2.0)),
    "a counter": (Counter(LONG), Counter([*LONG, 1501])),
    "an ordered mapping": (OrderedDict.fromkeys(LONG, 1), OrderedDict.fromkeys(range(1, 3001), 1)),
    "a named tuple": (Pair(1, [*LONG]), Pair(1, [*LONG[:-1], 7])),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_is_no_difference(name: str) -> None:
    """Neither to itself nor to what is as good."""
    value, other = SAME[name]
    assert difference(captured(value), captured(value)) is None
    assert difference(captured(value), captured(other)) is None


@pytest.mark.parametrize("name", UNLIKE)
def test_what_is_another_is_a_difference(name: str) -> None:
    """In both directions; to itself it is none."""
    value, other = UNLIKE[name]
    assert difference(captured(value), captured(value)) is None
    assert difference(captured(value), captured(other)) is not None
    assert difference(captured(other), captured(value)) is not None


@pytest.mark.parametrize("name", AS_GOOD)
def test_a_mapping_that_can_do_more_is_as_good_and_one_that_can_do_less_is_not(name: str) -> None:
    """It is equal to base's; who relies on what base's has besides would miss that in a plain one."""
    plain, more = AS_GOOD[name]
    assert difference(captured(plain), captured(more)) is None
    assert difference(captured(more), captured(plain)) is not None
    assert difference(captured(plain), captured(type("Counter", (dict,), {"__module__": "collections"})(plain)))


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (Graph({1: {2: 0.5}, 2: {}}), Graph({1: {2: 0.7}, 2: {}})),
        ([Graph({1: {2: 0.5}, 2: {}})], [Graph({1: {}, 2: {1: 0.5}})]),
        (Long("x" * 90 + "y"), Long("x" * 90 + "z")),
    ],
    ids=["the edges of a graph", "within a list", "what a text leaves out"],
)
def test_what_takes_long_to_see_is_compared_where_nothing_is_timed(value: object, other: object) -> None:
    """Elsewhere the nodes, and the text, have to do."""
    assert difference(captured(value, deep=True), captured(value, deep=True)) is None
    assert difference(captured(value, deep=True), captured(other, deep=True)) is not None
    assert difference(captured(value), captured(other)) is None


def test_what_is_computed_of_an_abridged_text_is_told_where_it_is_simple() -> None:
    """Else its own text would be told, which may be another one each time."""
    node = Describer(7, deep=True).node(Long("abc"))
    assert [name for name, _ in node[2]] == ["as text", "text"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [["a", "b"], [1, 0], [{}], []])
def test_only_what_has_mappings_under_its_items_is_asked_by_them(value: list[object]) -> None:
    """A sequence stays one."""
    assert by_item(value, list(value)) == {}


def test_members_of_compiled_classes_are_attributes() -> None:
    """As of extension types, which have no dictionary and no slots."""
    assert attributes(slice(1, 2)) == [("start", 1), ("step", None), ("stop", 2)]


GROWN: list[tuple[dict[str, object], list[str]]] = [
    ({"y": 2}, ["self.value" + INSIDE]),
    ({"x": 2.0}, ["self.value"]),
    ({"x": 2.0, "y": 2}, ["self.value"]),
    ({"_cache": {}}, []),
]


@pytest.mark.parametrize(("grown", "labels"), GROWN)
def test_an_attribute_that_a_call_adds_is_a_cache(grown: dict[str, object], labels: list[str]) -> None:
    """What base's does not add is not held against a patch; what was there before has to stay as it was."""
    recorder, value = Recorder(Describer(7)), SimpleNamespace(x=1.0)
    before = recorder.state(SimpleNamespace(value=value), ())
    vars(value).update(grown)
    recorder.changes(before, recorder.state(SimpleNamespace(value=value), ()))
    assert [record[0] for record in recorder.records if isinstance(record, list)] == labels


def test_objects_that_give_others_come_to_an_end() -> None:
    """What is computed of what was computed is not asked for."""
    Endless.made = 0
    node = Describer(7, thorough=True).node([Endless(1), Endless(2)])
    assert Endless.made == 6 and difference(captured(Endless(1)), captured(Endless(2))) is not None
    assert json.dumps(node).count("left") == 2


def test_which_of_many_values_are_looked_at_cannot_be_foreseen() -> None:
    """All of the first hundred; of those after them a few, others with another seed and in another call."""

    def looked_at(recorder: Recorder) -> list[int]:
        for value in range(1, 3001):
            recorder.keep(1, (value,))
        told = [record[1] for record in recorder.finish() if isinstance(record, list) and record[0] == "line 1"]
        return [int(node[4][0][1]) for node in told]

    first, again, other = (Recorder(Describer(seed)) for seed in (7, 7, 8))
    seen = looked_at(first)
    assert seen[:100] == [*range(1, 101)] and 3 <= len(seen) - 100 <= 20
    assert looked_at(again) == seen != looked_at(other)
    first.look_anew(tells=True)
    assert looked_at(first) != seen


def test_small_containers_have_no_tally_each() -> None:
    """Of what is beyond the budget nothing is said; a tally is longer than most of them."""
    pairs = [Pair(number, f"{'x' * 300}{number}") for number in range(900)]
    assert json.dumps(Describer(7).node([pairs] * 20)).count("tally") == 1
