"""What plain containers hold, in a few numbers, however much that is: what is not described is compared by them."""

from __future__ import annotations

import hashlib
import math

from . import OWN
from .foreign import Node, is_numpy, is_static, plain_scalar
from .moments import moment_of
from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Protocol

    class Array(Protocol):
        """An array of numpy."""

        dtype: object
        size: int

        def tolist(self) -> list[object]:
            """Its elements."""


__builtins__ = OWN


MOST_SEEN = 1_000_000
"""Values that all tallies of one launch count; what is beyond is in none."""
DEEPEST = 10
"""Containers in containers in containers: what lies deeper is neither described nor counted."""
BUCKETS = 64
"""Numbers are added up in so many sums, so that a few large ones do not hide what becomes of the others."""
MOST_GROUPS = 4
"""The numbers of an item that has an order of its own are added up in so many groups of sums."""
GOLDEN = 0.6180339887498949
CONTAINERS = frozenset((list, tuple, dict, set, frozenset))
"""Going through these runs no code but Python's own."""
OPAQUE = "\0"
"""The form of what is not opened; no text that Python shows has it."""


class Left:
    """How many values may still be counted; several describers share it."""

    def __init__(self) -> None:
        self.seen = MOST_SEEN

    def take(self, size: int) -> None:
        """Count so many.

        Raises:
            Spent: there are not so many left.
        """
        if size > self.seen:
            raise Spent
        self.seen -= size


class Spent(Exception):
    """No more values may be counted."""


class Tally:
    """Counts what is in a value: texts and integers by digests, numbers by weighted sums, in the order they stand in.

    Objects of other classes are not opened; classes are told by identity, as asking them may run code. Where no more
    may be counted, the tally says that it was cut.
    """

    def __init__(self, left: Left) -> None:
        self._left = left
        self._seen = 0
        self._texts = hashlib.sha256()
        self._integers = hashlib.sha256()
        self._only_integers = True
        self._odd = 0
        self._cut = False
        self._sums = [0.0] * BUCKETS
        self._amounts = [0.0] * BUCKETS

    def node(self) -> Node:
        """[values seen, digest of texts, digest of integers, not finite, sums, amounts, whether it was cut].

        The digest of integers is None where there are other numbers.
        """
        integers = self._integers.hexdigest()[:32] if self._only_integers else None
        sums = [repr(total) for total in self._sums], [repr(total) for total in self._amounts]
        return [self._seen, self._texts.hexdigest()[:32], integers, self._odd, *sums, self._cut]

    def add(self, value: object, depth: int = 0) -> None:
        """Count a value and what it holds."""
        if depth > DEEPEST:
            return
        if self._left.seen <= 0:
            self._cut = True
            return
        self._left.seen -= 1
        self._seen += 1
        kind = type(value)
        if kind is float or kind is int or kind is bool:
            self._number(value)  # type: ignore[arg-type]
        elif kind is str or value is None:
            self._text(repr(value).encode("utf-8", "surrogatepass"))
        elif kind is list or kind is tuple:
            self._items(value, depth)  # type: ignore[arg-type]
        elif kind is dict:
            self._mapping(value, depth)  # type: ignore[arg-type]
        elif kind is set or kind is frozenset:
            self._unordered(value, len(value), depth)  # type: ignore[arg-type]
        else:
            self._other(value, depth)

    def _other(self, value: object, depth: int) -> None:
        if type(value) is complex:
            self._number(value.real)
            self._number(value.imag)
            return
        if type(value) is bytes:
            self._text(b"b" + value)
            return
        plain = plain_of(value, self._left.seen)
        if plain is not value:
            self._seen -= 1
            self.add(plain, depth + 1)
        else:
            moment = moment_of(value)
            if moment:
                self._text(moment.encode())

    def _items(self, value: Sequence[object], depth: int) -> None:
        if depth < DEEPEST and len(value) <= self._left.seen and _are_numbers(value):
            self._numbers(value, self._seen + 1)  # type: ignore[arg-type]
            self._left.seen -= len(value)
            self._seen += len(value)
            return
        for item in value:
            self.add(item, depth + 1)

    def _number(self, value: float) -> None:
        if type(value) is float:
            self._only_integers = False
        else:
            self._integers.update(b"%x," % value)  # type: ignore[str-format]
        self._add_up(value, self._seen % BUCKETS, 0.5 + self._seen * GOLDEN % 1.0)

    def _numbers(self, values: Sequence[float], first: int) -> None:
        """Count numbers that stand in an order, the first of them at this place."""
        exact = [value for value in values if type(value) is not float]
        self._only_integers = self._only_integers and len(exact) == len(values)
        self._integers.update(b"".join([b"%x," % value for value in exact]))  # type: ignore[str-format]
        for place, value in enumerate(values, first):
            self._add_up(value, place % BUCKETS, 0.5 + place * GOLDEN % 1.0)

    def _add_up(self, value: float, at: int, weight: float) -> None:
        number = self._finite(value)
        if number is not None:
            self._sums[at] += number * weight
            self._amounts[at] += abs(number)

    def _finite(self, value: float) -> float | None:
        """The number to add up; None where there is none: then it counts among texts, or among what is not finite."""
        try:
            number = float(value)
        except OverflowError:
            self._text(b"%x" % value)  # type: ignore[str-format]
            return None
        if math.isfinite(number):
            return number
        self._odd += 1
        return None

    def _text(self, data: bytes) -> None:
        self._texts.update(b"%d:" % len(data))
        self._texts.update(data)

    def _mapping(self, value: dict[object, object], depth: int) -> None:
        """By keys in an order that does not depend on how it was made, where they have one; else pair by pair."""
        kind = type(next(iter(value), ""))
        if (kind is not str and kind is not int) or not all(type(key) is kind for key in value):
            self._unordered(value.items(), len(value), depth)
            return
        for key in sorted(value):  # type: ignore[type-var]
            self.add(key, depth + 1)
            self.add(value[key], depth + 1)

    def _unordered(self, items: Iterable[object], size: int, depth: int) -> None:
        """What is in items whose order says nothing: what they are without their numbers, and sums of these.

        All of them count, or none: which would be the first ones depends on how it was made.
        """
        self._text(b"%d" % size)
        try:
            found = sorted(opened_each(items, size, self._left, depth), key=in_order)
        except Spent:
            self._left.seen = 0
            self._cut = True
            return
        forms, rows = [form for form, _ in found], [numbers for _, numbers in found]
        self._text("\0".join(forms).encode("utf-8", "surrogatepass"))
        if any(type(number) is float for numbers in rows for number in numbers):
            self._only_integers = False
        else:
            self._integers.update(";".join([",".join(map(hex, numbers)) for numbers in rows]).encode())  # type: ignore[arg-type]
        self._spread(forms, rows)

    def _spread(self, forms: list[str], rows: list[list[float]]) -> None:
        """Add up what stands in items: the first number of each by its rank, so that it matters which has it.

        Each other number goes into two sums that lie next to each other, in shares that follow from all that stands
        before it in its item: it matters with which it stands there, and next to nothing where that is rounded.
        """
        longest = max(map(len, rows), default=0)
        groups = max(1, min(MOST_GROUPS, longest))
        width = BUCKETS // groups
        weights = [0.5 + place * GOLDEN % 1.0 for place in range(longest)]
        amounts: list[list[float]] = [[0.0] for _ in range(groups)]
        kinds, last = 0, ""
        for rank, (form, numbers) in enumerate(zip(forms, rows)):  # noqa: B905
            if not numbers:
                continue
            kinds, last = kinds + (form != last), form
            self._add_up(numbers[0], rank % width, 0.5 + rank * GOLDEN % 1.0)
            mixed = kinds * GOLDEN * width
            for place in range(1, len(numbers)):
                mixed += weights[place] * _magnitude(numbers[place - 1])
                group = place % groups
                amounts[group].append(self._share_out(numbers[place], mixed % width, width, group * width))
        for group, own in enumerate(amounts):
            amount = max(sum(own) / width, *own)
            for at in range(group * width, group * width + width):
                self._amounts[at] += amount

    def _share_out(self, value: float, at: float, width: int, group: int) -> float:
        """Add a number to two sums of its group; its amount, by which all of these may differ: shares are rounded."""
        number = self._finite(value)
        if number is None:
            return 0.0
        low = int(at)
        share = at - low
        for at, part in ((group + low, 1.0 - share), (group + (low + 1) % width, share)):
            self._sums[at] += number * part
            self._amounts[at] += abs(number) * part
        return abs(number)


def _are_numbers(values: Iterable[object]) -> bool:
    return all(type(value) is float or type(value) is int or type(value) is bool for value in values)


def _magnitude(number: float) -> float:
    """How large a number is, about as its logarithm; a small part more of it is a small amount more."""
    try:
        found = math.asinh(number)
    except OverflowError:
        return math.log(abs(number))
    return found if math.isfinite(found) else 1.0


def sums(value: Sequence[object]) -> Node | None:
    """Sum, sum of amounts, and how many are not finite, of a long sequence of Python's own scalars.

    None where some are no numbers, or are too large to be added up.
    """
    try:
        numbers = list(map(float, value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    finite = [number for number in numbers if math.isfinite(number)]
    return [repr(_total(finite)), repr(_total(map(abs, finite))), len(numbers) - len(finite)]


def _total(numbers: Iterable[float]) -> float:
    """Their sum; infinite where that is too large for a number."""
    try:
        return math.fsum(numbers)
    except OverflowError:
        return math.inf


def in_order(found: tuple[str, list[float]]) -> tuple[str, list[float]]:
    """What sorts by form, and then by numbers; such as are none come last."""
    form, numbers = found
    return form, [math.inf if number != number else number for number in numbers]


def opened_each(items: Iterable[object], size: int, left: Left, depth: int = 0) -> list[tuple[str, list[float]]]:
    """What each of so many plain values is without its numbers, and these; an object of any other class is `OPAQUE`.

    Two containers of the same content have the same form, however they were made.

    Raises:
        Spent: that would be more values than may be counted.
    """
    left.take(size)
    items = list(items)
    return [("#", [item]) for item in items] if _are_numbers(items) else [_opened(item, left, depth) for item in items]  # type: ignore[list-item]


def _opened(value: object, left: Left, depth: int) -> tuple[str, list[float]]:
    numbers: list[float] = []
    return _form(value, numbers, left, depth), numbers


def _form(value: object, numbers: list[float], left: Left, depth: int) -> str:
    kind = type(value)
    if kind is float or kind is int or kind is bool:
        numbers.append(value)  # type: ignore[arg-type]
        return "#"
    if kind is complex:
        numbers += (value.real, value.imag)  # type: ignore[attr-defined]
        return "#j"
    if kind is str or kind is bytes or value is None:
        return repr(value)
    if depth > DEEPEST:
        return "..."
    if kind is tuple or kind is list:
        return _form_in_turn(value, numbers, left, depth + 1)  # type: ignore[arg-type]
    if kind is dict or kind is set or kind is frozenset:
        return _form_within(value, numbers, left, depth + 1)  # type: ignore[arg-type]
    plain = plain_of(value, left.seen)
    return moment_of(value) or OPAQUE if plain is value else _form(plain, numbers, left, depth + 1)


def _form_in_turn(value: Sequence[object], numbers: list[float], left: Left, depth: int) -> str:
    left.take(len(value))
    parts = []
    for item in value:
        if type(item) is float or type(item) is int:
            numbers.append(item)
            parts.append("#")
        else:
            parts.append(_form(item, numbers, left, depth))
    return "[" + ",".join(parts) + "]"


def _form_within(value: Collection[object], numbers: list[float], left: Left, depth: int) -> str:
    inner: Iterable[object] = value.items() if type(value) is dict else value
    parts = sorted(opened_each(inner, len(value), left, depth), key=in_order)
    numbers += (number for _, own in parts for number in own)
    return "{" + ",".join([form for form, _ in parts]) + "}"


def plain_of(value: object, most: int) -> object:
    """The number or text that a scalar of numpy holds, and the list that an array of so many numbers is.

    Any other value itself.
    """
    kind = type(value)
    if is_static(kind) and is_numpy(value, "generic"):
        return plain_scalar(value)  # type: ignore[arg-type]
    if is_static(kind) and is_numpy(value, "ndarray"):
        array: Array = value  # type: ignore[assignment]
        return array.tolist() if array.size <= most and getattr(array.dtype, "kind", "") in "biufc" else value
    return value
