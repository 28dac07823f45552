"""A task of the few workloads that the expert's patch seems to change: for suites that nobody can measure as a whole.

A screening takes a glance at every workload in base and with the expert's patch, and ranks them by what it sees, faster
or slower alike; at those that come first it looks again, as among hundreds chance puts some there. What is left is
measured anew: nothing of a screening counts in a certificate, so what it happened to overrate is not overrated there.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from datasmith.errors import MeasurementFailed
from datasmith.runners.order import Verified
from datasmith.workloads.base import Workload
from datasmith.workloads.glance import Glance, closer

AGAIN = 4
"""So many times as many as a task may have are looked at again."""
TIMES_AGAIN = 2


def screen(
    look: Callable[[Sequence[Workload]], list[Glance]], workloads: Sequence[Workload], most: int
) -> list[Glance]:
    """What `look` sees of all workloads, and what it sees of those that come first when it looks again.

    There is no second look at what nothing was seen of.
    """
    seen = look(workloads)
    for _ in range(TIMES_AGAIN):
        chosen = _first(seen, AGAIN * most)
        seen = closer(seen, look([workload for workload in workloads if workload.id in chosen]))
    return seen


def screened(verified: Verified, seen: Sequence[Glance], most: int) -> Verified:
    """The same with at most `most` workloads, in the suite's order: those in which the screening saw most.

    A workload that only the expert's patch fails comes first; one of which nothing was seen is left out.

    Raises:
        MeasurementFailed: base failed all, or they took too long: then nothing is known of any.
    """
    if not any(glance.seen for glance in seen):
        raise MeasurementFailed(
            f"a screening saw nothing: {next((one.reason for one in seen if one.reason), 'no reply')}"
        )
    chosen = _first(seen, most)
    kept = tuple(workload for workload in verified.workloads if workload.id in chosen)
    return replace(verified, workloads=kept, screened_out=len(verified.workloads) - len(kept))


def _first(seen: Iterable[Glance], most: int) -> frozenset[str]:
    """The names of those that come first, of which anything was seen."""
    ranked = sorted((glance for glance in seen if glance.seen), key=lambda glance: (-glance.effect, glance.workload))
    return frozenset(glance.workload for glance in ranked[:most])


def write_glances(path: Path, seen: Iterable[Glance]) -> None:
    """Keep what a screening saw, a line of JSON each, beside the launches that count."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(asdict(glance)) + "\n" for glance in seen), encoding="utf-8")
