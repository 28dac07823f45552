"""Values that are Python's own through and through: looking at them runs no code of anybody else's."""

from __future__ import annotations

import hashlib

from . import OWN
from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__builtins__ = OWN

PLAIN = frozenset((type(None), bool, int, float, complex, str, bytes))
REAL = frozenset((int, float, bool))
ORDERED = frozenset((int, str, bytes, bool))
"""Keys of these types give long mappings an order that does not depend on how they were made."""


def seems_plain(value: object) -> bool:
    """True for a list or a tuple whose first part is of such a type: then it is worth to ask `is_plain`."""
    return type(value) in (list, tuple) and (not value or type(value[0]) in PLAIN)  # type: ignore[index]


def is_plain(parts: Iterable[object]) -> bool:
    """True where each part is of such a type."""
    return PLAIN.issuperset(map(type, parts))


def _int(value: int) -> list[object]:
    if value.bit_length() < 4096:
        return ["int", str(value)]
    return ["text", "int", hashlib.sha256(hex(value).encode()).hexdigest()[:32]]


SCALARS: dict[type, Callable[..., list[object]]] = {
    float: lambda value: ["float", repr(value)],
    int: _int,
    bool: lambda value: ["bool", value],
    complex: lambda value: ["complex", repr(value.real), repr(value.imag)],
}
"""How numbers are described."""
