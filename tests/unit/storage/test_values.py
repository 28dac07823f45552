"""Values as JSON and back."""

import json
from collections import OrderedDict, defaultdict
from dataclasses import InitVar, dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, RootModel

from datasmith.errors import StoreError
from datasmith.github.models import PR, Comment, FileChange
from datasmith.storage.base import Value
from datasmith.storage.values import UNREADABLE, canonical, pack, pack_arguments, unpack


class Level(IntEnum):
    """A number with a name."""

    LOW = 1


class Colour(Enum):
    """Values that are not text."""

    RED = (255, 0, 0)


class Point(NamedTuple):
    """A tuple with names."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Pair:
    """One field is computed from another."""

    left: object
    right: tuple[object, ...] = ()
    size: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", len(self.right))


@dataclass
class Consuming:
    """Made from something that it does not keep."""

    given: InitVar[int]
    kept: int = 0


class Shelf(BaseModel):
    """Aliases, open for more, holding anything."""

    model_config = ConfigDict(extra="allow")
    what: object = Field(default=None, alias="Was")
    inner: "Shelf | None" = None


class Numbers(RootModel[list[int]]):
    """A list with a name."""


class Appends(BaseModel):
    """A value that its own validator changes again and again."""

    text: str

    def model_post_init(self, _context: object) -> None:
        self.__dict__["text"] += "!"


class Secret(BaseModel):
    """Holds something that is no field."""

    _hidden: int = PrivateAttr(default=0)


class Long(str):
    """Text of a class of its own."""

    __slots__ = ()


def there_and_back(value: object) -> object:
    """Through the JSON text that a database holds."""
    return unpack(json.loads(json.dumps(pack(value), allow_nan=False)))


ZONES = st.sampled_from([None, UTC, timezone(timedelta(hours=-7, minutes=30)), ZoneInfo("Europe/Berlin")])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters())
    | st.binary()
    | st.datetimes(timezones=ZONES)
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.sampled_from([Level.LOW, Colour.RED, Path("/a/b"), "\x00", "\ud800", {"dict": 1}, {"tuple": [1]}])
)
KEYS = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.tuples(st.integers(), st.text(max_size=3))


def nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Containers and classes around values."""
    return (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.frozensets(KEYS, max_size=3)
        | st.sets(KEYS, max_size=3)
        | st.builds(Pair, inner, st.lists(inner, max_size=2).map(tuple))
        | st.builds(lambda what, more: Shelf(Was=what, more=more), inner, inner)
        | st.builds(Point, st.floats(allow_nan=False), st.just(0.5))
    )


@settings(max_examples=400, deadline=None)
@given(st.recursive(SCALARS, nested, max_leaves=12))
def test_whatever_is_kept_comes_back_equal_and_of_the_same_types(value: object) -> None:
    """Nested as it may be: 1, 1.0 and True stay apart, and so do lists and tuples, at every depth."""
    again = there_and_back(value)
    assert again == value
    assert type(again) is type(value)
    assert canonical(pack(again)) == canonical(pack(value))


def test_a_pull_request_comes_back_whole() -> None:
    """Models in models, with tuples and moments; which fields were set is known again."""
    pr = PR(
        repository="o/r",
        issue_number=7,
        merged_at=datetime(2026, 1, 2, tzinfo=UTC),
        comments=(Comment(author="a", body="b\x00"),),
        files=(FileChange(path="a.py", additions=3),),
    )
    again = there_and_back(pr)
    assert again == pr
    assert isinstance(again, PR)
    assert again.model_fields_set == pr.model_fields_set
    assert isinstance(again.files[0], FileChange)


def test_models_with_other_names_and_forms() -> None:
    """Aliases, extra fields, a list as a model, and a value that is no number."""
    shelf = Shelf.model_validate({"Was": {1, 2}, "inner": {"Was": (1,)}, "more": b"x"})
    assert there_and_back(shelf) == shelf
    assert there_and_back(Numbers([1, 2])) == Numbers([1, 2])
    assert repr(there_and_back(float("nan"))) == "nan"


def test_a_named_zone_keeps_its_name_and_the_second_hour() -> None:
    """The hour that happens twice in autumn is known from its first."""
    moment = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1)
    again = there_and_back(moment)
    assert isinstance(again, datetime)
    assert (again.tzinfo, again.fold, again.utcoffset()) == (moment.tzinfo, 1, timedelta(hours=1))


def holding_itself() -> list[object]:
    """A list without an end."""
    endless: list[object] = []
    endless.append(endless)
    return endless


def with_a_secret() -> Secret:
    """A model that would come back without what it hides."""
    model = Secret()
    model._hidden = 3
    return model


@pytest.mark.parametrize(
    "value",
    [
        object(),
        len,
        Pair,
        Long("x"),
        OrderedDict(a=1),
        defaultdict(int, a=1),
        Consuming(3),
        Appends(text="a"),
        with_a_secret(),
        holding_itself(),
        [{"deep": object()}],
        type("Local", (BaseModel,), {})(),
        iter([1]),
        ValueError("x"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_would_come_back_different_is_refused(value: object) -> None:
    """Subclasses of plain types, classes that are not found again, models that change: an error, never another type."""
    with pytest.raises(StoreError, match="cannot be stored"):
        pack(value)


@pytest.mark.parametrize(
    "stored",
    [
        {"model": ["no.such.module:Thing", {}, {}, []]},
        {"model": [f"{__name__}:NoSuch", {}, {}, []]},
        {"model": [f"{__name__}:Pair", {}, {}, []]},
        {"model": [f"{__name__}:Shelf", {"what": 1}, {}, []]},
        {"model": ["datasmith.github.models:PR", {"repository": "x"}, {}, []]},
        {"dataclass": [f"{__name__}:Pair", {"left": 1}]},
        {"dataclass": ["subprocess:run", {"args": ["true"]}]},
        {"enum": [f"{__name__}:Level", 99]},
        {"namedtuple": ["builtins:eval", "1"]},
        {"tomorrow": []},
        {"date": 3},
        {"tuple": "x"},
        {},
    ],
)
def test_what_another_version_wrote_is_told(stored: Value) -> None:
    """Unknown tags, classes that are gone or have other fields, and what is no class: unreadable, and nothing runs."""
    with pytest.raises(UNREADABLE):
        unpack(stored)


def test_arguments_are_told_apart_by_content() -> None:
    """The order of dicts and sets does not matter; types and values do; what has an identity stands for it."""

    def key(value: object) -> str:
        return canonical(pack_arguments(value, lambda thing: thing.cache_key if isinstance(thing, PR) else ""))

    assert key({"a": 1, "b": {1, 2, 3}}) == key({"b": {3, 2, 1}, "a": 1})
    values: list[object] = [
        1,
        1.0,
        True,
        "1",
        None,
        (1,),
        [1],
        {1},
        {1: 1},
        b"1",
        date(2026, 1, 1),
        time(1),
        Decimal(1),
    ]
    values += [UUID(int=1), timedelta(1), Path("1"), Level.LOW, Point(1, 1), PR(repository="o/r", issue_number=1)]
    assert len({key(value) for value in values}) == len(values)
    assert key([PR(repository="o/r", issue_number=1)]) == key([PR(repository="o/r", issue_number=1, title="x")])
    with pytest.raises(StoreError):
        key([object()])
