"""Look at many workloads in two arms, quickly: enough to rank them, too little to say anything of one."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from datasmith.docker.engine import Container
from datasmith.printable import printable
from datasmith.workloads.base import Workload
from datasmith.workloads.forks import entry, in_forks

AT_ONCE = 100
"""Workloads that one process looks at, which imports each module of theirs once; progress is told in between."""


@dataclass(frozen=True, slots=True)
class Glance:
    """The fastest seconds per call that were seen of one workload in each arm; None where it failed each time.

    `reason`: of its last failure in either.
    """

    workload: str
    base: float | None
    other: float | None
    reason: str | None = None

    @property
    def effect(self) -> float:
        """The |ln ratio|; infinite where only the other arm fails, -1 where base does."""
        if self.base is None:
            return -1.0
        return math.inf if self.other is None else abs(math.log(self.base / self.other))


def glances(
    base: Container,
    other: Container,
    workloads: Sequence[Workload],
    benchmark_dir: str,
    *,
    cpu: int | None,
    say: Callable[[int, int], None],
) -> list[Glance]:
    """Look at each workload twice in each prepared arm, base first and last. `say`: how many are done, of how many.

    Raises:
        EngineUnavailable: the engine is gone.
    """
    found: list[Glance] = []
    for first in range(0, len(workloads), AT_ONCE):
        say(first, len(workloads))
        some = workloads[first : first + AT_ONCE]
        entries = [entry(workload) for workload in some]
        looks = [in_forks(arm, "glance", entries, benchmark_dir, cpu=cpu) for arm in (base, other, other, base)]
        for workload, *said in zip(some, *looks, strict=True):
            one, two, three, four = (_read(reply.get("seconds")) for reply in said)
            failed = [printable(str(reply["failed"])) for reply in said if "failed" in reply]
            found.append(Glance(workload.id, _fastest(one, four), _fastest(two, three), failed[-1] if failed else None))
    return found


def closer(seen: Sequence[Glance], again: Sequence[Glance]) -> list[Glance]:
    """The same with what was seen when some were looked at again."""
    known = {glance.workload: glance for glance in again}
    both = [(glance, known.get(glance.workload, glance)) for glance in seen]
    return [
        Glance(a.workload, _fastest(a.base, b.base), _fastest(a.other, b.other), b.reason or a.reason) for a, b in both
    ]


def _read(said: object) -> float | None:
    """A time, where that is what was said."""
    return said if isinstance(said, float) and math.isfinite(said) and said > 0 else None


def _fastest(*seconds: float | None) -> float | None:
    return min((each for each in seconds if each is not None), default=None)
