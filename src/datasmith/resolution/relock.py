"""Change single pins of a lock: everything else stays as it was chosen, and nothing newer than the cutoff comes in."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from packaging.utils import canonicalize_name

from datasmith.errors import Unsatisfiable
from datasmith.resolution import build_lock
from datasmith.resolution.index import SimpleIndex
from datasmith.resolution.locker import Locker
from datasmith.resolution.requirements import Need, requirement_name
from datasmith.resolution.sources import Sources
from datasmith.resolution.uv import Refused, UvCompiler, pins_of


def relock(
    compiler: UvCompiler,
    index: SimpleIndex,
    lock: str,
    changes: Sequence[str],
    *,
    python_version: str,
    cutoff: datetime,
    sdists: Path | None = None,
) -> str | None:
    """The lock with the PEP 508 requirements `changes` met; None where no such set exists, or nothing changes.

    Releases that were never a wheel stay what they are, and what builds them is locked anew; what is read of their
    archives is kept in `sdists`.

    Raises:
        IndexUnavailable: the index cannot be reached: no answer either way.
    """
    changed = {requirement_name(line) for line in changes}
    kept = [pin for pin in pins_of(lock) if canonicalize_name(pin.partition("==")[0]) not in changed]
    locker = Locker(compiler, Sources(index, cutoff, (python_version,), sdists), cutoff, _nobody)
    found = locker.lock([Need(line, "runtime") for line in (*kept, *changes)], python_version)
    if isinstance(found, Refused) or found.pins == pins_of(lock):
        return None
    try:
        return build_lock.extended(compiler, found, python_version, cutoff, _nobody)
    except Unsatisfiable:
        return None


def _nobody(_: str) -> None:
    """A search for recipes writes down what became of a build, and not what became of a lock."""
