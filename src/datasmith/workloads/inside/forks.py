"""Work on many workloads of a suite, each in a fork of a process that has imported its module.

Each module is imported once, in a process of its own, so that nothing of one workload, such as a cache that it fills,
is there for the next. A module that starts threads of Python's is imported anew for each of its workloads: a fork would
be without them. An entry has name, index (or null), cache (directory or null), limit_s, longest_s (or null): what its
fork may take if that is less, as the import of its module, which may take long, is over by then; and longest_import_s
(or null): what that may take. What is left of an entry is what the work returned, or failed: a reason; and dear, the
module as benchmarks' names begin, where that took too long.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from functools import partial
from time import perf_counter

from . import OWN
from .apart import apart
from .report import TYPE_CHECKING
from .suite import enter_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    State = TypeVar("State")

__builtins__ = OWN


def each_in_a_fork(
    suite: str,
    entries: Sequence[dict[str, object]],
    enter: Callable[[str | None], State],
    work: Callable[[State, dict[str, object]], dict[str, object]],
) -> list[dict[str, object]]:
    """What is left of each entry: `enter` imports its module (None: only asv_runner), `work` gets what that returns."""
    enter_directory(None)
    by_module: dict[str | None, list[int]] = {}
    for number, entry in enumerate(entries):
        by_module.setdefault(module_of(suite, str(entry["name"])), []).append(number)
    paths = [os.path.abspath(f"{number}.json") for number in range(len(entries))]
    for at, (module, numbers) in enumerate(by_module.items()):
        chosen = [(entries[number], paths[number]) for number in numbers]
        import_s = max(_limit(entry) for entry, _ in chosen)
        limit_s = import_s + sum(_fork_limit(entry) for entry, _ in chosen)
        whole = os.path.abspath(f"module-{at}.json")
        apart(partial(_all_of, module, chosen, enter, work), whole, limit_s)
        if "threads" in read(whole):
            for entry, path in chosen:
                apart(partial(_alone, module, entry, enter, work), path, _limit(entry))
        for _, path in chosen:
            with contextlib.suppress(FileExistsError):
                os.link(whole, path)
    return [read(path) for path in paths]


def enter_own(cache: object) -> None:
    """A directory for one entry, that shows what its module's import left here, and what is in `cache`, if any."""
    here = os.getcwd()
    enter_directory(str(cache) if cache else None)
    for name in os.listdir(here):
        if not os.path.lexists(name):
            os.symlink(os.path.join(here, name), name)


def module_of(suite: str, name: str) -> str | None:
    """The module that asv_runner imports for a benchmark; None where its name does not tell."""
    parts = name.split(".")
    for inner in (1, 2):
        if os.path.isfile(os.path.join(suite, *parts[:-inner]) + ".py"):
            return ".".join([os.path.basename(suite), *parts[:-inner]])
    return None


def _all_of(
    module: str | None,
    chosen: Sequence[tuple[dict[str, object], str]],
    enter: Callable[[str | None], State],
    work: Callable[[State, dict[str, object]], dict[str, object]],
) -> dict[str, object]:
    """Import the module that these entries share, and run each of them in a fork."""
    enter_directory(None)
    begun = perf_counter()
    state = enter(module)
    import_s = perf_counter() - begun
    if import_s > min(float(str(entry["longest_import_s"] or "inf")) for entry, _ in chosen):
        dear = str(module).partition(".")[2]
        return {"failed": f"its module took {import_s:.0f} s to import, as it does in each launch", "dear": dear}
    if len(sys._current_frames()) > 1:  # they would not be there after a fork, and a pool of them waits for ever
        return {"threads": True}
    for entry, path in chosen:
        apart(partial(work, state, entry), path, _fork_limit(entry))
    return {"failed": "it was not reached"}


def _alone(
    module: str | None,
    entry: dict[str, object],
    enter: Callable[[str | None], State],
    work: Callable[[State, dict[str, object]], dict[str, object]],
) -> dict[str, object]:
    """Import what one entry needs, and run it in the same process."""
    enter_directory(None)
    return work(enter(module), entry)


def _limit(entry: dict[str, object]) -> float:
    """Seconds that an entry may take."""
    return float(str(entry["limit_s"]))


def _fork_limit(entry: dict[str, object]) -> float:
    """... and its fork, once its module is imported."""
    return min(_limit(entry), float(str(entry["longest_s"] or "inf")))


def read(path: str) -> dict[str, object]:
    """What a fork left."""
    with open(path) as stream:
        said: dict[str, object] = json.load(stream)
    return said
