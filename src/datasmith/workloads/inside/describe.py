"""Say what a value is, as bounded JSON that a host can compare: kinds, types, shapes, numbers, never an address.

A description is a list that begins with its kind; `datasmith.workloads.outputs` on the host reads it. It is made in two
steps. `look` takes the value apart as far as code of the library under test has to run for that: work that was put off
is done there, and nowhere later. `tell` says what plain data it left; that can take much longer, and no such code runs.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from itertools import islice
from operator import itemgetter

from . import OWN
from .attributes import attributes, brings, by_item, computed, has_data, is_public, keeps, known_parts, simple_parts
from .foreign import Later, Looked, Node, as_array, class_name, exact, is_static, positions, reader
from .moments import held, is_moment
from .plain import ORDERED, PLAIN, REAL, SCALARS, is_plain
from .report import TYPE_CHECKING
from .tally import CONTAINERS, DEEPEST, MOST_SEEN, OPAQUE, Left, Spent, Tally, in_order, opened_each, plain_of, sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .foreign import Foreign

__builtins__ = OWN

MOST_NODES, MOST_BYTES = 20_000, 200_000
"""Of one capture: descriptions, and bytes of arrays and texts. What is beyond is not described, but added up."""
MOST_LOOKED = 200_000
"""Values that are looked at, and not described, where that is asked for."""
FULL_SEQUENCE = 1000
"""A longer sequence is described by some of its elements, and the sum of its numbers."""
SHOWN_TEXT = 200
ABRIDGED = ("...", "\u2026")
"""Stand in the text that an object shows where that is not all of it."""
_PLAIN_MODULES = frozenset(("fractions", "uuid", "ipaddress", "pathlib", "zoneinfo"))
_COMPILED_MODULES = frozenset(("datetime", "decimal"))
"""Modules whose values are told whole by their text; of the latter the classes that are compiled."""


class _Always(Later):
    """What is told also where the budget is spent."""


class Describer:
    """Describes values within one budget; the same values and seed give the same descriptions in every process.

    Where that leaves out a part of a plain container, a tally of all that is in it stands beside.

    thorough: looks at what is beyond the budget, and between the elements that are described, too, though nothing is
    said of it: work that was put off is done there.

    deep: also sees what takes much longer than what is seen at once, as the edges of a graph beside its nodes: that
    would outweigh a call that is timed with its looks. `went_deep`: there was something of the kind.
    """

    def __init__(self, seed: int, *, thorough: bool = False, deep: bool = False, nodes: int = MOST_NODES) -> None:
        self.seed = seed
        self._deep, self.went_deep = deep, False
        self._beyond = MOST_LOOKED if thorough else 0
        self._nodes = nodes
        self._bytes = MOST_BYTES
        self._path: list[int] = []
        self._left, self._omitted = Left(), 0
        self._within = self.asks = False

    def anew(self) -> Describer:
        """One with the same seed, and a budget of its own; what tallies may count is shared."""
        found = Describer(self.seed, thorough=self._beyond > 0)
        found._left = self._left
        return found

    def twin(self) -> Describer:
        """One that looks at the next value just as this one would."""
        found = Describer.__new__(Describer)  # copy() takes ten times as long
        found.__dict__.update(self.__dict__)
        found._path = list(self._path)
        return found

    def take(self, told: Node) -> Node:
        """A description from elsewhere, at the cost of this budget."""
        self.spend(len(json.dumps(told)))
        if self._bytes >= 0:
            return told
        return ["tally", ["cut"], *told[2:]] if told[0] == "tally" else ["cut"]

    def spend(self, size: int) -> None:
        """Count bytes against the budget."""
        self._bytes -= size

    @property
    def described(self) -> int:
        """How many values it has described so far, or looked at as if it would."""
        return MOST_NODES - self._nodes

    def positions(self, size: int, most: int) -> list[int]:
        """Which elements of a sequence are described: all, or those that the seed draws."""
        return positions(size, most, self.seed)

    def node(self, value: object) -> Node:
        """The description of any value."""
        return self.tell(self.look(value))

    def tell(self, looked: Looked) -> Node:
        """The description of a value that was looked at."""
        told = self._told(looked)
        assert isinstance(told, list)
        return told

    def _told(self, part: object) -> object:
        if isinstance(part, Later):
            spent = self._bytes < 0 and not isinstance(part, _Always)
            return self._told(self._cut() if spent else part.tell())
        return [self._told(inner) for inner in part] if isinstance(part, list) else part

    def _counted(self, value: object, looked: Looked, *, short: bool) -> Node:
        """The description of a plain container; with a tally, where not all of it was seen or is told."""
        before = self._omitted
        told = self.tell(looked)
        if not short and self._omitted == before:
            return told
        tally = Tally(self._left)
        tally.add(value)
        return ["tally", told, *tally.node()]

    def _cut(self) -> Node:
        self._omitted += 1
        return ["cut"]

    def look(self, value: object) -> Looked:
        """A value taken apart; what raises while it is looked at is skipped with its reason."""
        within, before = self._within, self._omitted
        self._within = type(value) in CONTAINERS
        try:
            looked = self._looked(value)
        finally:
            self._within = within
        if within or type(value) not in CONTAINERS:
            return looked
        short = self._omitted > before
        return _Always(lambda: self._counted(value, looked, short=short))

    def _looked(self, value: object) -> Looked:
        self._nodes -= 1
        is_cut = self._nodes < 0 or self._bytes < 0
        if is_cut:
            self._beyond -= 1
            if self._beyond < 0:
                return self._cut()
        if id(value) in self._path or len(self._path) > DEEPEST:
            return ["skip", "nested too deeply"]
        self._path.append(id(value))
        try:
            looked = self._node(value)
            return self._cut() if is_cut else looked
        except Exception as error:
            return ["skip", "it raises " + type(error).__name__]
        finally:
            self._path.pop()

    def _node(self, value: object) -> Looked:
        if type(value) in PLAIN:
            return self._scalar(value)
        foreign = reader(value)
        if foreign is not None:
            return foreign(self, value)  # type: ignore[arg-type]
        name = class_name(value)
        if type(value) is bytearray:
            return self._text(bytes(value))
        if type(value) in (list, tuple):
            return self._sequence("", list(value))  # type: ignore[call-overload]
        if isinstance(value, (list, tuple)):
            return self._copied(name, list(value))
        if type(value) in (set, frozenset):
            return self._set(list(value))  # type: ignore[call-overload]
        if type(value) is dict:
            return self._mapping("", list(value.items()))
        if isinstance(value, dict):
            return self._copied(name, dict(value.items()))
        if isinstance(value, (int, float, complex, str, bytes, memoryview, set, frozenset)):
            return ["object", name, [["value", self.look(_plain(value))]], False]
        return self._other(name, value)

    def _scalar(self, value: object) -> Node:
        if value is None:
            return ["none"]
        if isinstance(value, (str, bytes)):
            return self._text(value)
        return SCALARS[type(value)](value)

    def _text(self, value: str | bytes) -> Node:
        if isinstance(value, str):
            data, shown, kind = value.encode("utf-8", "surrogatepass"), ascii(value[:SHOWN_TEXT])[1:-1], "str"
        else:
            data, kind = value, "bytes"
            shown = ascii(data[:SHOWN_TEXT])[2:-1]
        self.spend(len(shown))
        return [kind, len(data), hashlib.sha256(data).hexdigest()[:32], shown]

    def _sequence(self, name: str, value: list[object]) -> Node:
        at = self.positions(len(value), FULL_SEQUENCE)
        whole = len(at) == len(value)
        self._omitted += not whole
        total: object = None
        if is_plain(value):
            items: object = Later(lambda: [self._plain_node(value[i]) for i in at])
            total = None if whole else Later(lambda: sums(value))
        else:
            items = [self.look(value[i]) for i in at]
            if not whole:
                told = set(at)
                self._look_through(item for i, item in enumerate(value) if i not in told)
        return ["seq", name, len(value), None if whole else at, items, total]

    def _plain_node(self, value: object) -> Node:
        """The description of a value of one of Python's own scalar types."""
        self._nodes -= 1
        return self._cut() if self._nodes < 0 or self._bytes < 0 else self._scalar(value)

    def _set(self, value: list[object]) -> Node:
        value = [item if type(item) in PLAIN else plain_of(item, 0) for item in value]
        kinds, size = set(map(type, value)), len(value)
        if kinds <= PLAIN and (size <= FULL_SEQUENCE or complex not in kinds):
            return ["set", size, Later(lambda: self._plain_set(value))]
        if size <= FULL_SEQUENCE:
            return ["set", size, sorted((self.node(item) for item in value), key=repr)]
        self._omitted += 1
        self._look_through(value)
        return ["set", size, []]

    def _plain_set(self, value: list[object]) -> Node:
        """Each of a few; of many the numbers in their order, and a digest of the others."""
        if len(value) <= FULL_SEQUENCE:
            return sorted((self._plain_node(item) for item in value), key=repr)
        numbers = [item for item in value if type(item) in REAL]
        others = [repr(item) for item in value if type(item) not in REAL]
        found: Node = [self._text("\0".join(sorted(others)))] if others else []
        if numbers:
            found.append(self._sequence("", _in_order(numbers)))
        return found

    def _mapping(self, name: str, items: list[tuple[object, object]]) -> Node:
        size = len(items)
        if size > FULL_SEQUENCE:
            self._omitted += 1
            self._look_through(value for _, value in items)
            items = _drawn(self, items)
        keys, values = [key for key, _ in items], [value for _, value in items]
        if is_plain(keys) and is_plain(values):
            return ["map", name, size, Later(lambda: self._pairs(items, self._plain_node))]
        return ["map", name, size, self._pairs(items, self.look)]

    def _pairs(self, items: list[tuple[object, object]], look: Callable[[object], Looked]) -> Node:
        pairs = sorted(((self.node(key), value) for key, value in items), key=lambda pair: repr(pair[0]))
        return [[key, look(value)] for key, value in pairs]

    def _look_through(self, values: Iterable[object]) -> None:
        """Look at values of which nothing is said."""
        for value in values if self._beyond > 0 else ():
            if type(value) not in PLAIN:
                nodes, self._nodes = self._nodes, 0
                self.look(value)
                self._nodes = nodes

    def _other(self, name: str, value: object) -> Looked:
        """Anything else: its items or attributes, or the text that its class has it show; no address, no id."""
        kind = type(value)
        parts = known_parts(value)
        if parts:
            return ["object", name, [[key, self.look(item)] for key, item in parts], False]
        if brings(kind, "__next__"):
            return ["skip", "iterator"]
        if isinstance(value, (type(sys), type)) or (callable(value) and not has_data(value)):
            return ["skip", "callable"]
        if brings(kind, "__await__") or brings(kind, "fileno") or brings(kind, "terminate"):
            return ["skip", "a resource"]
        if kind.__module__ in _PLAIN_MODULES or (kind.__module__ in _COMPILED_MODULES and is_static(kind)):
            return exact(self, value)
        above = next(filter(is_moment, kind.__mro__), None)
        if above is not None:
            return self._derived(name, value, above)
        if brings(kind, "__array__") and "numpy" in sys.modules:
            return as_array(self, name, value)
        return self._container(name, value, kind)

    def _derived(self, name: str, value: object, above: type) -> Node:
        """An instance of a subclass of a moment: its text, what it holds as one, its public attributes."""
        parts: Node = [["as text", self.look(str(value))], ["what it holds", self.look(held(value, above))]]
        own = [[key, self.look(item)] for key, item in attributes(value) if is_public(key)]
        return ["object", name, parts + own, False]

    def _container(self, name: str, value: object, kind: type) -> Looked:
        foreign: Foreign = value  # type: ignore[assignment]
        if brings(kind, "keys", "__getitem__"):
            return self._copied(name, {key: foreign[key] for key in list(foreign.keys())})
        if brings(kind, "__iter__", "__len__"):
            found: list[object] = list(islice(iter(foreign), MOST_SEEN if is_static(kind) else 100 * FULL_SEQUENCE))
            under = by_item(foreign, found) if self._deep else {}
            self.went_deep = self.went_deep or bool(under)
            return self._copied(name, under or found, len(foreign))  # type: ignore[arg-type]
        return self._attributes(name, value)

    def _copied(self, name: str, plain: list[object] | dict[object, object], size: int = 0) -> Looked:
        """A container of another class, by a plain one of what is in it, or of the first of `size` items.

        Of a long one there is a tally, as of a plain one.
        """
        size = max(size, len(plain))
        self._within = size > FULL_SEQUENCE
        if isinstance(plain, dict):
            looked = self._mapping(name, list(plain.items()))
        else:
            looked = self._sequence(name, plain)
            looked[2] = size
        return _Always(lambda: self._counted(plain, looked, short=True)) if size > FULL_SEQUENCE else looked

    def _attributes(self, name: str, value: object) -> Node:
        """What anybody sees of an object: public attributes, else its text, else what its class computes of it.

        An object that shows nothing of the kind is told by its private parts.
        """
        found, kind = attributes(value), type(value)
        if any(is_public(key) and not keeps(kind, key) for key, _ in found):
            return ["object", name, [[key, self.look(item)] for key, item in found if is_public(key)], False]
        shown = repr(value) if kind.__repr__ is not object.__repr__ else ""
        is_text = shown and " at 0x" not in shown
        text: Node = ["text", name, shown[: 10 * SHOWN_TEXT]]
        if is_text:
            self.spend(len(shown))
        if is_text and not (self._deep and any(mark in shown for mark in ABRIDGED)):
            return text
        if is_text:
            self.went_deep = True
            return ["object", name, [["as text", text], *simple_parts(value)], False]
        asked = computed(self, value)
        if asked:
            return ["object", name, asked, False]
        return ["object", name, [[key, self.look(item)] for key, item in found], True]


def _drawn(describer: Describer, items: list[tuple[object, object]]) -> list[tuple[object, object]]:
    """Some of many pairs, by the order of their keys, which is the same however the mapping was made.

    Of keys that look alike there is none, and where it takes too much to tell them apart, none at all.
    """
    if all(type(key) in ORDERED for key, _ in items):
        items = sorted(items, key=lambda item: (type(item[0]).__name__, item[0]))
    elif all(type(key) in REAL for key, _ in items):
        items = sorted((item for item in items if item[0] == item[0]), key=itemgetter(0))
    else:
        places = _places(describer.seed, [key for key, _ in items])
        alike = Counter(places)
        pairs = zip(places, items)  # noqa: B905
        items = [item for place, item in sorted(pairs, key=lambda pair: pair[0]) if alike[place] == 1]
    return [items[at] for at in describer.positions(len(items), FULL_SEQUENCE)]


def _places(seed: int, keys: list[object]) -> list[tuple[str, tuple[float, ...]]]:
    """What keys sort by; nothing where there is too much in them."""
    try:
        found = [in_order(opened) for opened in opened_each(keys, len(keys), Left())]
    except Spent:
        return []
    apart = Describer(seed)
    apart._nodes, apart._bytes = MOST_LOOKED, MOST_LOOKED * SHOWN_TEXT
    places = []
    for key, (form, numbers) in zip(keys, found):  # noqa: B905
        told = OPAQUE + repr(apart.node(key)) if OPAQUE in form else form
        if apart._nodes < 0 or apart._bytes < 0:
            return []
        places.append((told, tuple(numbers)))
    return places


def _in_order(numbers: list[object]) -> list[object]:
    """Numbers from the smallest one; such as are none come last."""
    ordered: list[object] = sorted(number for number in numbers if number == number)  # type: ignore[type-var]
    return ordered + [number for number in numbers if number != number]


def _plain(value: object) -> object:
    """What an instance of a subclass, or of a class that pretends to be one, holds; or a view of bytes."""
    kinds: tuple[type, ...] = (int, float, complex, str, bytes, set, frozenset)
    kind = next((kind for kind in kinds if isinstance(value, kind)), bytes)
    return "".join(value) if kind is str else kind(value)  # type: ignore[arg-type]
