"""Does a later call write over what an earlier one gave? Who is handed the same list each time cannot keep it."""

from __future__ import annotations

from .describe import Describer

MOST_HELD = 32
MOST_HELD_BYTES = 2**27
"""Values of one call that are held until the next, and what they may take in memory as far as arrays say so."""
KEPT = ["text", "", "as it was"]
WRITTEN_OVER = ["skip", "a later call writes over it"]
"""As whatever is skipped, it is held against nobody where it is base that does so."""


class Held:
    """Some values of a call, described after it, and again after another one."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._values: list[tuple[str, object]] = []
        self._bytes = 0
        self._before: list[object] = []

    def take(self, label: str, value: object) -> None:
        """Hold a value that the call gave."""
        size = getattr(value, "nbytes", 0) if type(value).__module__ == "numpy" else 0
        if len(self._values) < MOST_HELD and self._bytes + size <= MOST_HELD_BYTES:
            self._bytes += size
            self._values.append((label, value))

    def describe(self) -> None:
        """The call is over."""
        self._before = self._described()

    def compared(self) -> list[object]:
        """Another call is over: a part for each value; nothing is held any longer."""
        after = self._described()
        told: list[object] = []
        for number, (label, _) in enumerate(self._values):
            same = self._before[number] == after[number]
            told.append([f"{label}, value {number + 1}", KEPT if same else WRITTEN_OVER])
        self._values = []
        return told

    def _described(self) -> list[object]:
        describer = Describer(self._seed)
        return [describer.node(value) for _, value in self._values]
