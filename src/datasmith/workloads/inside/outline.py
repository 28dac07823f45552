"""A large description without its values: kinds, classes and sizes of all that is in it."""

from __future__ import annotations

import json

from . import OWN
from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from .foreign import Node

__builtins__ = OWN

MOST_TOLD = 50_000
"""A description of more bytes is told in outline."""
OUTLINE = "outline"
VALUE: Node = ["skip", "a value"]
"""Stands where something is that has no size."""


def told(node: Node) -> Node:
    """The description, or what is left of a large one."""
    return [OUTLINE, outline(node)] if len(json.dumps(node)) > MOST_TOLD else node


def outline(node: object) -> Node:
    """A description without single values."""
    assert isinstance(node, list)
    kind = node[0]
    if kind == "tally":
        return outline(node[1])
    if kind == "array":
        return node[:4]
    if kind == "seq":
        return [*node[:3], None, _without_values([outline(item) for item in node[4]])]
    if kind == "map":
        pairs = ([key, outline(value)] for key, value in node[3])
        return [*node[:3], [pair for pair in pairs if pair[1] != VALUE]]
    if kind == "object":
        return ["object", node[1], [[name, outline(value)] for name, value in node[2]], node[3]]
    return ["set", node[1]] if kind == "set" else list(VALUE)


def _without_values(items: list[Node]) -> list[Node]:
    return items if any(item != VALUE for item in items) else []
