"""What an object is made of: its attributes and slots, what its class brings, what those of Python's classes hold."""

from __future__ import annotations

import functools
import sys
from io import BytesIO, StringIO
from types import GetSetDescriptorType, MemberDescriptorType

from . import OWN
from .plain import SCALARS
from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import Enum

    from .foreign import Describer, Looked, Node

__builtins__ = OWN


MOST_VIEWS = 3
MOST_TEXT = 20_000
_COMPUTED = (property, GetSetDescriptorType, getattr(functools, "cached_property", property))


def brings(kind: type, *names: str) -> bool:
    """Whether instances of a class have all of these methods: those of its own class, which classes have, are none."""
    return all(any(name in above.__dict__ for above in kind.__mro__) for name in names)


def known_parts(value: object) -> list[tuple[str, object]]:
    """What a buffer in memory holds, name and value of a member of an enumeration; nothing of any other value."""
    if type(value) in (BytesIO, StringIO):
        return [("value", value.getvalue())]  # type: ignore[attr-defined]
    kind = getattr(sys.modules.get("enum"), "Enum", None)
    if kind is None or not isinstance(value, kind):
        return []
    member: Enum = value
    return [("name", member.name), ("value", member.value)]


def attributes(value: object) -> list[tuple[str, object]]:
    """Names and values of an object's attributes, slots and members of compiled classes included; in their order.

    A slot is asked for first, as anybody would: what is made then and kept is its value, what is made each time is
    none.
    """
    found = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        for name in [name for name, entry in kind.__dict__.items() if type(entry) is MemberDescriptorType]:
            if not name.startswith("__") and hasattr(value, name) and _is_kept(value, kind, name):
                found[name] = getattr(value, name)
    return sorted(found.items())


def by_item(value: object, items: list[object]) -> dict[object, object]:
    """What stands under each item of a container that has mappings there, as a graph has of its nodes; else nothing."""
    under = getattr(type(value), "__getitem__", None)
    try:
        if not items or under is None or not brings(type(under(value, items[0])), "keys", "__getitem__"):
            return {}
        return {item: _plain(under(value, item), 0) for item in items}
    except Exception:  # no other container is asked for its own items
        return {}


def _plain(view: object, depth: int) -> object:
    """A plain mapping of what a view shows, whatever its class is; views in it, too."""
    if depth > MOST_VIEWS or not brings(type(view), "keys", "__getitem__"):
        return view
    shown: Mapping[object, object] = view  # type: ignore[assignment]
    return {key: _plain(shown[key], depth + 1) for key in shown.keys()}  # noqa: SIM118 - a view need not go over its keys


def simple_parts(value: object) -> Node:
    """What the class of an object computes of it and is a number or a text, by name, described.

    Numbers in a text need not be the same to the last digit, as where an object shows them.
    """
    found: Node = []
    for name in _properties(type(value)):
        try:
            part = getattr(value, name)
        except Exception:  # noqa: S112 - what cannot be computed of this one is no part of it
            continue
        if type(part) in SCALARS:
            found.append([name, SCALARS[type(part)](part)])
        elif type(part) is str:
            found.append([name, ["text", "", part[:MOST_TEXT]]])
    return found


def is_public(name: str) -> bool:
    """Whether anybody may ask for an attribute of this name."""
    return not name.startswith("_")


def _properties(kind: type) -> list[str]:
    """What anybody may ask an instance of a class for, and its class computes; nothing of Python's own classes."""
    own = [entry for above in kind.__mro__ if above.__module__ != "builtins" for entry in above.__dict__.items()]
    return sorted({name for name, entry in own if is_public(name) and isinstance(entry, _COMPUTED)})


def keeps(kind: type, name: str) -> bool:
    """Whether an attribute of this name is what a class computed once."""
    return isinstance(getattr(kind, name, None), _COMPUTED)


def _is_kept(value: object, kind: type, name: str) -> bool:
    """True where a slot holds something, whatever its class says."""
    try:
        kind.__dict__[name].__get__(value, kind)
    except AttributeError:
        return False
    return True


def has_data(value: object) -> bool:
    """True for an object that can be called, and is more than a function."""
    return type(value).__module__ not in ("builtins", "functools", "operator") and bool(attributes(value))


def computed(describer: Describer, value: object) -> Node:
    """What the class of an object computes of it; nothing within that: objects could give others for ever."""
    if describer.asks:
        return []
    describer.asks = True
    try:
        return [[name, _asked(describer, value, name)] for name in _properties(type(value))]
    finally:
        describer.asks = False


def _asked(describer: Describer, value: object, name: str) -> Looked:
    """What somebody gets who asks for an attribute."""
    try:
        return describer.look(getattr(value, name))
    except Exception as error:
        return ["skip", "it raises " + type(error).__name__]
