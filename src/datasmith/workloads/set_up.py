"""Tell where set-up made less of a submission's code than of base's: of a smaller input any code is faster.

Data of Python's own classes, of numpy's and pandas' are compared as outputs are; of large ones all sizes. What an
instance of a library's class is made of may change: there only sizes in what is public count, where both have them at
the same place, and only where they are less.
"""

import sys
from collections.abc import Iterator
from math import prod

from pydantic import JsonValue

from datasmith.workloads.described import MALFORMED, Node, items, shown
from datasmith.workloads.inside.labels import FURTHER
from datasmith.workloads.inside.outline import OUTLINE
from datasmith.workloads.outputs import Difference, difference

_CLASS_AT = {"seq": 1, "map": 1, "array": 1, "object": 1, "text": 1}
"""Where a description has the name of its class; it is empty for Python's own containers."""
_SIZE_AT = {"seq": 2, "map": 2, "set": 1}
_DATA = sys.stdlib_module_names | {"builtins", "numpy", "pandas"}
"""Where the classes come from that are data as Python's own are."""


def part_unlike(name: str, ours: JsonValue, theirs: JsonValue) -> Difference | None:
    """What is less in a part that set-up made, or else in plain data; of what was seen further in, any difference."""
    if theirs is None:
        return Difference(name, shown(items(ours)), "nothing")
    try:
        if name.startswith(FURTHER):
            return difference([[name, ours]], [[name, theirs]])
        return next(_unlike(ours, theirs, name), None)
    except MALFORMED:
        return Difference(name, "a description", "malformed")


def is_plain(node: JsonValue) -> bool:
    """True where a description has nothing of a library's class in it."""
    return not isinstance(node, list) or (not _is_library(node) and all(map(is_plain, node)))


def _is_library(node: Node) -> bool:
    at = _CLASS_AT.get(str(node[0])) if node else None
    name = str(node[at]) if at is not None and len(node) > at else ""
    return bool(name) and name.partition(".")[0] not in _DATA


def _unlike(
    ours: JsonValue, theirs: JsonValue, path: str, *, within: bool = False, sizes: bool = False
) -> Iterator[Difference]:
    """Where theirs is not as ours; `within` an object of a library where it has less; of outlines `sizes` alone."""
    sizes = sizes or not (_is_told(ours) and _is_told(theirs))
    if not within and not sizes and is_plain(ours):
        differs = difference([[path, ours]], [[path, theirs]])
        yield from [differs] if differs else []
        return
    one, other = _inner(ours), _inner(theirs)
    within = within or _is_library(one)
    if not one or not other or one[0] != other[0]:
        yield from [] if within or not one or one[0] == "skip" else [Difference(path, shown(one), shown(other))]
        return
    size, found = _size(one), _size(other)
    if size is not None and found is not None and (found < size if within else found != size):
        yield Difference(path, shown(one), shown(other))
    if size != found:
        return
    yours = dict(_parts(other))
    for name, value in _parts(one):
        if name in yours:
            yield from _unlike(value, yours[name], f"{path}{name}", within=within, sizes=sizes)


def _is_told(node: JsonValue) -> bool:
    """False of an outline."""
    return items(node)[:1] != [OUTLINE]


def _inner(node: JsonValue) -> Node:
    """A description, without the tally that may stand around it, or that it is an outline."""
    told = items(node)
    return _inner(told[1]) if told[:1] in (["tally"], [OUTLINE]) else told


def _size(node: Node) -> int | None:
    """How much a description says is in a value; None where it says nothing of the kind."""
    kind = node[0]
    if kind == "array":
        return prod(int(str(length)) for length in items(node[3]))
    at = _SIZE_AT.get(str(kind))
    return None if at is None else int(str(node[at]))


def _parts(node: Node) -> Iterator[tuple[str, JsonValue]]:
    """What is in a value, by the place it has there; nothing of what an object has in private."""
    kind = node[0]
    if kind == "object" and node[3] is not True:
        yield from ((f".{name}", value) for name, value in map(items, items(node[2])))
    elif kind == "map":
        yield from ((f"[{shown(items(key))}]", value) for key, value in map(items, items(node[3])))
    elif kind == "seq":
        yield from ((f"[{at}]", value) for at, value in enumerate(items(node[4])))
