"""A task of the few workloads that the expert's patch seems to change: for suites that nobody can measure as a whole.

A screening takes a glance at every workload in base and with the expert's patch, and ranks them by what it sees, faster
or slower alike; at those that come first it looks again, as among hundreds chance puts some there. What is left is
measured anew: nothing of a screening counts in a certificate, so what it happened to overrate is not overrated there.
It has a limited time, so it begins with the workloads whose names speak of what the patch does.
"""

import json
import keyword
import math
import random
import re
import time
import zlib
from collections import Counter
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
SCREENING_S = 900.0
"""Seconds after which a screening begins no more looks, at up to `glance.AT_ONCE` workloads each.

Suites of hundreds of workloads have some that need seconds to be set up.
"""
FIRST_SHARE = 0.6
"""... of which the first look at each may take so much."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LEAST_LETTERS = 3

Look = Callable[[Sequence[Workload], Callable[[], bool]], list[Glance]]
"""Looks at some workloads, one after the other, until there are no more or the function says that this is enough."""


def screen(
    look: Look,
    workloads: Sequence[Workload],
    most: int,
    *,
    patch: str = "",
    budget_s: float = SCREENING_S,
    clock: Callable[[], float] = time.monotonic,
) -> list[Glance]:
    """What `look` sees of all workloads, and what it sees of those that come first when it looks again.

    There is no second look at what nothing was seen of, and none at what `budget_s` did not suffice for: begun is with
    what `patch` speaks of.
    """
    started = clock()
    by_name = {workload.id: workload for workload in workloads}

    def spent(share: float) -> Callable[[], bool]:
        return lambda: clock() - started > share * budget_s

    seen = look(nearest_first(workloads, patch), spent(FIRST_SHARE))
    for _ in range(TIMES_AGAIN):
        if spent(1.0)():
            break
        seen = closer(seen, look([by_name[name] for name in _first(seen, AGAIN * most)], spent(1.0)))
    return seen


def nearest_first(workloads: Sequence[Workload], patch: str) -> list[Workload]:
    """The workloads whose names share words with the patch's lines and places first, the others in a drawn order.

    A word counts the more, the fewer of the workloads have it in their names.
    """
    own = {workload.id: _words(workload.benchmark) for workload in workloads}
    times = Counter(word for words in own.values() for word in words)
    spoken = _words("\n".join(line for line in patch.splitlines() if line.startswith(("+", "-", "@@"))))
    near = {
        name: sum(math.log(len(own) / times[word]) for word in sorted(words & spoken)) for name, words in own.items()
    }
    drawn = random.Random(zlib.crc32(patch.encode("utf-8", "surrogateescape"))).sample(workloads, len(workloads))
    return sorted(drawn, key=lambda workload: -near[workload.id])


def _words(text: str) -> frozenset[str]:
    words = {word.lower() for word in _WORD.findall(text) if len(word) >= _LEAST_LETTERS}
    return frozenset(words.difference(keyword.kwlist))


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
    among = len(verified.workloads)
    unseen = among - sum(glance.seen for glance in seen)
    return replace(verified, workloads=kept, screened_out=among - len(kept), unseen=unseen)


def _first(seen: Iterable[Glance], most: int) -> list[str]:
    """The names of those that come first, of which anything was seen: best first.

    What was looked at again comes before what was not, which has its luck of the first look.
    """
    ranked = sorted(
        (glance for glance in seen if glance.seen), key=lambda glance: (-glance.times, -glance.effect, glance.workload)
    )
    return [glance.workload for glance in ranked[:most]]


def write_glances(path: Path, seen: Iterable[Glance]) -> None:
    """Keep what a screening saw, a line of JSON each, beside the launches that count."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(asdict(glance)) + "\n" for glance in seen), encoding="utf-8")
