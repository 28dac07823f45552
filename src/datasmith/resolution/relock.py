"""Change single pins of a lock: everything else stays as it was chosen, and nothing newer than the cutoff comes in."""

from collections.abc import Sequence
from datetime import datetime

from packaging.utils import canonicalize_name

from datasmith.resolution.requirements import requirement_name
from datasmith.resolution.uv import Refused, UvCompiler, pins_of


def relock(
    compiler: UvCompiler, lock: str, changes: Sequence[str], *, python_version: str, cutoff: datetime
) -> str | None:
    """The lock with the PEP 508 requirements `changes` met; None where no such set exists, or nothing changes.

    Raises:
        IndexUnavailable: the index cannot be reached: no answer either way.
    """
    changed = {requirement_name(line) for line in changes}
    kept = [pin for pin in pins_of(lock) if canonicalize_name(pin.partition("==")[0]) not in changed]
    found = compiler.compile([*kept, *changes], python_version=python_version, cutoff=cutoff)
    if isinstance(found, Refused) or found.pins == pins_of(lock):
        return None
    return found.lock
