"""What an object is made of: its attributes and slots, what its class brings, what a member of an enumeration is."""

from __future__ import annotations

import sys
from types import MemberDescriptorType

from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from enum import Enum


def brings(kind: type, *names: str) -> bool:
    """Whether instances of a class have all of these methods: those of its own class, which classes have, are none."""
    return all(any(name in above.__dict__ for above in kind.__mro__) for name in names)


def member_of(value: object) -> list[tuple[str, object]]:
    """Name and value of a member of an enumeration; nothing of any other value."""
    kind = getattr(sys.modules.get("enum"), "Enum", None)
    if kind is None or not isinstance(value, kind):
        return []
    member: Enum = value
    return [("name", member.name), ("value", member.value)]


def attributes(value: object) -> list[tuple[str, object]]:
    """Names and values of an object's attributes, slots included; in the order of names.

    A slot is asked for first, as anybody would: what is made then and kept is its value, what is made each time is
    none.
    """
    found = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name) and _is_kept(value, kind, name):
                found[name] = getattr(value, name)
    return sorted(found.items())


def _is_kept(value: object, kind: type, name: str) -> bool:
    """True where a slot holds something, whatever its class says."""
    member = kind.__dict__.get(name)
    if type(member) is not MemberDescriptorType:
        return False
    try:
        member.__get__(value, kind)
    except AttributeError:
        return False
    return True


def has_data(value: object) -> bool:
    """True for an object that can be called, and is more than a function."""
    return type(value).__module__ not in ("builtins", "functools", "operator") and bool(attributes(value))
