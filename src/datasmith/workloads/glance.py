"""Look at many workloads in two arms, quickly: enough to rank them, too little to say anything of one."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from datasmith.docker.engine import Container
from datasmith.printable import printable
from datasmith.workloads.base import Workload
from datasmith.workloads.forks import entry, in_forks

AT_ONCE = 50
"""Workloads that one process looks at, which imports each module of theirs once; in between progress is told, and who
has seen enough ends it."""
LONGEST_S = 5.0
"""What takes longer to set up and call is not waited for: some suites have hundreds that would take minutes each."""
LONGEST_IMPORT_S = 20.0
"""A workload whose module takes longer to import is left out: each of its launches has to, and there are hundreds."""


@dataclass(frozen=True, slots=True)
class Glance:
    """The fastest seconds per call that were seen of one workload in each arm; None where it failed each time.

    And in both where its module takes one of them too long to import. A call that was not waited for stands as
    `LONGEST_S`, the least that it took. `reason`: of a failure, of base's if it has one. `times`: how often it was
    looked at.
    """

    workload: str
    base: float | None
    other: float | None
    reason: str | None = None
    times: int = 1

    @property
    def effect(self) -> float:
        """The |ln ratio|; infinite where only the other arm fails, not a number where base does."""
        if self.base is None:
            return math.nan
        return math.inf if self.other is None else abs(math.log(self.base / self.other))

    @property
    def seen(self) -> bool:
        """False where nothing is known of the patch: base failed, or took too long and the other arm did no better."""
        return self.base is not None and min(self.base, self.other or LONGEST_S) < LONGEST_S


def glances(
    base: Container,
    other: Container,
    workloads: Sequence[Workload],
    benchmark_dir: str,
    *,
    cpu: int | None,
    say: Callable[[int, int], None],
    enough: Callable[[], bool] = lambda: False,
) -> list[Glance]:
    """Look at each workload twice in each prepared arm, base first and last. `say`: how many are done, of how many.

    An arm that did not do a workload in time, or its import, is not asked for it again. Those that come last are not
    looked at, and not among what is returned, where that is `enough` after some.

    Raises:
        EngineUnavailable: the engine is gone.
    """
    found: list[Glance] = []
    dear: dict[str, str] = {}
    for first in range(0, len(workloads), AT_ONCE):
        if found and enough():
            break
        say(first, len(workloads))
        some = workloads[first : first + AT_ONCE]
        of_base, of_other = _Looks(), _Looks()
        for looks, arm in ((of_base, base), (of_other, other), (of_other, other), (of_base, base)):
            left = [one for one in some if one.id not in looks.late and _why_dear(one, dear) is None]
            entries = [entry(one, longest_s=LONGEST_S, longest_import_s=LONGEST_IMPORT_S) for one in left]
            replies = in_forks(arm, "glance", entries, benchmark_dir, cpu=cpu) if left else ()
            dear |= {str(reply["dear"]): printable(str(reply.get("failed"))) for reply in replies if "dear" in reply}
            looks.take(left, replies)
        for workload in some:
            one, why = workload.id, _why_dear(workload, dear)
            reason = why or of_base.reasons.get(one) or of_other.reasons.get(one)
            seconds = (None, None) if why else (of_base.fastest.get(one), of_other.fastest.get(one))
            found.append(Glance(one, *seconds, reason))
    return found


def _why_dear(workload: Workload, dear: Mapping[str, str]) -> str | None:
    """What is said of its module, where that takes too long to import; `dear` are those modules."""
    return next((why for module, why in dear.items() if workload.benchmark.startswith(f"{module}.")), None)


@dataclass(frozen=True, slots=True)
class _Looks:
    """What one arm showed so far, by a workload's name."""

    fastest: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    late: set[str] = field(default_factory=set)

    def take(self, workloads: Sequence[Workload], replies: Sequence[Mapping[str, Any]]) -> None:
        """Note what it said of each."""
        for workload, reply in zip((each.id for each in workloads), replies, strict=True):
            seconds = _read(reply.get("seconds"))
            if "failed" in reply:
                self.reasons[workload] = printable(str(reply["failed"]))
            if reply.get("late") is True:
                self.late.add(workload)
                seconds = LONGEST_S
            fastest = _fastest(seconds, self.fastest.get(workload))
            if fastest is not None:
                self.fastest[workload] = fastest


def closer(seen: Sequence[Glance], again: Sequence[Glance]) -> list[Glance]:
    """The same with what was seen when some were looked at again."""
    known = {glance.workload: glance for glance in again}
    return [_both(glance, known[glance.workload]) if glance.workload in known else glance for glance in seen]


def _both(one: Glance, other: Glance) -> Glance:
    base, patched = _fastest(one.base, other.base), _fastest(one.other, other.other)
    return Glance(one.workload, base, patched, other.reason or one.reason, one.times + other.times)


def _read(said: object) -> float | None:
    """A time, where that is what was said."""
    return said if isinstance(said, float) and 0 < said <= LONGEST_S else None


def _fastest(*seconds: float | None) -> float | None:
    return min((each for each in seconds if each is not None), default=None)
