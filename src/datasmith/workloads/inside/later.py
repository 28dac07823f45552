"""Do later calls write over what an earlier one gave? Who is handed the same list each time cannot keep it."""

from __future__ import annotations

import sys
from random import Random

from . import OWN
from .attributes import brings
from .describe import Describer
from .grown import only_grown
from .report import TYPE_CHECKING
from .seeds import derived

if TYPE_CHECKING:
    from .foreign import Node

__builtins__ = OWN

MOST_HELD = 16
MOST_BYTES = 2**25
"""Values of one call that are held until later ones are over, and what one may take in memory as far as it says."""
MOST_NODES = 4000
"""Descriptions of all that is held."""
_UNWRITTEN = frozenset(("skip", "none", "bool", "int", "float", "complex", "str", "bytes"))
KEPT = ["text", "", "as it was"]
WRITTEN_OVER = ["skip", "later calls write over it"]
"""As whatever is skipped, it is held against nobody where it is base that does so."""


class Held:
    """Values of a call, described after it, and again after others: all, or some of many, which are drawn."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._drawn = Random(derived(seed, "held"))
        self._seen = 0
        self._values: list[tuple[str, object]] = []
        self._before: list[Node] = []

    def take(self, label: str, value: object, told: Node) -> None:
        """Hold a value that the call gave, described as `told`.

        In the place of one that nobody can write to, or that only lends its memory, or a resource, stands nothing: code
        of the suite may have to close it, and an arm may give such a one where base does not.
        """
        self._seen += 1
        at = len(self._values) if self._seen <= MOST_HELD else self._drawn.randrange(self._seen)
        if at < MOST_HELD:
            taken = f"{label}, value {self._seen}", value if _may_be_held(value, told) else None
            self._values[at : at + 1] = [taken]

    def describe(self) -> None:
        """The call is over."""
        self._before = self._described()

    def compared(self) -> Node:
        """Later ones are over, too: a part for each value; nothing is held any longer."""
        after = self._described()
        told: list[object] = []
        for number, (label, _) in enumerate(self._values):
            same = only_grown(self._before[number], after[number])
            told.append([label, KEPT if same else WRITTEN_OVER])
        self._values = []
        return ["object", "call", told, False]

    def _described(self) -> list[Node]:
        describer = Describer(self._seed, nodes=MOST_NODES)
        return [describer.node(value) for _, value in self._values]


def _may_be_held(value: object, told: Node) -> bool:
    kind = type(value)
    if kind is bytearray:  # told as bytes are, which nobody can write to
        return sys.getsizeof(value) <= MOST_BYTES
    if not told or told[0] in _UNWRITTEN or kind is memoryview or brings(kind, "close") or brings(kind, "__exit__"):
        return False
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.ndarray):
        return not brings(kind, "__len__") or sys.getsizeof(value) <= MOST_BYTES
    lender = getattr(value, "base", None)
    while isinstance(lender, numpy.ndarray):
        value, lender = lender, getattr(lender, "base", None)
    return lender is None and sys.getsizeof(value) <= MOST_BYTES
