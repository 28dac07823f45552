"""What plain containers hold, in a few numbers, however much that is: what is not described is compared by them."""

from __future__ import annotations

import hashlib
import math

from .foreign import Node, is_numpy, is_static
from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    class Array(Protocol):
        """An array of numpy."""

        dtype: object
        size: int

        def tolist(self) -> list[object]:
            """Its elements."""

    class Scalar(Protocol):
        """A scalar of numpy."""

        def item(self) -> object:
            """The plain value that it holds."""


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
            self._set(value)  # type: ignore[arg-type]
        elif kind is complex:
            self._number(value.real)  # type: ignore[attr-defined]
            self._number(value.imag)  # type: ignore[attr-defined]
        elif is_static(kind):
            self._numpy(value, depth)

    def _number(self, value: float) -> None:
        if type(value) is float:
            self._only_integers = False
        else:
            self._integers.update(b"%d," % value)
        try:
            number = float(value)
        except OverflowError:
            self._text(b"%d" % value)
            return
        if math.isfinite(number):
            at = self._seen % BUCKETS
            self._sums[at] += number * (0.5 + self._seen * GOLDEN % 1.0)
            self._amounts[at] += abs(number)
        else:
            self._odd += 1

    def _text(self, data: bytes) -> None:
        self._texts.update(b"%d:" % len(data))
        self._texts.update(data)

    def _mapping(self, value: dict[object, object], depth: int) -> None:
        """By keys in an order that does not depend on how it was made; only the size where they have none."""
        if not set(map(type, value)) <= {str} and not set(map(type, value)) <= {int}:
            self._text(b"%d" % len(value))
            return
        for key in sorted(value):  # type: ignore[type-var]
            self.add(key, depth + 1)
            self.add(value[key], depth + 1)

    def _set(self, value: frozenset[object]) -> None:
        """All elements, where equal ones look the same; else how many there are."""
        if len(value) < self._left.seen and all(map(_is_exact, value)):
            self._left.seen -= len(value)
            self._text("\0".join(sorted(map(repr, value))).encode("utf-8", "surrogatepass"))
        else:
            self._text(b"%d" % len(value))

    def _numpy(self, value: object, depth: int) -> None:
        """An array, and a scalar as the plain number that it holds; nothing of any other object."""
        if is_numpy(value, "ndarray"):
            array: Array = value  # type: ignore[assignment]
            if array.size <= self._left.seen and getattr(array.dtype, "kind", "") in "biufc":
                self.add(array.tolist(), depth + 1)
        elif is_numpy(value, "generic"):
            scalar: Scalar = value  # type: ignore[assignment]
            self._seen -= 1
            self.add(scalar.item(), depth + 1)


def _is_exact(value: object) -> bool:
    kind = type(value)
    return kind is str or kind is bytes or kind is int or (kind is tuple and all(map(_is_exact, value)))  # type: ignore[call-overload]
