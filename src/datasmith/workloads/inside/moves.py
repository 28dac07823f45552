"""Change what a benchmark's code makes its inputs of: its numbers, its seeds, and the values that it computes."""

from __future__ import annotations

import ast
import math
import sys
from random import Random

from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from .foreign import Foreign

LEAST = 8
"""A smaller integer may be an axis, an order or a flag: it stays."""
SPREAD = 1e-3
"""Values that set-up computes are moved by at most half of this share."""
SEED, VALUE = "\0seed", "\0value"
"""Stand in moved code where `Moves.seed` and `Moves.value` are to be called."""
_SEEDING = frozenset(
    ("seed", "Random", "RandomState", "default_rng", "SeedSequence", "PCG64", "MT19937", "random_state", "manual_seed")
)
"""Functions and arguments by these names take a seed."""


def moved(value: object, twist: int) -> object:
    """A number a little larger, always the same for the same one; anything else, and a small integer, as it is."""
    if type(value) is int and value >= LEAST:
        return value + 1 + twist % max(3, value // 25)
    if type(value) is float and value not in (0.0, 1.0, -1.0, 0.5) and abs(value) < 1e15:
        return value * (1.0 + (1 + twist % 7919) * 1e-6)
    return value


class Moves:
    """What one number, `twist`, makes of seeds and of computed values; `changes` counts what was made another."""

    def __init__(self, twist: int) -> None:
        self._twist = twist
        self._drawn = Random(twist)
        self.changes = 0

    @property
    def constants(self) -> dict[str, object]:
        """What moved code calls, by what stands there."""
        return {SEED: self.seed, VALUE: self.value}

    def seed(self, value: object) -> object:
        """Another seed; what is none stays, and draws what it would have."""
        if type(value) is int:
            self.changes += 1
            return (value + 1 + self._twist) % 2**32
        return value

    def value(self, value: object) -> object:
        """Floating-point numbers, lists and arrays of them, each number moved by a share of its own."""
        if type(value) is float:
            self.changes += 1
            return value * self._factor() if math.isfinite(value) else value
        if type(value) is list and value and all(type(item) is float for item in value):
            return [self.value(item) for item in value]
        numpy = sys.modules.get("numpy")
        if numpy is not None and type(value) is numpy.ndarray:
            return self._array(value, numpy)  # type: ignore[arg-type]
        return value

    def _array(self, value: Foreign, numpy: Foreign) -> object:
        if str(value.dtype.kind) != "f":
            return value
        self.changes += 1
        drawn = numpy.random.RandomState(self._drawn.randrange(2**32))
        factors = drawn.uniform(1.0 - SPREAD / 2, 1.0 + SPREAD / 2, value.shape)
        return numpy.multiply(value, factors.astype(value.dtype), order="K")

    def _factor(self) -> float:
        return 1.0 + SPREAD * (self._drawn.random() - 0.5)


class Move(ast.NodeTransformer):
    """Moves what stands in a piece of code.

    what: "seeds": only those of generators; "numbers": all numbers as well; "everything": also what comprehensions and
    assignments yield, where `sets_up`: the code makes inputs, and is not timed.
    """

    def __init__(self, twist: int, what: str, *, sets_up: bool) -> None:
        self._twist = twist
        self._numbers = what != "seeds"
        self._values = what == "everything" and sets_up
        self.changes = 0

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """The arguments of `random.Random(7)`, `np.random.seed(size)`, `default_rng(42)`."""
        named = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        node.func = self.visit(node.func)
        seeds = str(named) in _SEEDING
        node.args = [_called(SEED, argument) if seeds else self.visit(argument) for argument in node.args]
        for keyword in node.keywords:
            takes_seed = seeds or keyword.arg in _SEEDING
            keyword.value = _called(SEED, keyword.value) if takes_seed else self.visit(keyword.value)
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        """`Random(*seeds)` stays."""
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        """Each element."""
        self.generic_visit(node)
        node.elt = self._value(node.elt)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """What is assigned."""
        self.generic_visit(node)
        node.value = self._value(node.value)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """A number that stands in the code."""
        new = moved(node.value, self._twist) if self._numbers else node.value
        if new is node.value or new == node.value:
            return node
        self.changes += 1
        return ast.copy_location(ast.parse(repr(new), mode="eval").body, node)

    def _value(self, node: ast.expr) -> ast.expr:
        return _called(VALUE, node) if self._values else node


def _called(name: str, argument: ast.expr) -> ast.expr:
    if isinstance(argument, ast.Starred):
        return argument
    call = ast.Call(func=ast.Constant(value=name), args=[argument], keywords=[])
    return ast.fix_missing_locations(ast.copy_location(call, argument))
