"""Lock what building releases from sources needs: wheels of the same day, in one environment of their own."""

from collections.abc import Callable, Sequence
from datetime import datetime

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from datasmith.errors import Unsatisfiable
from datasmith.resolution.base import SourceRelease
from datasmith.resolution.uv import Compiled, Refused, UvCompiler

PREFIX = "#build "
"""Begins each line of a lock that belongs to the environment in which sources are built."""
_ONE_NUMPY = ("numpy", "oldest-supported-numpy")


def extended(compiler: UvCompiler, found: Compiled, python: str, cutoff: datetime, tell: Callable[[str], None]) -> str:
    """The lock of an environment, and behind it, as comments, that of the build environment its sources need.

    Raises:
        IndexUnavailable: the index cannot be reached.
        Unsatisfiable: not even the newest releases of the day of what the builds name can be had together.
    """
    if not found.sources:
        return found.lock
    needs = build_needs(found.sources, found.pins)
    answer = compiler.compile(needs, python_version=python, cutoff=cutoff)
    if isinstance(answer, Refused):
        numpy = [line for line in needs if line.startswith("numpy==")]
        names = sorted({Requirement(line).name for line in needs if line not in numpy})
        tell(f"sources are built with the newest of the day of {', '.join(names)}: their bounds contradict each other")
        answer = compiler.compile([*names, *numpy], python_version=python, cutoff=cutoff)
    if isinstance(answer, Refused):
        raise Unsatisfiable(f"what builds {', '.join(item.name for item in found.sources)} cannot be had as wheels")
    tell(f"sources are built with {', '.join(answer.pins)}")
    return found.lock + "".join(f"{PREFIX}{line}\n" for line in answer.lock.splitlines() if line and line[0] != "-")


def build_needs(sources: Sequence[SourceRelease], pins: Sequence[str]) -> tuple[str, ...]:
    """What the builds ask for together; numpy is that of the environment, where it has one: they share its ABI."""
    own = [pin for pin in pins if pin.startswith("numpy==")]
    found = dict.fromkeys(line for item in sources for line in item.build_requires)
    kept = [line for line in found if canonicalize_name(Requirement(line).name) not in _ONE_NUMPY]
    if len(kept) == len(found):
        return tuple(kept)
    return (*kept, *(own or ["numpy"]))
