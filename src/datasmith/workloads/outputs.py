"""Whether two runs of a benchmark computed the same: descriptions made in sandboxes, read as untrusted JSON.

What a description looks like is written where it is made, in `inside/describe.py`. Numbers are compared as numpy's
allclose does, the second being the expected one; integers, texts, types and shapes exactly.
"""

import base64
import re
from bisect import bisect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isfinite, isnan

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from datasmith.workloads.described import MALFORMED, SHOWN, Node, items, shown, text
from datasmith.workloads.inside.labels import INSIDE

RTOL = 1e-5
ATOL = 1e-8
WRITTEN = 0.25
"""So much of what base writes to files has to be written."""
_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?")
NUMBERS = frozenset({"bool", "int", "float", "complex"})
_EXACT = frozenset({"bool", "int"})
_EQUAL_DICTS = frozenset({"collections.Counter", "collections.OrderedDict", "collections.defaultdict"})
"""Mappings that are equal to a plain one with the same items, and are read like it."""
Numbers = NDArray[np.float64] | NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two outputs differ: the path inside the value, and what stands there in each."""

    path: str
    expected: str
    found: str


def difference(expected: JsonValue, found: JsonValue) -> Difference | None:
    """The first difference between two captures (lists of [label, description]); None where they agree.

    What could not be described of what is expected (a generator, a function, what lies beyond the budget) is not
    compared; a budget that is spent on one side only is a difference.
    """
    ours, theirs = _records(expected), _records(found)
    if ours is None:
        return None
    if theirs is None:
        return Difference("", "values", "no list of values")
    labels = {label for label, _ in ours}
    # What looks the same afterwards may keep something for later: a cache is no output.
    theirs = [(label, node) for label, node in theirs if label in labels or not label.endswith(INSIDE)]
    for (label, node), (other_label, other) in zip(ours, theirs, strict=False):
        if label != other_label:
            return Difference(label, shown(node), f"{other_label}: {shown(other)}")
        unlike = _differ(node, other, label)
        if unlike:
            return unlike
    if len(ours) != len(theirs):
        longer = ours if len(ours) > len(theirs) else theirs
        label, node = longer[min(len(ours), len(theirs))]
        told = (shown(node), "nothing") if longer is ours else ("nothing", shown(node))
        return Difference(label, *told)
    return None


def has_values(records: JsonValue) -> bool:
    """True where a capture holds anything that can be compared beside None and what was skipped."""
    nodes = (node for label, node in _records(records) or () if label != "values")
    return any(node[0] not in ("none", "skip", "cut") and node != ["call", []] for node in nodes)


def _records(value: JsonValue) -> list[tuple[str, Node]] | None:
    if not isinstance(value, list):
        return None
    found = []
    for record in value:
        if not isinstance(record, list) or len(record) != 2 or not isinstance(record[0], str):
            return None
        found.append((record[0][:SHOWN], _node(record[1])))
    return found


def _node(value: JsonValue) -> Node:
    """A description; what is none is one that nothing equals."""
    return value if isinstance(value, list) and value and isinstance(value[0], str) else ["malformed"]


def _differ(ours: JsonValue, theirs: JsonValue, path: str, *, soft: bool = False) -> Difference | None:
    """The first difference between two descriptions; with `soft`, one of kind or shape does not count."""
    one, other = _node(ours), _node(theirs)
    kind, other_kind = str(one[0]), str(other[0])
    if "tally" in (kind, other_kind):
        return _tallied(one, other, path, soft=soft)
    if kind in ("skip", "cut"):
        return None
    if kind in NUMBERS and other_kind in NUMBERS:
        return None if _close(one, other) else Difference(path, shown(one), shown(other))
    if other_kind == "cut":
        return None if soft else Difference(path, shown(one), "too much to be described")
    if kind != other_kind:
        return None if soft else Difference(path, shown(one), shown(other))
    compare = _KINDS.get(kind)
    try:
        if compare is None:
            return None if kind == "none" else Difference(path, shown(one), "malformed")
        return compare(one, other, path, soft)
    except MALFORMED:
        return Difference(path, shown(one), "malformed")


def _tallied(one: Node, other: Node, path: str, *, soft: bool) -> Difference | None:
    """tally: description, values seen, digests of texts and integers, how many not finite, sums, amounts, if cut."""
    inner, other_inner = (_node(node[1]) if node[0] == "tally" and len(node) > 1 else node for node in (one, other))
    unlike = _differ(inner, other_inner, path, soft=soft)
    if unlike or soft or one[0] != other[0]:
        return unlike
    try:
        alike = _same_tally(one[2:], other[2:])
    except MALFORMED:
        alike = False
    return None if alike else Difference(f"all of {path}", shown(one), "others")


def _same_tally(one: Node, other: Node) -> bool:
    if (one[0], one[1], one[3], one[6]) != (other[0], other[1], other[3], other[6]):
        return False
    if one[2] is not None and other[2] is not None:
        return one[2] == other[2]
    rows = ([[float(text(part)) for part in items(side)] for side in node[4:6]] for node in (one, other))
    (sums, amounts), (other_sums, other_amounts) = rows
    scales = [max(pair) for pair in zip(amounts, other_amounts, strict=True)]
    pairs = [*zip(sums, other_sums, scales, strict=True), *zip(amounts, other_amounts, scales, strict=True)]
    return all(ours == theirs or abs(ours - theirs) <= ATOL + RTOL * scale for ours, theirs, scale in pairs)


def _close(one: Node, other: Node) -> bool:
    try:
        if not _EXACT.isdisjoint((str(one[0]), str(other[0]))):
            expected, found = _integer(one), _integer(other)
            if expected is not None and found is not None:
                return expected == found
            return abs(_complex(one) - _complex(other)) <= ATOL
        return close(_complex(one), _complex(other))
    except MALFORMED:
        return False


def _integer(node: Node) -> int | None:
    """The integer that a number is exactly; None of any other."""
    if node[0] in _EXACT:
        return int(text(node[1]))
    number = _complex(node)
    return int(number.real) if number.imag == 0.0 and number.real.is_integer() else None


def close(expected: complex, found: complex) -> bool:
    """Within rtol 1e-5 and atol 1e-8, complex numbers as a whole; NaN equals NaN, infinity only itself."""
    if not all(map(isfinite, (expected.real, expected.imag, found.real, found.imag))):
        return _same_special(expected.real, found.real) and _same_special(expected.imag, found.imag)
    return abs(found - expected) <= ATOL + RTOL * abs(expected)


def _same_special(one: float, other: float) -> bool:
    if isnan(one) or isnan(other):
        return isnan(one) and isnan(other)
    return one == other or (isfinite(one) and isfinite(other) and abs(one - other) <= ATOL + RTOL * abs(one))


def _complex(node: Node) -> complex:
    if node[0] == "complex":
        return complex(float(text(node[1])), float(text(node[2])))
    return complex(float(text(node[1])), 0.0)


def _same_rest(one: Node, other: Node, path: str, _soft: bool) -> Difference | None:
    return None if one[1:] == other[1:] else Difference(path, shown(one), shown(other))


def _texts(one: Node, other: Node, path: str, soft: bool) -> Difference | None:
    """text: class, what its instance shows; numbers in it are compared as numbers."""
    ours, theirs = text(one[2]), text(other[2])
    if one[1] == other[1] and _NUMBER.sub("#", ours) == _NUMBER.sub("#", theirs):
        pairs = zip(_NUMBER.findall(ours), _NUMBER.findall(theirs), strict=True)
        if all(one == other or ("." in one and close(float(one), float(other))) for one, other in pairs):
            return None
    return None if soft and one[1] != other[1] else Difference(path, shown(one), shown(other))


def _sequences(one: Node, other: Node, path: str, soft: bool) -> Difference | None:
    """seq: name of a class that is no plain list or tuple, length, positions, elements, sums."""
    if one[1:4] != other[1:4]:
        return None if soft else Difference(path, shown(one), shown(other))
    at = one[3] if isinstance(one[3], list) else list(range(len(items(one[4]))))
    for position, ours, theirs in zip(at, items(one[4]), items(other[4]), strict=True):
        unlike = _differ(ours, theirs, f"{path}[{position}]", soft=soft)
        if unlike:
            return unlike
    # Numbers of numpy in a list have no sums; they are in its tally.
    return None if one[5] is None or other[5] is None else _sums(one[5], other[5], path)


def _sums(ours: JsonValue, theirs: JsonValue, path: str) -> Difference | None:
    """Sum, sum of amounts, number of values that are not finite, imaginary part of the sum."""
    if ours is None and theirs is None:
        return None
    one, other = [float(text(part)) for part in items(ours)], [float(text(part)) for part in items(theirs)]
    scale = max(abs(one[1]), abs(other[1]))
    totals = [complex(side[0], (side + [0.0] * 4)[3]) for side in (one, other)]
    near = totals[0] == totals[1] or abs(totals[0] - totals[1]) <= ATOL + RTOL * scale
    same = one[2] == other[2] and near and close(one[1], other[1])
    return None if same else Difference(f"sum of {path}", str(one[0]), str(other[0]))


def _sets(one: Node, other: Node, path: str, soft: bool) -> Difference | None:
    """set: length, elements in an order that says nothing."""
    if one[1] != other[1]:
        return None if soft else Difference(path, shown(one), shown(other))
    left = sorted(items(other[2]), key=_rank)
    for item in sorted(items(one[2]), key=_rank):
        if not left or _taken(item, left, ""):
            return Difference(path, f"a set with {shown(_node(item))}", "one without it")
    return None


def _taken(one: JsonValue, left: list[JsonValue], path: str, *, soft: bool = False) -> Difference | None:
    """Take the first that is no other out of those that are left; where none is, how the first of them differs."""
    first = None
    for at, other in enumerate(left):
        unlike = _differ(one, other, path, soft=soft)
        if unlike is None:
            del left[at]
            return None
        first = first or unlike
    return first


def _rank(node: JsonValue) -> float:
    """Where an element of a set is looked for: numbers by their size, so that each finds the one that is near."""
    kind, *rest = _node(node)
    number = float(text(rest[0])) if kind in NUMBERS - {"complex"} else inf
    return inf if isnan(number) else number


def _written(one: Node, other: Node, path: str, _soft: bool) -> Difference | None:
    """written: bytes in files, whether they may change in a moment; a part is enough: there are shorter formats."""
    enough = one[2] is True or float(text(other[1])) >= WRITTEN * float(text(one[1]))
    return None if enough else Difference(path, shown(one), shown(other))


def _mappings(one: Node, other: Node, path: str, soft: bool) -> Difference | None:
    """map: name of a class that is no dict, length, pairs; of keys described alike, their values in any order."""
    alike = one[1] == other[1] or (not one[1] and other[1] in _EQUAL_DICTS)
    if not soft and not (alike and one[2] == other[2]):
        return Difference(path, shown(one), shown(other))
    ours, others = _pairs(one[3]), _pairs(other[3])
    theirs: dict[str, list[JsonValue]] = {}
    for name, _, value in others:
        theirs.setdefault(name, []).append(value)
    expected = {name for name, _, _ in ours}
    floats = sorted((_complex(key).real, name) for name, key, _ in others if key[0] == "float" and name not in expected)
    for name, key, value in ours:
        left, place = theirs.get(name) or _near(key, floats, theirs), f"{path}[{shown(key)}]"
        if not left:
            return None if soft else Difference(place, shown(_node(value)), "no such key")
        unlike = _taken(value, left, place, soft=soft)
        if unlike:
            return unlike
    return None


def _pairs(nodes: JsonValue) -> list[tuple[str, Node, JsonValue]]:
    """What each key is found by, the key, and its value."""
    return [(_key(key), _node(key), value) for key, value in map(items, items(nodes))]


def _key(node: JsonValue) -> str:
    """The description of a key, the same for numbers that are equal."""
    if not isinstance(node, list) or not node:
        return repr(node)
    if isinstance(node[0], str) and node[0] in NUMBERS:
        number = _integer(node)
        return repr(node) if number is None else str(number)
    return f"[{', '.join(map(_key, node))}]"


def _near(key: Node, floats: list[tuple[float, str]], theirs: Mapping[str, list[JsonValue]]) -> list[JsonValue] | None:
    """The values of the nearest of some keys, which is taken out of them, where that is no other float than this."""
    if key[0] != "float" or not floats:
        return None
    wanted = _complex(key).real
    at = bisect(floats, (wanted, ""))
    nearest = min(range(max(0, at - 1), min(len(floats), at + 1)), key=lambda place: abs(floats[place][0] - wanted))
    return theirs[floats.pop(nearest)[1]] if close(wanted, floats[nearest][0]) else None


def _objects(one: Node, other: Node, path: str, soft: bool) -> Difference | None:
    """object: class, parts by name, whether they are private (then only numbers of the same shape count)."""
    if one[1] != other[1]:
        return None if soft else Difference(path, f"a {one[1]}", f"a {other[1]}"[:SHOWN])
    return _parts(one[2], other[2], path, soft=soft or one[3] is True)


def _parts(ours: JsonValue, others: JsonValue, path: str, *, soft: bool) -> Difference | None:
    theirs = {str(items(part)[0]): items(part)[1] for part in items(others)}
    for part in items(ours):
        name, value = items(part)
        if str(name) not in theirs:
            if soft:
                continue
            return Difference(f"{path}.{name}", shown(_node(value)), "no such attribute")
        unlike = _differ(value, theirs[str(name)], f"{path}.{name}", soft=soft)
        if unlike:
            return unlike
    return None


def _calls(one: Node, other: Node, path: str, soft: bool) -> Difference | None:
    """call: parts by name, none less, and none more but what a call keeps for itself."""
    unlike = _parts(one[1], other[1], path, soft=soft)
    names = {str(items(part)[0]) for part in items(one[1])}
    more = (part for part in map(items, items(other[1])) if str(part[0]) not in names and INSIDE not in str(part[0]))
    first = None if unlike else next(more, None)
    return Difference(f"{path}.{first[0]}"[:SHOWN], "nothing", shown(_node(first[1]))) if first else unlike


def _modules(one: Node, other: Node, path: str, soft: bool) -> Difference | None:
    """module: what it offers, by name; what it has besides; whether it makes more when somebody asks."""
    told = {str(items(part)[0]) for part in items(other[1])}
    missing = [part for part in items(one[1]) if str(items(part)[0]) not in told]
    excused = [part for part in missing if other[3] is True or items(part)[0] in items(other[2])]
    return _parts(one[1], [*items(other[1]), *excused], path, soft=soft)


def _arrays(one: Node, other: Node, path: str, soft: bool) -> Difference | None:
    """array: class, dtype, shape, positions, data of some or all elements, sums, digest of exact kinds."""
    if one[1:4] != other[1:4]:
        return None if soft else Difference(path, _array_kind(one), _array_kind(other))
    if one[7] is not None or other[7] is not None:
        if one[7] == other[7]:
            return None
        at = _first_unlike(_numbers(one), _numbers(other), exact=True)
        return Difference(_place(path, one, at), _element(one, at), _element(other, at))
    if one[4] != other[4]:
        return Difference(path, _array_kind(one), _array_kind(other))
    ours, theirs = _numbers(one), _numbers(other)
    if ours.shape != theirs.shape:
        return Difference(path, f"{ours.size} numbers", f"{theirs.size} numbers")
    at = _first_unlike(ours, theirs, exact=False)
    if at is not None:
        return Difference(_place(path, one, at), _element(one, at), _element(other, at))
    return _sums(one[6], other[6], path)


def _numbers(node: Node) -> Numbers:
    data = base64.b64decode(text(node[5]), validate=True)
    return np.frombuffer(data, dtype="<c16") if text(node[2]).startswith("complex") else np.frombuffer(data, "<f8")


def _first_unlike(ours: Numbers, theirs: Numbers, *, exact: bool) -> int | None:
    if ours.shape != theirs.shape:
        return None
    rtol, atol = (0.0, 0.0) if exact else (RTOL, ATOL)
    unlike = np.flatnonzero(~np.isclose(theirs, ours, rtol=rtol, atol=atol, equal_nan=True))
    return int(unlike[0]) if unlike.size else None


def _array_kind(node: Node) -> str:
    return f"{node[1]} of {node[2]}, shape {node[3]}"[:SHOWN]


def _place(path: str, node: Node, at: int | None) -> str:
    if at is None:
        return path
    return f"{path}[{node[4][at] if isinstance(node[4], list) else at}]"


def _element(node: Node, at: int | None) -> str:
    return _array_kind(node) if at is None else str(_numbers(node)[at])


_KINDS: dict[str, Callable[[Node, Node, str, bool], Difference | None]] = {
    "str": _same_rest,
    "bytes": _same_rest,
    "text": _texts,
    "seq": _sequences,
    "set": _sets,
    "map": _mappings,
    "object": _objects,
    "array": _arrays,
    "call": _calls,
    "module": _modules,
    "written": _written,
}
