"""Change what a benchmark's code makes its inputs of: its numbers, its seeds, and the values that it computes."""

from __future__ import annotations

import ast
import math
import re
import sys
from random import Random
from string import ascii_lowercase, ascii_uppercase

from . import OWN
from .report import TYPE_CHECKING
from .rewrite import Transformer
from .seeds import derived

if TYPE_CHECKING:
    from .foreign import Foreign

__builtins__ = OWN

LEAST = 8
"""A smaller integer may be an axis, an order or a flag: it stays."""
INPUTS = 6
"""Inputs that one launch sees, that of the warm-up among them."""
LEAST_SHARE, MOST_SHARE = 2e-3, 3e-2
"""A floating-point number is moved by a share between these: by more than outputs may differ."""
SPREAD = 1e-3
"""Values that set-up computes are moved by at most half of this share."""
APART = 1.0 + 2 * SPREAD
"""A value that alone is another one is so many times as large: no further away than those of two inputs are.

Numbers in order mostly stay in order.
"""
SEED, VALUE = "\0seed", "\0value"
"""Stand in moved code where `Moves.seed` and `Moves.value` are to be called."""
_SEEDING = frozenset(
    ("seed", "Random", "RandomState", "default_rng", "SeedSequence", "PCG64", "MT19937", "random_state", "manual_seed")
)
"""Functions and arguments by these names take a seed."""
_IN_TEXT = re.compile(r"(?<![A-Za-z_\d])\d+")
"""A number in a text; in `float64` or `x1` it is part of a name."""
_DIGITS = "123456789"
PROSE = 20
"""A text of so many letters, and with white space, is no name of anything: its letters may be others."""


class Draw:
    """Which other numbers and texts the code of one input is made of: no two inputs of a launch have the same.

    twist: the launch's number, which the host draws; number: which of its inputs, 0 being that of the warm-up. The
    same value always becomes the same one in one input, and no value's change tells that of another. what: see `Texts`.

    All other inputs follow from what is kept here, so nothing of it may be kept by the code that is moved.
    """

    def __init__(self, twist: int, number: int, what: str = "numbers") -> None:
        self.seed = derived(twist, "input", number)
        self.texts = Texts(twist, number % INPUTS, what)
        self._twist = twist
        self._number = number % INPUTS

    def moved(self, value: object) -> object:
        """A number a little away from this one, or a text with such numbers; a small integer and all else stay."""
        if type(value) is int and value >= LEAST:
            return value + 1 + self._nth(value, max(INPUTS, value // 25))
        if type(value) is float and value not in (0.0, 1.0, -1.0, 0.5) and abs(value) < 1e15:
            share = LEAST_SHARE + self.spread(value) * (MOST_SHARE - LEAST_SHARE)
            return value * (1.0 + share if abs(value) >= 1.0 else 1.0 - share)
        return self.texts.moved(value) if type(value) is str else value

    def spread(self, value: object) -> float:
        """A number from 0 to 1 for this input, which those of the launch's other inputs are well away from."""
        return (self._nth(value, INPUTS) + 0.3 + 0.4 * derived(self.seed, "spread", value) / 2.0**64) / INPUTS

    def _nth(self, value: object, size: int) -> int:
        """Of a drawn order of `size` offsets, that of this input. No generator is seeded: a library sees those."""
        found: list[int] = []
        drawn = 0
        while len(found) <= self._number:
            offset = derived(self._twist, "offset", value, drawn) % size
            found += [] if offset in found else [offset]
            drawn += 1
        return found[self._number]


class Texts:
    """What the texts of one input become: different ones stay different, but for a last digit of 0.

    what: with "texts", the last digits of numbers that stand in texts are other ones; with "letters" those of long
    texts are exchanged as well; each in all texts of an input in the same way, and in no other of the launch.

    What is kept here is of this input alone: whoever finds it in the code that calls it knows no other one.
    """

    def __init__(self, twist: int, number: int, what: str) -> None:
        self._digits = _other_digits(twist, number) if what in ("letters", "texts") else {}
        drawn = Random(derived(twist, "letters", number))
        self._letters = _exchanged(drawn) if what == "letters" else {}

    def moved(self, text: str) -> str:
        """The same text, or another one."""
        if self._digits:
            text = _IN_TEXT.sub(self._digit, text)
        return text.translate(self._letters) if self._letters and _is_prose(text) else text

    def _digit(self, found: re.Match[str]) -> str:
        return found[0][:-1] + self._digits.get(found[0][-1], found[0][-1])


def _other_digits(twist: int, number: int) -> dict[str, str]:
    """Each digit's other one, none of them 0: in no two inputs of a launch has a digit the same."""
    drawn = Random(derived(twist, "digits"))
    rows = [list(_DIGITS)]
    while len(rows) < INPUTS + 1:
        row = _unlike(rows, drawn.sample(_DIGITS, len(_DIGITS)))
        if row:
            rows.append(row)
    return dict(zip("0" + _DIGITS, [drawn.sample(_DIGITS, INPUTS)[number], *rows[1 + number]]))  # noqa: B905


def _unlike(rows: list[list[str]], order: list[str]) -> list[str]:
    """Every digit once, none where another row has it, the first in the order that may stand there; or nothing."""
    left = list(order)
    found: list[str] = []
    for taken in zip(*rows):  # noqa: B905
        free = [digit for digit in left if digit not in taken]
        if not free:
            return []
        left.remove(free[0])
        found.append(free[0])
    return found


def _exchanged(drawn: Random) -> dict[int, str]:
    """Each letter's other one, for both cases the same."""
    order = drawn.sample(range(len(ascii_lowercase)), len(ascii_lowercase))
    return {ord(case[at]): case[other] for case in (ascii_lowercase, ascii_uppercase) for at, other in enumerate(order)}


def _is_prose(text: str) -> bool:
    return any(map(str.isspace, text)) and sum(map(str.isalpha, text)) >= PROSE


class Moves:
    """What a draw makes of seeds and of computed values.

    `changes` counts what was made another, `values` what an input computed the last time that it was set up.
    The code that is moved calls it: nothing is kept here of another input.
    """

    def __init__(self, draw: Draw) -> None:
        self._own, self._together, self._texts = draw.seed, draw.spread("together"), draw.texts
        self.changes = self.values = 0
        self._computed = 0
        self.begin()

    def begin(self, turn: int = 0, but: float | None = None) -> None:
        """Draw the same again from here on: the input is made anew. In another turn seeds and values are others.

        but: a number from 0 to 1; one of the values that were computed the last time, so far along, is another one.
        """
        self.values = self._computed or self.values
        self._but = None if but is None else int(but * self.values)
        self._computed = 0
        self._seed = derived(self._own, "suite", turn)
        self._drawn = Random(derived(self._own, "values", turn))
        self._common = 1.0 + SPREAD * ((self._drawn.random() if turn else self._together) - 0.5)

    @property
    def constants(self) -> dict[str, object]:
        """What moved code calls, by what stands there."""
        return {SEED: self.seed, VALUE: self.value}

    def seed(self, value: object) -> object:
        """Another seed; what is none stays, and draws what it would have."""
        if type(value) is int:
            self.changes += 1
            return (value + 1 + self._seed) % 2**32
        return value

    def value(self, value: object) -> object:
        """Floating-point numbers, lists and arrays of them, moved together and each by a share of its own; texts."""
        if type(value) is float:
            self.changes += 1
            return value * self._factor() * self._common * self._apart() if math.isfinite(value) else value
        if type(value) is str:
            other = self._texts.moved(value)
            self.changes += other != value
            return other
        if type(value) is list and value and {type(item) for item in value} in ({float}, {str}):
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
        low, high = ((1.0 + side * SPREAD / 2) * self._common for side in (-1, 1))
        factors, apart = drawn.uniform(low, high, value.shape), self._apart()
        if apart != 1.0 and factors.size > 0:  # type: ignore[operator]
            at = drawn.randint(factors.size)
            factors.flat[at] = numpy.multiply(factors.flat[at], apart)
        return numpy.multiply(value, factors.astype(value.dtype), order="K")

    def _apart(self) -> float:
        """What a value, or one of an array, is multiplied by: 1 but for the one that `begin` was told."""
        self._computed += 1
        return APART if self._computed - 1 == self._but else 1.0

    def _factor(self) -> float:
        return 1.0 + SPREAD * (self._drawn.random() - 0.5)


class Move(Transformer):
    """Moves what stands in a piece of code.

    what: "seeds": only those of generators; "numbers": all numbers as well; "everything", "texts", "letters": also what
    comprehensions and assignments yield, where `sets_up`: the code makes inputs, and is not timed.
    """

    def __init__(self, draw: Draw, what: str, *, sets_up: bool) -> None:
        self._draw = draw
        self._numbers = what != "seeds"
        self._values = what in ("letters", "texts", "everything") and sets_up
        self.changes = 0

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """A text that stands alone is a comment."""
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """What an error says is no input."""
        return node

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
        """A number, or a text, that stands in the code."""
        new = self._draw.moved(node.value) if self._numbers else node.value
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
