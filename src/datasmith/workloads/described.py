"""Descriptions of values, made in sandboxes and read as untrusted JSON: their parts, and what a reader is shown."""

import binascii
from collections.abc import Callable, Sequence

from pydantic import JsonValue

Node = list[JsonValue]
SHOWN = 120
"""Characters of a value in a message."""
MALFORMED = (ValueError, TypeError, IndexError, OverflowError, RecursionError, binascii.Error)
"""What reading a description may raise that was not made by our script."""


def text(value: JsonValue) -> str:
    """A part as text; truth values as 0 and 1."""
    if isinstance(value, bool):
        return str(int(value))
    return str(value)


def items(value: JsonValue) -> Node:
    """A part that has to be a list.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, list):
        raise TypeError("a list was expected")
    return value


def shown(node: Sequence[JsonValue]) -> str:
    """A description in a few words."""
    kind, rest = str(node[0]), list(node[1:])
    told = _WORDS.get(kind)
    try:
        said = told(rest) if told else kind
    except MALFORMED:
        said = kind
    return "".join(char if char.isprintable() else "?" for char in said)[:SHOWN]


_WORDS: dict[str, Callable[[Node], str]] = {
    "tally": lambda rest: f"{'the first ' if rest[7] else ''}{rest[1]} values",
    "none": lambda _rest: "None",
    "bool": lambda rest: str(rest[0]),
    "int": lambda rest: str(rest[0]),
    "float": lambda rest: str(rest[0]),
    "complex": lambda rest: f"({rest[0]}, {rest[1]}j)",
    "str": lambda rest: f"'{rest[2]}'",
    "bytes": lambda rest: f"b'{rest[2]}'",
    "text": lambda rest: str(rest[1]),
    "seq": lambda rest: f"a {rest[0] or 'list or tuple'} of {rest[1]}",
    "set": lambda rest: f"a set of {rest[0]}",
    "map": lambda rest: f"a {rest[0] or 'dict'} of {rest[1]}",
    "object": lambda rest: f"a {rest[0]}",
    "call": lambda _rest: "a call",
    "module": lambda _rest: "a module",
    "array": lambda rest: f"{rest[0]} of {rest[1]}, shape {rest[2]}",
    "written": lambda rest: f"{rest[0]} bytes",
    "skip": lambda rest: f"not compared ({rest[0]})",
}
