"""What a description must not lose, and what it must not run: moments, units, large numbers, budgets, orders."""

import decimal
import json
import random
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import PurePosixPath
from types import ModuleType

import numpy as np
import pytest

from datasmith.workloads.inside import describe, foreign
from datasmith.workloads.inside.describe import Describer
from datasmith.workloads.inside.foreign import is_static
from datasmith.workloads.inside.tally import MOST_SEEN, Left, Spent, Tally, opened_each
from datasmith.workloads.outputs import difference

NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)
EAST = timezone(timedelta(hours=5))
LARGE = 10**5000
"""More digits than Python writes down."""
MANY = [i + 0.5 for i in range(2000)]
BY_TWO = {(i, j): float((i * j) % 97) + 0.5 for i in range(150) for j in range(200)}
"""By two numbers each."""


class Shown:
    """Something that is told by its text only."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __repr__(self) -> str:
        return f"Shown({self._number})"


class Day(date):
    """Hides which day it is."""

    def __str__(self) -> str:
        return "a day"


class Stamp(datetime):
    """A moment with a part of its own."""

    nanoseconds = 0


def stamp(nanoseconds: int) -> Stamp:
    made = Stamp(2020, 1, 1)
    made.nanoseconds = nanoseconds
    return made


def captured(value: object, seed: int = 7) -> object:
    """What a sandbox sends of one value."""
    return json.loads(json.dumps([["returned value", Describer(seed).node(value)]]))


def differ(expected: object, found: object, seed: int = 7) -> bool:
    return difference(captured(expected, seed), captured(found, seed)) is not None  # type: ignore[arg-type]


def told(value: object) -> list[object]:
    """The tally of a value."""
    tally = Tally(Left())
    tally.add(value)
    return tally.node()


UNLIKE: dict[str, tuple[object, object]] = {
    "a zone in a set": ({NOON}, {NOON.replace(tzinfo=EAST)}),
    "a unit in a set": ({np.timedelta64(5, "ns")}, {np.timedelta64(5, "ps")}),
    "a time and a moment in a set": ({np.timedelta64(5, "ns")}, {np.datetime64(5, "ns")}),
    "a time and a number in a set": ({np.timedelta64(5, "ns")}, {5}),
    "a decimal and a text in a set": ({Decimal("1")}, {"['1']"}),
    "a day that hides": (Day(2020, 1, 1), Day(1999, 9, 9)),
    "a part of a moment's own": (stamp(1), stamp(999)),
    "a large integer of many": ([LARGE] * 2000, [LARGE] * 1999 + [LARGE + 1]),
    "a large integer of many keys": (
        {**dict.fromkeys(MANY, 1), 7.5: LARGE},
        {**dict.fromkeys(MANY, 1), 7.5: LARGE + 1},
    ),
    "a large integer of a large set": ({LARGE, *range(2000)}, {LARGE + 1, *range(2000)}),
    "one integer of a large set": (set(range(0, 40_000, 20)), {*range(0, 39_980, 20), 39_981}),
    "one text of a large set": ({*range(2000), "a", "b"}, {*range(2000), "a", "c"}),
}
TALLIED_APART: dict[str, tuple[object, object]] = {
    "zones": ([NOON], [NOON.replace(tzinfo=EAST)]),
    "classes of moments": ([date(2020, 1, 1)], [Decimal(1)]),
    "decimals and texts": ([Decimal(1)], ["('1',)"]),
    "units": ([np.timedelta64(5, "ns")], [np.timedelta64(5, "ps")]),
    "times and moments of numpy": ([np.timedelta64(5, "ns")], [np.datetime64(5, "ns")]),
    "times and numbers": ([np.timedelta64(5, "ns")], [5]),
    "long floats": ([np.longdouble(1.5)], [np.longdouble(2.5)]),
    "long complex numbers": ([np.clongdouble(1.5)], [np.clongdouble(2.5)]),
    "large integers": ([LARGE], [LARGE + 1]),
    "zones in a set": ({(NOON, 1)}, {(NOON.replace(tzinfo=EAST), 1)}),
    "texts and bytes": (["'a'"], [b"''a''", b""]),
}
EQUAL: dict[str, tuple[object, object]] = {
    "many integers of a set, as floats": (set(range(2000)), set(map(float, range(2000)))),
    "... beside texts": ({*range(2000), "a"}, {*map(float, range(2000)), "a"}),
    "a float that is longer than Python's": (np.longdouble(0.1) + np.longdouble(0.2), np.longdouble(0.3)),
    "a long float and one of Python's": ([np.longdouble(1.5)] * 3000, [1.5] * 3000),
    "integers and floats by two": (
        {(i, i + 1): i for i in range(5000)},
        {(float(i), float(i + 1)): float(i) for i in range(5000)},
    ),
    "other rounding by two": (
        {(i, str(i)): (i / 7, i / 3) for i in range(5000)},
        {(i, str(i)): (i / 7 * (1 + 1e-9), i / 3 * (1 - 1e-9)) for i in range(5000)},
    ),
    "all a little more": (
        {(0.3, i / 3, i * i / 7) for i in range(3000)},
        {
            (x * (1 + 3e-6), y * (1 + 3e-6), z * (1 + 3e-6))
            for x, y, z in ((0.3, i / 3, i * i / 7) for i in range(3000))
        },
    ),
    "... in few": ([{0.5: (1.5, 1e6)}] * 1500, [{0.5: (1.5 * (1 + 3e-6), 1e6)}] * 1500),
    "rounding that changes an order": (
        {(0.3, i / 3, i / 7) for i in range(2000)},
        {(0.3 if i % 2 else 0.1 + 0.2, i / 3, i / 7) for i in range(2000)},
    ),
    "a large integer": ([LARGE] * 2000, [LARGE] * 2000),
}


@pytest.mark.parametrize("pair", UNLIKE.values(), ids=UNLIKE)
def test_another_is_another(pair: tuple[object, object]) -> None:
    """In both directions."""
    assert differ(*pair)
    assert differ(pair[1], pair[0])


@pytest.mark.parametrize("pair", EQUAL.values(), ids=EQUAL)
def test_the_same_is_the_same(pair: tuple[object, object]) -> None:
    """In both directions."""
    assert not differ(*pair)
    assert not differ(pair[1], pair[0])


@pytest.mark.parametrize("pair", TALLIED_APART.values(), ids=TALLIED_APART)
def test_a_tally_keeps_classes_units_and_zones(pair: tuple[object, object]) -> None:
    """Of what is not described nothing else tells them."""
    assert told(pair[0]) != told(pair[1])


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(lambda i: (f"k{i}?", i), id="a question mark in a text"),
        pytest.param(lambda i: i + 0.5 if i else "what?", id="... beside numbers"),
        pytest.param(lambda i: PurePosixPath(f"/a/{i}"), id="paths"),
        pytest.param(Shown, id="objects"),
    ],
)
def test_a_mapping_is_described_the_same_however_it_was_made(key: Callable[[int], object]) -> None:
    """More keys than are looked at where they are no texts or integers."""
    keys = [key(i) for i in range(12_000)]
    numbers = {made: number for number, made in enumerate(keys)}
    order = list(keys)
    random.Random(3).shuffle(order)
    assert Describer(7).node(numbers) == Describer(7).node({made: numbers[made] for made in order})


def test_no_pair_is_drawn_where_keys_cannot_be_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of keys that look alike, nor of more than may be looked at: which comes first follows from its making."""
    alike = Describer(7).node({Shown(i % 2): i for i in range(2000)})
    assert alike[1] == ["map", "", 2000, []]
    monkeypatch.setattr(describe, "MOST_LOOKED", 100)
    assert Describer(7).node({Shown(i): i for i in range(2000)})[1] == ["map", "", 2000, []]


def test_values_that_changed_places_among_keys_are_seen() -> None:
    """Whichever of the key's numbers they share, and whatever is drawn."""
    drawn = random.Random(1)
    changed = dict(BY_TWO)
    for j in drawn.sample(range(200), 5):
        i, k = drawn.sample(range(150), 2)
        changed[i, j], changed[k, j] = changed[k, j], changed[i, j]
    assert all(differ(BY_TWO, changed, seed) for seed in range(3))


def test_what_is_within_an_item_is_counted() -> None:
    """An item of a million values leaves nothing; what was not counted is told."""
    value: object = 1.0
    for _ in range(6):
        value = (value,) * 10
    left = Left()
    tally = Tally(left)
    tally.add({0.5: value})
    assert left.seen == 0
    assert tally.node()[-1] is True
    with pytest.raises(Spent):
        opened_each([value], 1, Left())


def test_a_tally_that_was_cut_says_so() -> None:
    """... and is another than one of as many values that was not."""
    left = Left()
    left.seen = 3
    tally = Tally(left)
    tally.add([1.0, 2.0, "a"])
    assert tally.node()[-1] is True
    assert told([1.0, 2.0, "a"])[-1] is False
    found = captured([float(i) for i in range(2000)])
    cut = json.loads(json.dumps(found))
    cut[0][1][-1] = True
    assert difference(found, found) is None  # type: ignore[arg-type]
    assert difference(found, cut) is not None  # type: ignore[arg-type]


def test_what_a_set_holds_counts_wholly_or_not() -> None:
    """Where it is too much, it does not depend on the order in which it is gone through."""
    items = [(f"k{i}", (1,) * (i % 7)) for i in range(100)]
    tallies = []
    for order in (items, items[::-1]):
        tally = Tally(left := Left())
        left.seen = 150
        tally.add(dict(order))
        tally.add(dict.fromkeys(order, 1))
        tallies.append(tally.node())
    assert tallies[0] == tallies[1]
    assert tallies[0][-1] is True
    assert MOST_SEEN > 150


def test_a_class_that_replaces_a_decimal_is_another_and_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """What computes its values when it is asked for them is asked while its look is timed, or not at all."""
    ran: list[str] = []
    real = decimal.Decimal

    class Meta(type):
        """Says that it is compiled, and notes who asks."""

        def __hash__(cls) -> int:
            ran.append("hash")
            return 1

        @property
        def __flags__(cls) -> int:
            ran.append("flags")
            return 0

    class Mine(metaclass=Meta):
        def __init__(self, number: int) -> None:
            self._number = number

        def __str__(self) -> str:
            return str(real(self._number) / 7)

        def __reduce__(self) -> tuple[object, ...]:
            ran.append("reduce")
            return (real(self._number) / 7).__reduce__()

    Mine.__module__, Mine.__name__, Mine.__qualname__ = "decimal", "Decimal", "Decimal"
    expected = captured([real(i) / 7 for i in range(2000)])
    monkeypatch.setattr(decimal, "Decimal", Mine)
    describer = Describer(7, thorough=True)
    looked = describer.look([Mine(i) for i in range(2000)])
    ran.clear()
    found = json.loads(json.dumps([["returned value", describer.tell(looked)]]))
    assert ran == []
    assert difference(expected, found) is not None  # type: ignore[arg-type]


def test_a_class_that_python_code_made_is_never_compiled() -> None:
    """Whatever it inherits from; numpy's and Python's own are."""
    assert all(map(is_static, (int, Decimal, datetime, np.float64, np.ndarray)))
    assert not any(map(is_static, (Day, Stamp, Shown)))


def test_arrays_that_are_not_numpys_own_are_not_told_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their methods would run when no clock does."""

    class Lazy(np.ndarray):
        pass

    value = np.arange(3.0)
    monkeypatch.setattr(np, "asarray", lambda given: given.view(Lazy))
    assert Describer(7).node(value) == ["skip", "it raises TypeError"]


class Columns:
    """As much of a pandas DataFrame as is looked at, with arrays for columns."""

    def __init__(self, **made: object) -> None:
        self.columns, self.index = list(made), [0, 1]
        self._made = [np.array(values) for values in made.values()]
        self.dtypes = [column.dtype for column in self._made]

    @property
    def iloc(self) -> "Columns":
        return self

    def __getitem__(self, at: tuple[slice, object]) -> object:
        if isinstance(at[1], int):
            return Column(self._made[at[1]])
        assert isinstance(at[1], list)
        return Column(np.array([self._made[number] for number in at[1]]).T)


class Column:
    """As much of a pandas Series as is looked at."""

    name = "a"

    def __init__(self, values: np.ndarray) -> None:
        self._values, self.dtype = values, values.dtype

    def to_numpy(self) -> object:
        return self._values


@pytest.fixture
def _stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for pandas, which is no dependency: only its shape matters."""
    pandas = ModuleType("pandas")
    vars(pandas).update(DataFrame=Columns, Series=Column)
    monkeypatch.setitem(sys.modules, "pandas", pandas)


@pytest.mark.usefixtures("_stand_in")
def test_later_columns_of_different_dtypes_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Integers stay exact beside floats; so do their dtypes."""
    monkeypatch.setattr(foreign, "MOST_COLUMNS", 1)
    made = {"a": [0, 0], "b": [10**15, 1], "c": [0.5, 0.5]}
    assert not differ(Columns(**made), Columns(**made))
    assert differ(Columns(**made), Columns(**{**made, "b": [10**15 + 1, 1]}))
    assert differ(Columns(**{**made, "b": [1, 1]}), Columns(**{**made, "b": [1.0, 1.0]}))


def test_another_process_is_a_resource() -> None:
    """Its number is another one each time."""
    with subprocess.Popen(["true"]) as child:
        assert Describer(1).node(child) == ["skip", "a resource"]
