"""Change single pins of a lock: everything else stays as it was chosen, and nothing newer than the cutoff comes in."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from datasmith.docker.context import BOUND
from datasmith.errors import Unsatisfiable
from datasmith.resolution import build_lock
from datasmith.resolution.failures import statement
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
) -> str:
    """The lock with the PEP 508 requirements `changes` met: the same one, where they are met already.

    Where there was none, and `changes` ask for nothing on this Python, it is empty.

    A pin that meets its change stays, and one that does not changes within the project's own bounds. Releases that
    were never a wheel stay what they are, and what builds them is locked anew; what is read of their archives is kept
    in `sdists`.

    Raises:
        Unsatisfiable: no such set was found; says why.
        IndexUnavailable: the index cannot be reached: no answer either way.
    """
    pins = {canonicalize_name(pin.partition("==")[0]): pin for pin in pins_of(lock)}
    changed = {requirement_name(line) for line in changes if not _is_met(line, pins)}
    if not changed:
        return lock
    bounds = _bounds_of(lock)
    kept = [pin for name, pin in pins.items() if name not in changed]
    within = [line for line in bounds if requirement_name(line) in changed]
    locker = Locker(compiler, Sources(index, cutoff, (python_version,), sdists), cutoff, _nobody)
    found = locker.lock([Need(line, "runtime") for line in (*kept, *changes, *within)], python_version)
    if isinstance(found, Refused):
        raise Unsatisfiable(
            f"no lock of before {cutoff:%Y-%m-%d} for Python {python_version}: {statement(found.error)}"
        )
    if found.pins == pins_of(lock):
        return lock
    return _bounded(build_lock.extended(compiler, found, python_version, cutoff, _nobody), bounds)


def with_bounds(lock: str, needs: Iterable[Need]) -> str:
    """The lock, and behind it, as comments, what its pins must be whatever changes: what running and building ask."""
    must = (need for need in needs if need.origin in ("runtime", "build") and not need.fallback)
    return _bounded(lock, dict.fromkeys(need.requirement for need in must if Requirement(need.requirement).specifier))


def _bounded(lock: str, bounds: Iterable[str]) -> str:
    return lock + "".join(f"{BOUND}{line}\n" for line in bounds)


def _bounds_of(lock: str) -> tuple[str, ...]:
    return tuple(line.removeprefix(BOUND) for line in lock.splitlines() if line.startswith(BOUND))


def _is_met(change: str, pins: Mapping[NormalizedName, str]) -> bool:
    """True where the pin of that name is one that the change allows."""
    wanted = Requirement(change)
    pin = pins.get(canonicalize_name(wanted.name))
    return pin is not None and not wanted.extras and wanted.specifier.contains(pin.partition("==")[2], prereleases=True)


def _nobody(_: str) -> None:
    """A search for recipes writes down what became of a build, and not what became of a lock."""
