"""What plain containers hold, in a few numbers, however much that is: what is not described is compared by them."""

from __future__ import annotations

import hashlib
import math
import sys
from itertools import repeat

from .foreign import Node, is_numpy, is_static
from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    class Array(Protocol):
        """An array of numpy."""

        dtype: object
        size: int

        def tolist(self) -> list[object]:
            """Its elements."""


MOST_SEEN = 1_000_000
"""Values that all tallies of one launch count; what is beyond is in none."""
DEEPEST = 10
"""Containers in containers in containers: what lies deeper is neither described nor counted."""
BUCKETS = 64
"""Numbers are added up in so many sums, so that a few large ones do not hide what becomes of the others."""
GOLDEN = 0.6180339887498949
CONTAINERS = frozenset((list, tuple, dict, set, frozenset))
"""Going through these runs no code but Python's own."""
_TEXTS = frozenset((str, bytes, type(None)))
_NUMBERS = frozenset((int, bool, float))
_MOMENTS = (*(("datetime", name) for name in ("date", "datetime", "time", "timedelta")), ("decimal", "Decimal"))
"""Classes of Python's own whose values are kept by a few plain ones, which are had without running any other code."""


OPAQUE = "?"
"""The form of what is not opened."""


class Left:
    """How many values may still be counted; several describers share it."""

    def __init__(self) -> None:
        self.seen = MOST_SEEN


class Tally:
    """Counts what is in a value: texts and integers by digests, numbers by weighted sums, in the order they stand in.

    Objects of other classes are not opened.
    """

    def __init__(self, left: Left) -> None:
        self._left = left
        self._seen = 0
        self._texts = hashlib.sha256()
        self._integers = hashlib.sha256()
        self._only_integers = True
        self._odd = 0
        self._sums = [0.0] * BUCKETS
        self._amounts = [0.0] * BUCKETS

    def node(self) -> Node:
        """[values seen, digest of texts, digest of integers (None beside other numbers), not finite, sums, amounts]."""
        integers = self._integers.hexdigest()[:32] if self._only_integers else None
        sums = [repr(total) for total in self._sums], [repr(total) for total in self._amounts]
        return [self._seen, self._texts.hexdigest()[:32], integers, self._odd, *sums]

    def add(self, value: object, depth: int = 0) -> None:
        """Count a value and what it holds."""
        if self._left.seen <= 0 or depth > DEEPEST:
            return
        self._left.seen -= 1
        self._seen += 1
        kind = type(value)
        if kind in _NUMBERS:
            self._number(value)  # type: ignore[arg-type]
        elif kind in _TEXTS:
            self._text(value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass"))
        elif kind is list or kind is tuple:
            for item in value:  # type: ignore[attr-defined]
                self.add(item, depth + 1)
        elif kind is dict:
            self._mapping(value, depth)  # type: ignore[arg-type]
        elif kind is set or kind is frozenset:
            self._unordered(value, len(value), depth)  # type: ignore[arg-type]
        elif kind is complex:
            self._number(value.real)  # type: ignore[attr-defined]
            self._number(value.imag)  # type: ignore[attr-defined]
        else:
            plain = plain_of(value, self._left.seen)
            if plain is not value:
                self._seen -= 1
                self.add(plain, depth + 1)

    def _number(self, value: float) -> None:
        if type(value) is float:
            self._only_integers = False
        else:
            self._integers.update(b"%d," % value)
        self._add_up(value, self._seen)

    def _add_up(self, value: float, place: int) -> None:
        """Add a number to the sums, with the weight of its place."""
        try:
            number = float(value)
        except OverflowError:
            self._text(b"%d" % value)
            return
        if math.isfinite(number):
            at = place % BUCKETS
            self._sums[at] += number * (0.5 + place * GOLDEN % 1.0)
            self._amounts[at] += abs(number)
        else:
            self._odd += 1

    def _text(self, data: bytes) -> None:
        self._texts.update(b"%d:" % len(data))
        self._texts.update(data)

    def _mapping(self, value: dict[object, object], depth: int) -> None:
        """By keys in an order that does not depend on how it was made, where they have one; else pair by pair."""
        if not set(map(type, value)) <= {str} and not set(map(type, value)) <= {int}:
            self._unordered(value.items(), len(value), depth)
            return
        for key in sorted(value):  # type: ignore[type-var]
            self.add(key, depth + 1)
            self.add(value[key], depth + 1)

    def _unordered(self, items: Iterable[object], size: int, depth: int) -> None:
        """What is in items whose order says nothing: what they are without their numbers, and sums of these.

        Of numbers that stand beside each other in an item the products are added up, too, so that it matters which.
        """
        self._text(b"%d" % size)
        if size > self._left.seen:
            return
        self._left.seen -= size
        found = sorted((opened(item, depth) for item in items), key=in_order)
        self._text("\0".join([form for form, _ in found]).encode("utf-8", "surrogatepass"))
        if any(type(number) is float for _, numbers in found for number in numbers):
            self._only_integers = False
        else:
            self._integers.update(repr([list(map(int, numbers)) for _, numbers in found]).encode())
        for rank, (_, numbers) in enumerate(found):
            for place, number in enumerate(numbers):  # others than the first may stand in any order
                self._add_up(number, place if place else rank)
                if place:
                    self._add_up(_product(number, numbers[place - 1]), BUCKETS // 2 + place)


def _product(one: float, other: float) -> float:
    try:
        return float(one) * float(other)
    except OverflowError:
        return math.inf


def in_order(found: tuple[str, list[float]]) -> tuple[str, list[float]]:
    """What sorts by form, and then by numbers; such as are none come last."""
    form, numbers = found
    return form, [math.inf if number != number else number for number in numbers]


def opened(value: object, depth: int = 0) -> tuple[str, list[float]]:
    """What a plain value is without its numbers, and these; an object of any other class is a question mark.

    Two containers of the same content have the same form, however they were made.
    """
    numbers: list[float] = []
    return _form(value, numbers, depth), numbers


def _form(value: object, numbers: list[float], depth: int) -> str:
    kind = type(value)
    if kind in _NUMBERS:
        numbers.append(value)  # type: ignore[arg-type]
        return "#"
    if kind is complex:
        numbers += (value.real, value.imag)  # type: ignore[attr-defined]
        return "#j"
    if kind in _TEXTS:
        return repr(value)
    if depth > DEEPEST:
        return "..."
    if kind is list or kind is tuple:
        return "[" + ",".join([_form(item, numbers, depth + 1) for item in value]) + "]"  # type: ignore[attr-defined]
    if kind in CONTAINERS:
        inner: Iterable[object] = value.items() if kind is dict else value  # type: ignore[attr-defined, assignment]
        parts = sorted(map(opened, inner, repeat(depth + 1)), key=in_order)
        numbers += (number for _, own in parts for number in own)
        return "{" + ",".join([form for form, _ in parts]) + "}"
    plain = plain_of(value)
    return OPAQUE if plain is value else _form(plain, numbers, depth + 1)


def plain_of(value: object, most: int = MOST_SEEN) -> object:
    """What a scalar of numpy, or an array of so many numbers, holds, or the plain values that make a moment.

    Any other value itself.
    """
    kind = type(value)
    if is_static(kind) and is_numpy(value, "generic"):
        return value.item()  # type: ignore[attr-defined]
    if is_static(kind) and is_numpy(value, "ndarray"):
        array: Array = value  # type: ignore[assignment]
        return array.tolist() if array.size <= most and getattr(array.dtype, "kind", "") in "biufc" else value
    if any(kind is getattr(sys.modules.get(module), name, None) for module, name in _MOMENTS):
        made_of = kind.__reduce__(value)[1]
        return repr([part for part in made_of if type(part) in (int, str, bytes)])
    return value
