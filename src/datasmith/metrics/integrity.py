"""Results that cannot be two results: configurations whose values agree to the last digit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

SAME = 1e-12


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two configurations that agree to 1e-12 on `equal` of their `shared` tasks; times measured twice never do."""

    first: str
    second: str
    equal: int
    shared: int

    @property
    def complete(self) -> bool:
        """True where they agree on every task that they share: one of them is a copy."""
        return self.equal == self.shared

    @property
    def meaning(self) -> str:
        """The end of a line about it: of attempts the first one counts, of two configurations nobody knows which."""
        copy = "one is a copy of the other, " if self.complete else ""
        return f": {copy}{'counted once' if self.first == self.second else 'both count'}"


def duplicates(values: Mapping[str, Mapping[str, Sequence[float]]]) -> tuple[Duplicate, ...]:
    """The pairs that agree on a task or more, from configuration -> task -> measured values, in the order given.

    Leave out what was not measured: a failure policy gives two failed trials equal values rightly.
    """
    found = []
    for (first, mine), (second, others) in combinations(values.items(), 2):
        shared = [task for task in mine if task in others]
        equal = sum(_same(mine[task], others[task]) for task in shared)
        if equal:
            found.append(Duplicate(first, second, equal, len(shared)))
    return tuple(found)


def repeated(values: Mapping[str, Mapping[str, Sequence[Sequence[float]]]]) -> tuple[Duplicate, ...]:
    """The configurations two of whose attempts at a task are equal, from configuration -> task -> values per attempt.

    `first` and `second` are then the same one; `shared` are its tasks with two attempts or more.
    """
    found = []
    for name, tasks in values.items():
        several = [attempts for attempts in tasks.values() if len(attempts) > 1]
        equal = sum(any(_same(*two) for two in combinations(attempts, 2)) for attempts in several)
        if equal:
            found.append(Duplicate(name, name, equal, len(several)))
    return tuple(found)


def without_copies(attempts: Sequence[Sequence[float] | None]) -> list[int]:
    """Which attempts at a task count: all but those whose values an earlier one has; None: not measured, counts."""
    kept: list[int] = []
    for at, values in enumerate(attempts):
        earlier = (attempts[other] for other in kept)
        if values is None or not any(theirs is not None and _same(values, theirs) for theirs in earlier):
            kept.append(at)
    return kept


def _same(mine: Sequence[float], others: Sequence[float]) -> bool:
    return len(mine) == len(others) and all(abs(a - b) <= SAME for a, b in zip(mine, others, strict=True))
