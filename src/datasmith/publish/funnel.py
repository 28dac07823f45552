"""The funnel: where every pull request of a window ended, and why; counts that must add up."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from datasmith.storage.base import STAGES, ItemState, StageItem

LAST = max(STAGES)


@dataclass(frozen=True, slots=True)
class StageCount:
    """One stage: pull requests that entered it, and where they went.

    `reasons` are (state, reason, count); `ended` are (state, reason, pull request) of the same ones, in the same order.
    """

    stage: int
    entered: int
    passed: int
    refused: int
    failed: int
    waiting: int
    reasons: tuple[tuple[str, str, int], ...]
    ended: tuple[tuple[str, str, str], ...]

    @property
    def adds_up(self) -> bool:
        """True where every pull request that entered is counted exactly once."""
        return self.entered == self.passed + self.refused + self.failed + self.waiting


@dataclass(frozen=True, slots=True)
class Funnel:
    """All stages of a window that a pull request has reached, in order."""

    window: str
    stages: tuple[StageCount, ...]

    @property
    def breaches(self) -> tuple[str, ...]:
        """What does not add up: a stage must be entered by exactly those that passed the one before."""
        found = [f"stage {count.stage}: {count.entered} entered, not all accounted for" for count in self.stages]
        found = [text for text, count in zip(found, self.stages, strict=True) if not count.adds_up]
        entered = {count.stage: count.entered for count in self.stages}
        for count in self.stages:
            after = count.stage + 1
            if count.stage != LAST and entered.get(after, 0) != count.passed:
                found.append(
                    f"stage {after}: {entered.get(after, 0)} entered, {count.passed} passed stage {count.stage}"
                )
        return tuple(found)


def funnel(window: str, rows: Iterable[StageItem]) -> Funnel:
    """Sum the ledger's rows of a window into a funnel.

    A pull request that waits at a stage again, or has failed there (a later run decides anew), may still have rows at
    later stages, which keep what was decided there. Until it passes, it counts where it is, and at no later stage.
    """
    at: dict[int, list[StageItem]] = {}
    for stages in _by_pull_request(rows):
        stopped = False
        for row in stages:
            if not stopped:
                at.setdefault(row.stage, []).append(row)
            stopped = stopped or row.state != "passed"
    return Funnel(window, tuple(_count(stage, at[stage]) for stage in sorted(at)))


def _by_pull_request(rows: Iterable[StageItem]) -> Iterable[Sequence[StageItem]]:
    """The rows of each pull request, in the stages' order."""
    found: dict[str, list[StageItem]] = {}
    for row in sorted(rows, key=lambda row: row.stage):
        if row.kind == "pull_request":
            found.setdefault(row.item, []).append(row)
    return found.values()


def _count(stage: int, rows: Sequence[StageItem]) -> StageCount:
    states: Counter[ItemState] = Counter(row.state for row in rows)
    ended = [(row.state, row.reason, row.item) for row in rows if row.state in {"refused", "failed"}]
    told: Counter[tuple[str, str]] = Counter((state, reason) for state, reason, _ in ended)
    reasons = sorted(((*key, number) for key, number in told.items()), key=lambda row: (row[0], -row[2], row[1]))
    return StageCount(
        stage=stage,
        entered=len(rows),
        passed=states["passed"],
        refused=states["refused"],
        failed=states["failed"],
        waiting=states["pending"] + states["leased"],
        reasons=tuple(reasons),
        ended=tuple(sorted(ended, key=lambda row: (row[0], -told[row[0], row[1]], *row[1:]))),
    )
