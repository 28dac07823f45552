"""Tell where set-up made less of a submission's code than of base's: of a smaller input any code is faster.

Python's and numpy's own data are compared as outputs are. What an instance of a library's class is made of may change,
in public and in private: there only sizes count, where both have them at the same place, and only where they are less.
"""

from collections.abc import Iterator
from math import prod

from pydantic import JsonValue

from datasmith.workloads.described import MALFORMED, Node, items, shown
from datasmith.workloads.outputs import Difference, difference

_CLASS_AT = {"seq": 1, "map": 1, "array": 1, "object": 1, "text": 1}
"""Where a description has the name of its class; it is empty for Python's own containers."""
_SIZE_AT = {"seq": 2, "map": 2, "set": 1}
_DATA = ("numpy.", "pandas.")
"""How the classes begin that are data as Python's own are."""


def part_unlike(name: str, ours: JsonValue, theirs: JsonValue) -> Difference | None:
    """What is less in a part that set-up made, or else in plain data."""
    if theirs is None:
        return Difference(name, shown(items(ours)), "nothing")
    try:
        if is_plain(ours):
            return difference([[name, ours]], [[name, theirs]])
        return next(_less(ours, theirs, name), None)
    except MALFORMED:
        return Difference(name, "a description", "malformed")


def is_plain(node: JsonValue) -> bool:
    """True where a description has nothing of a library's class in it."""
    if not isinstance(node, list):
        return True
    at = _CLASS_AT.get(str(node[0])) if node else None
    name = str(node[at]) if at is not None and len(node) > at else ""
    return (not name or name.startswith(_DATA)) and all(map(is_plain, node))


def _less(ours: JsonValue, theirs: JsonValue, path: str) -> Iterator[Difference]:
    """Where descriptions of one kind stand in the same place, and theirs has less."""
    one, other = _inner(ours), _inner(theirs)
    if not one or not other or one[0] != other[0]:
        return
    size, found = _size(one), _size(other)
    if size is not None and found is not None and found < size:
        yield Difference(path, shown(one), shown(other))
        return
    mine, yours = dict(_parts(one)), dict(_parts(other))
    for name in mine.keys() & yours.keys():
        yield from _less(mine[name], yours[name], f"{path}{name}")


def _inner(node: JsonValue) -> Node:
    """A description, without the tally that may stand around it."""
    told = items(node)
    return items(told[1]) if told[:1] == ["tally"] else told


def _size(node: Node) -> int | None:
    """How much a description says is in a value; None where it says nothing of the kind."""
    kind = node[0]
    if kind == "array":
        return prod(int(str(length)) for length in items(node[3]))
    at = _SIZE_AT.get(str(kind))
    return None if at is None else int(str(node[at]))


def _parts(node: Node) -> Iterator[tuple[str, JsonValue]]:
    """What is in a value, by the place it has there."""
    kind = node[0]
    if kind == "object":
        yield from ((f".{name}", value) for name, value in map(items, items(node[2])))
    elif kind == "map":
        yield from ((f"[{shown(items(key))}]", value) for key, value in map(items, items(node[3])))
    elif kind == "seq":
        yield from ((f"[{at}]", value) for at, value in enumerate(items(node[4])))
