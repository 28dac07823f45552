"""Keep what each arm computed, and decide workload by workload whether a submission computes what base does."""

from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

from datasmith.workloads.base import BASE, CONTROL, EXPERT
from datasmith.workloads.captured import NOT_LAUNCHED, Capture, Merged, outputs_unlike, parts_unlike
from datasmith.workloads.outputs import Difference, difference, has_values

OutputState = Literal["equal", "as_expert", "differs", "unstable", "nothing", "not_captured"]


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
        self._seen: dict[tuple[str, str], list[Capture]] = {}
        self._rows: dict[tuple[str, str], OutputRow] = {}
        self._refuted: dict[tuple[str, str], Difference] = {}

    def add(self, workload: str, arm: str, capture: Capture | None) -> None:
        """Take a capture; where base, or an arm, was captured before, each of them has to say the same."""
        if capture is None:
            return
        self._seen.setdefault((workload, arm), []).append(capture)
        self._rows = {key: row for key, row in self._rows.items() if key[0] != workload}

    def row(self, workload: str, arm: str) -> OutputRow:
        """The decision, by what has been captured so far."""
        key = workload, arm
        if key in self._refuted:
            return _differing(workload, self._refuted[key])
        if key not in self._rows:
            rows = [self._compare(workload, capture) for capture in self._captures(workload, arm)]
            self._rows[key] = next((row for row in rows if row.state not in ("equal", "as_expert")), rows[-1])
        return self._rows[key]

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
        self._refuted[workload, arm] = unlike

    def _captures(self, workload: str, arm: str) -> list[Capture]:
        return self._seen.get((workload, arm)) or [NOT_LAUNCHED]

    def _repeats_itself(self, workload: str) -> bool:
        """False where base or the expert was captured once more, and said something else then."""
        first_and_others = (self._captures(workload, arm) for arm in (BASE, EXPERT))
        return not any(
            other.reason or difference(first.values, other.values)
            for first, *others in first_and_others
            for other in others
        )

    def _compare(self, workload: str, capture: Capture) -> OutputRow:
        (base, *_), (control, *_), (expert, *_) = (self._captures(workload, arm) for arm in (BASE, CONTROL, EXPERT))
        again = [one for arm in (BASE, CONTROL) for one in self._seen.get((workload, arm), ())]
        made = parts_unlike(base, capture, Merged(tuple(again), expert if (workload, EXPERT) in self._seen else None))
        if made:
            return _differing(workload, made)
        if not self._repeats_itself(workload):
            return OutputRow(workload=workload, state="unstable")
        if base.reason:
            return OutputRow(workload=workload, state="not_captured", reason=base.reason)
        if (workload, CONTROL) in self._seen and outputs_unlike(base, control):
            return OutputRow(workload=workload, state="unstable", reason=control.reason)
        unlike = outputs_unlike(base, capture)
        if unlike is None:
            return OutputRow(workload=workload, state="equal" if has_values(base.values) else "nothing")
        if not expert.reason and outputs_unlike(expert, capture) is None:
            return OutputRow(workload=workload, state="as_expert")
        return _differing(workload, unlike)


def _differing(workload: str, unlike: Difference) -> OutputRow:
    return OutputRow(workload=workload, state="differs", path=unlike.path, expected=unlike.expected, found=unlike.found)
