"""Keep what each arm computed, and decide workload by workload whether a submission computes what base does."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from datasmith.workloads.base import BASE, CONTROL, EXPERT
from datasmith.workloads.outputs import Difference, difference, has_values

OutputState = Literal["equal", "as_expert", "differs", "unstable", "nothing", "not_captured"]


@dataclass(frozen=True, slots=True)
class Capture:
    """What one launch said of its outputs: values, or a reason why there are none; seconds it took to say that.

    On fresh inputs, seconds of each call alone (`calls`), of setting it up (`setups`) and of looking at what it
    computed a second time (`again`); the launch's samples are with the first looks. Between marks, seconds of tearing
    each down (`teardowns`).
    """

    values: JsonValue = None
    reason: str = ""
    seconds: float = 0.0
    calls: tuple[float, ...] = ()
    setups: tuple[float, ...] = ()
    again: tuple[float, ...] = ()
    teardowns: tuple[float, ...] = ()


class OutputRow(BaseModel):
    """One workload in one arm against base.

    `as_expert`: as the expert's patch computes it, which is not what base does. `unstable`: base itself computes
    something else each time. `nothing`: base computes nothing that can be compared (None, a generator, a function).
    `not_captured`: base's outputs could not be seen; `reason` says why. Only `differs` is held against an arm: `path`
    is the place inside the value, `expected` and `found` what base and the arm have there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    workload: str
    state: OutputState
    path: str = ""
    expected: str = ""
    found: str = ""
    reason: str = ""


class OutputWatch:
    """The captures of one measurement."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], Capture] = {}
        self._rows: dict[tuple[str, str], OutputRow] = {}

    def add(self, workload: str, arm: str, capture: Capture | None) -> None:
        """Take a capture; where base, or an arm, was captured before, the new one is held against that."""
        if capture is None:
            return
        first = self._seen.setdefault((workload, arm), capture)
        if first is capture:
            return
        if arm in (BASE, EXPERT):
            self._again(workload, first, capture)
        elif arm != CONTROL and self.row(workload, arm).state in ("equal", "as_expert"):
            self._rows[workload, arm] = self._compare(workload, capture)

    def row(self, workload: str, arm: str) -> OutputRow:
        """The decision, made when it is first asked for: after base, base2 and the expert were captured."""
        if (workload, arm) not in self._rows:
            capture = self._seen.get((workload, arm), Capture(reason="it was not launched"))
            self._rows[workload, arm] = self._compare(workload, capture)
        return self._rows[workload, arm]

    def rows(self, arm: str, workloads: Iterable[str]) -> tuple[OutputRow, ...]:
        """The decisions on one arm."""
        return tuple(self.row(workload, arm) for workload in workloads)

    def failing(self, arms: Iterable[str], workloads: Iterable[str]) -> Mapping[str, str]:
        """The arms that compute something else, each with the first workload in which it does."""
        names = list(workloads)
        found = ((arm, row) for arm in arms for row in self.rows(arm, names) if row.state == "differs")
        return {arm: row.workload for arm, row in reversed(list(found))}

    def refute(self, workload: str, arm: str, unlike: Difference) -> None:
        """An arm computed something else than base where both were asked for the same."""
        self._rows[workload, arm] = _differing(workload, unlike)

    def _again(self, workload: str, first: Capture, second: Capture) -> None:
        """Base or the expert was captured once more: where it differs from itself nothing is held against anyone."""
        if second.reason or difference(first.values, second.values):
            self._seen[workload, BASE] = Capture(reason="unstable")
            for key in [key for key in self._rows if key[0] == workload]:
                self._rows[key] = OutputRow(workload=workload, state="unstable")

    def _compare(self, workload: str, capture: Capture) -> OutputRow:
        base = self._seen.get((workload, BASE), Capture(reason="it was not launched"))
        if base.reason:
            state: OutputState = "unstable" if base.reason == "unstable" else "not_captured"
            return OutputRow(workload=workload, state=state, reason=base.reason)
        control = self._seen.get((workload, CONTROL))
        if control and (control.reason or difference(base.values, control.values)):
            return OutputRow(workload=workload, state="unstable", reason=control.reason)
        if not has_values(base.values):
            return OutputRow(workload=workload, state="nothing")
        unlike = _unlike(base, capture)
        if unlike is None:
            return OutputRow(workload=workload, state="equal")
        expert = self._seen.get((workload, EXPERT))
        if expert and not expert.reason and _unlike(expert, capture) is None:
            return OutputRow(workload=workload, state="as_expert")
        return _differing(workload, unlike)


def _differing(workload: str, unlike: Difference) -> OutputRow:
    return OutputRow(workload=workload, state="differs", path=unlike.path, expected=unlike.expected, found=unlike.found)


def _unlike(expected: Capture, found: Capture) -> Difference | None:
    if found.reason:
        return Difference("", "values", found.reason)
    return difference(expected.values, found.values)
