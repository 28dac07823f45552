"""Two captures agree exactly where the values that they describe are the same: cases 40-55 of the evaluation."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from ipaddress import ip_address
from pathlib import PurePath

import numpy as np
import pytest
from scipy.sparse import csr_array  # type: ignore[import-untyped]

from datasmith.workloads.inside.describe import Describer
from datasmith.workloads.outputs import difference, has_values


class Plain:
    """An object without `__eq__`."""

    def __init__(self, **given: object) -> None:
        vars(self).update(given)


class Slotted:
    """Attributes that are no dictionary."""

    __slots__ = ("x",)

    def __init__(self, x: float) -> None:
        self.x = x


class OnDemand(Slotted):
    """Makes what its slot holds when that is first asked for, and keeps it."""

    made = 0

    def __init__(self) -> None:
        pass

    def __getattr__(self, name: str) -> float:
        OnDemand.made += 1
        self.x = 1.0
        return self.x


class EachTime(OnDemand):
    """... and does not keep it."""

    def __getattr__(self, name: str) -> float:
        return 1.0


@dataclass
class Point:
    """An object with `__eq__`."""

    x: float
    tags: list[str] = field(default_factory=list)


class Agreeing(Point):
    """Its `__eq__`, which a submission may have written, is not what decides."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class LazyList(list[int]):
    """A list by name only: what it holds is made when it is asked for."""


class Pretender:
    """Says that it is of the class of what it stands for, as a result that is computed later would."""

    def __init__(self, value: object) -> None:
        object.__setattr__(self, "_value", value)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(object.__getattribute__(self, "_value"))

    def __getattr__(self, name: str) -> object:
        return getattr(object.__getattribute__(self, "_value"), name)


class Private:
    """Nothing of it is public."""

    def __init__(self, cells: object, more: object = None) -> None:
        self._cells = cells
        if more is not None:
            self._more = more


def captured(value: object) -> object:
    """What a sandbox sends of one value."""
    return json.loads(json.dumps([["returned value", Describer(7).node(value)]]))


def differ(expected: object, found: object) -> bool:
    return difference(captured(expected), captured(found)) is not None  # type: ignore[arg-type]


NAN, INF = float("nan"), float("inf")
ROWS = [[row + column / 7 for column in range(300)] for row in range(100)]
"""More numbers than are described."""
TUPLES = {(i, i + 1): i for i in range(12_000)}
FLOATS = {float(i): float(i) for i in range(5000)}
MOMENT = datetime(2020, 1, 1, 10, 0, 59, 100, tzinfo=UTC)


def masked(values: list[float], mask: list[int] | bool) -> object:
    """An array of numpy with a mask."""
    return np.ma.array(values, mask=np.array(mask, dtype=bool))


def fields(x: float) -> object:
    """An array whose elements have two fields."""
    return np.array([(x, 1)], dtype=[("x", "f8"), ("n", "i4")])


EQUAL: dict[str, tuple[object, object]] = {
    "40 close": (1.0, 1.00001),
    "41 almost nothing": (0.0, 1e-9),
    "41 almost the integer 0": (0, 1e-9),
    "51 keys that are equal": ({1: 2, (3, True): 4}, {1.0: 2, (3.0, 1): 4}),
    "51 float keys, with other rounding": ({0.1 + 0.2: 1, 0.5: 2}, {0.3: 1, 0.5: 2}),
    "51 a float key that is an integer by rounding": ({0.9999999999999999: 1, 2.0: 3}, {1.0: 1, 2.0: 3}),
    "51 500 float keys, with other rounding": (
        {i / 3: i for i in range(500)},
        {i / 3 * (1 + 2e-16): i for i in range(500)},
    ),
    "a long list, with other rounding": (ROWS, [[x * (1 + 1e-9) for x in row] for row in ROWS]),
    "many scalars of numpy, as numbers": ([np.int64(i) for i in range(5000)], list(range(5000))),
    "a long list of integers, as floats": ([list(range(300))] * 100, [[float(x) for x in range(300)]] * 100),
    "43 nan": (NAN, NAN),
    "43 array with nan": (np.array([1.0, NAN]), np.array([1.0, NAN])),
    "43 dict with nan": ({"a": NAN}, {"a": NAN}),
    "44 inf": (INF, INF),
    "45 True and 1": (True, 1),
    "45 1 and 1.0": (1, 1.0),
    "45 True and 1.0": (True, 1.0),
    "45 float32": (np.float32(0.1), 0.1),
    "46 list and tuple": ([1, 2], (1, 2)),
    "49 dataclass": (Point(1.0, ["a"]), Point(1.0 + 1e-7, ["a"])),
    "49 attributes": (Plain(x=1, y=[2.0]), Plain(x=1, y=[2.0])),
    "49 slots": (Slotted(1.0), Slotted(1.0)),
    "50 sets": ({3, 1, 2}, {2, 3, 1}),
    "50 sets of floats": ({0.1 + 0.2, 5.0}, {5.0, 0.3}),
    "50 strings": ("abc", "abc"),
    "51 dicts in any order": ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}),
    "52 generators": ((i for i in range(3)), (i for i in range(4))),
    "52 functions": (len, max),
    "54 None": (None, None),
    "complex": (1 + 2j, 1 + 2.00001j),
    "long list": ([0.5] * 5000, [0.5] * 5000),
    "long array": (np.arange(1e5), np.arange(1e5) * (1 + 1e-7)),
    "byte order": (np.arange(3, dtype=">i4"), np.arange(3, dtype="<i4")),
    "what lies under a mask": (masked([1.0, 2.0, NAN], [0, 0, 1]), masked([1.0, 2.0, 0.0], [0, 0, 1])),
    "no mask and an empty one": (masked([1.0, 2.0], False), masked([1.0, 2.0], [0, 0])),
    "fields of an array": (fields(0.3), fields(0.1 + 0.2)),
    "many floats of a set": ({i / 3 for i in range(2000)}, {i / 3 * (1 + 2e-16) for i in range(2000)}),
    "many integers of a set": (set(range(2000)), set(np.arange(2000))),
    "many tuples of a set": (
        {("k", i, i / 3) for i in range(2000)},
        {("k", i, i / 3 * (1 + 2e-16)) for i in reversed(range(2000))},
    ),
    "many sets of a set": (
        {frozenset((i, str(i))) for i in range(2000)},
        {frozenset((str(i), i)) for i in range(2000)},
    ),
    "a long mapping of tuples": (TUPLES, dict(reversed(TUPLES.items()))),
    "a long mapping of floats": (FLOATS, {key: value * (1 + 1e-9) for key, value in reversed(FLOATS.items())}),
    "sums that are too large": ([1e308] * 5000, [1e308] * 5000),
    "sums of arrays that are too large": (np.full(5000, 1e308), np.full(5000, 1e308)),
    "moments": ([MOMENT] * 3000, [MOMENT] * 3000),
    "next to nothing in a sparse matrix": (csr_array([[1.0, 0.0]]), csr_array([[1.0, 1e-17]])),
    "private parts in another form": (Private([1, 2]), Private("12", more=3)),
    "object array": (np.array([1, "a", None], dtype=object), np.array([1, "a", None], dtype=object)),
}
UNLIKE: dict[str, tuple[object, object]] = {
    "40 not close": (1.0, 1.0001),
    "41 something": (0.0, 1e-7),
    "42 an integer is no float that is near": (124750.0, 124751),
    "another mask": (masked([1.0, 2.0, 0.0], [0, 0, 1]), masked([1.0, 2.0, 0.0], [0, 1, 1])),
    "a mask that is gone": (masked([1.0, 2.0, 0.0], [0, 0, 1]), masked([1.0, 2.0, 0.0], False)),
    "another field of an array": (fields(0.3), fields(0.4)),
    "another float of many": ({i / 3 for i in range(2000)}, {i / 3 + 600.0 * (i == 777) for i in range(2000)}),
    "another integer of many": (set(range(2000)), {*range(1999), 3000}),
    "other floats of many tuples": ({(i / 3, 1.5) for i in range(2000)}, {(i / 3, 1.6) for i in range(2000)}),
    "floats that changed places": ({(i, i / 3) for i in range(2000)}, {(i, (1999 - i) / 3) for i in range(2000)}),
    "other sets of many": ({frozenset((i,)) for i in range(2000)}, {frozenset((i + 1,)) for i in range(2000)}),
    "another value of a long mapping of tuples": (TUPLES, {**TUPLES, (7, 8): -1}),
    "another value of a long mapping of floats": (FLOATS, {**FLOATS, 7.0: -700.0}),
    "a moment later": (MOMENT, MOMENT.replace(microsecond=500)),
    "a moment of many": ([MOMENT] * 3000, [*[MOMENT] * 2999, MOMENT.replace(microsecond=500)]),
    "a moment of numpy": (np.datetime64("2020-01-01T00:00:59.000100"), np.datetime64("2020-01-01T00:00:59.000500")),
    "a time that is longer": (timedelta(0, 59, 100), timedelta(0, 59, 500)),
    "another address": (ip_address("192.168.1.1"), ip_address("192.169.1.1")),
    "another path": (PurePath("/d/v100.001/x"), PurePath("/d/v100.002/x")),
    "a last digit": (Decimal("1.0000000000000000001"), Decimal("1.0000000000000000002")),
    "a decimal of many": ([Decimal(i) for i in range(3000)], [Decimal(i if i != 1500 else -5) for i in range(3000)]),
    "42 integers are exact": (124750, 124751),
    "42 a float is no other integer": (1_000_000, 1_000_009.0),
    "42 almost 1": (True, 1.0 + 1e-7),
    "beyond the budget: rows": (ROWS, ROWS[:90] + [[0.0] * 300] * 10),
    "beyond the budget: rows of an object": (Plain(rows=ROWS), Plain(rows=ROWS[:90] + [[0.0] * 300] * 10)),
    "beyond the budget: integers by one": (
        [list(range(300))] * 100,
        [list(range(300))] * 99 + [[0, *range(2, 300), 1]],
    ),
    "beyond the budget: arrays": ([np.ones(4000)] * 30, [np.ones(4000)] * 29 + [np.zeros(4000)]),
    "beyond the budget: not finite": (ROWS, [*ROWS[:99], [NAN] * 300]),
    "one of many texts": ([f"k{i}" for i in range(5000)], [f"k{i}" if i != 1234 else "k" for i in range(5000)]),
    "sets of many tuples": ({("k", i) for i in range(2000)}, {("k", i) for i in range(1, 2001)}),
    "a long mapping": ({f"k{i}": (i,) for i in range(5000)}, {f"k{i}": (i if i != 1234 else 0,) for i in range(5000)}),
    "42 a float that lies next to a large integer": (2**53 + 1, float(2**53)),
    "42 an integer and nan": (1, NAN),
    "44 inf and -inf": (INF, -INF),
    "46 lengths": ([1, 2], [1, 2, 3]),
    "47 int32 and int64": (np.zeros(2, np.int32), np.zeros(2, np.int64)),
    "47 shape": (np.zeros((2, 1)), np.zeros((1, 2))),
    "47 text width": (np.array(["abc"]), np.array(["abcd"])),
    "48 array and list": (np.array([1.0]), [1.0]),
    "49 other attributes": (Plain(x=1), Plain(x=2)),
    "49 attribute gone": (Plain(x=1, y=2), Plain(x=1)),
    "49 dataclass": (Point(1.0), Point(2.0)),
    "49 an equality that always says yes": (Agreeing(1.0), Agreeing(2.0)),
    "50 sets": ({1, 2}, {1, 3}),
    "50 strings": ("abc", "abd"),
    "51 missing key": ({"a": 1}, {"b": 1}),
    "53 complex": (np.array([1 + 2j]), np.array([1 + 3j])),
    "53 complex scalar": (1 + 2j, 1 + 3j),
    "54 None and 1": (None, 1),
    "float32 and float64": (np.zeros(2, np.float32), np.zeros(2)),
    "a list by name only": ([1, 2], LazyList([1, 2])),
    "a text by name only": ("abc", Pretender("abc")),
    "a set by name only": ({1}, Pretender({1})),
    "a number by name only": (5, Pretender(5)),
    "value and nothing to see": ([1, 2], (i for i in (1, 2))),
    "one integer of many": (np.arange(10**5), np.where(np.arange(10**5) == 77_777, 0, np.arange(10**5))),
    "sum of many": (np.ones(10**5), np.where(np.arange(10**5) % 100 == 77, 1.01, 1.0)),
    "sum of a long list": ([0.5] * 5000, [0.5 if i % 13 else 0.6 for i in range(5000)]),
    "long text": ("a" * 1000 + "b", "a" * 1000 + "c"),
    "private parts": (Private([1.0, 2.0]), Private([1.0, 2.5])),
    "nan and a number": (np.array([NAN, 1.0]), np.array([0.0, 1.0])),
}


@pytest.mark.parametrize("pair", EQUAL.values(), ids=EQUAL)
def test_the_same_is_the_same(pair: tuple[object, object]) -> None:
    """In both directions."""
    assert not differ(*pair)
    assert not differ(*reversed(pair))


@pytest.mark.parametrize("pair", UNLIKE.values(), ids=UNLIKE)
def test_another_is_another(pair: tuple[object, object]) -> None:
    """Against what base computes."""
    assert differ(*pair)


def test_a_difference_says_where_and_what() -> None:
    """The path inside the value, what was expected and what was found."""
    found = difference(captured({"a": [1, Plain(x=2)]}), captured({"a": [1, Plain(x=3)]}))  # type: ignore[arg-type]
    assert found is not None
    assert found.path == "returned value['a'][1].x"
    assert (found.expected, found.found) == ("2", "3")
    where = difference(captured(np.arange(3.0)), captured(np.array([0.0, 1.5, 2.0])))  # type: ignore[arg-type]
    assert where is not None
    assert (where.path, where.expected, where.found) == ("returned value[1]", "1.0", "1.5")


def test_what_cannot_be_described_is_not_compared() -> None:
    """Case 55: nothing to compare is no difference, and says so."""
    assert not has_values(captured(i for i in range(3)))  # type: ignore[arg-type]
    assert not has_values(captured(None))  # type: ignore[arg-type]
    assert has_values(captured([1]))  # type: ignore[arg-type]


def test_a_budget_that_only_the_submission_spends_hides_nothing() -> None:
    """A large attribute of its own leaves nothing for the wrong value behind it; nor does one that base has, too."""
    padded = [Plain(x=1, w=["pad"] * 900, **{f"v{i}": ["pad"] * 900 for i in range(30)}), [7]]
    assert differ([Plain(x=1), [6]], padded)
    assert not differ(padded, padded)
    assert differ(padded, [padded[0], [8]])


def test_an_object_that_cannot_be_looked_at_is_skipped() -> None:
    """Whatever it raises; and one that holds itself ends."""

    class Angry:
        @property
        def __dict__(self) -> dict[str, object]:  # type: ignore[override]
            raise RuntimeError

    circle: list[object] = []
    circle.append(circle)
    assert not differ(Angry(), Angry())
    assert not differ(circle, circle)


@pytest.mark.parametrize(
    "forged",
    [
        None,
        "x",
        [["returned value", ["array", "ndarray", "float64", [3], None, "!!", None, None]]],
        [["returned value", ["array", "ndarray", "float64", [3], None, "AAAA", None, None]]],
        [["returned value", ["seq"]]],
        [["returned value", ["float", "9" * 6000]]],
        [["returned value", ["never heard of"]]],
        [["returned value", 7]],
        [["other", ["float", "1.0"]]],
        [],
    ],
)
@pytest.mark.parametrize("value", [np.arange(3.0), [1, 2], 5, {"a": {1, 2}}])
def test_a_forged_description_equals_nothing(forged: object, value: object) -> None:
    """Whatever the sandbox says, it is data: it differs, and nothing breaks."""
    assert difference(captured(value), forged) is not None  # type: ignore[arg-type]


def nested(depth: int) -> object:
    """A list in a list in a list."""
    value: object = ["none"]
    for _ in range(depth):
        value = ["seq", "", 1, None, [value], None]
    return value


def test_a_description_nested_without_end_equals_nothing() -> None:
    """The depth of what is read is base's, not the submission's."""
    assert difference(captured([[1]]), [["returned value", nested(400)]]) is not None  # type: ignore[arg-type, list-item]


def test_a_description_is_bounded() -> None:
    """However large the value, what is sent fits the pipe's allowance."""
    many = {"arrays": [np.random.default_rng(0).random(10**4) for _ in range(100)], "text": ["x" * 300] * 5000}
    assert len(json.dumps(Describer(7).node(many))) < 900_000


def test_a_slot_holds_what_is_kept_in_it() -> None:
    """What is made when it is first asked for is found, and made once; what is made each time is not there."""
    before = OnDemand.made
    kept, again, own = (Describer(1).node(value) for value in (OnDemand(), EachTime(), Slotted(1.0)))
    assert OnDemand.made == before + 1
    assert kept[2] == own[2] == [["x", ["float", "1.0"]]]
    assert again[2] == []
