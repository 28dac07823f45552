"""Which wheels the sandboxes can install: Debian 12's C library, this machine's processor, one CPython."""

import functools
import platform
from collections.abc import Iterable

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

NEWEST_GLIBC = (2, 36)
"""Wheels may ask for at most this C library: Debian 12's."""
_OLDEST_GLIBC = (2, 5)
_LEGACY = ("manylinux2014", "manylinux2010", "manylinux1")


def uv_platform() -> str:
    """The platform as uv's --python-platform names it."""
    return f"{platform.machine()}-manylinux_{NEWEST_GLIBC[0]}_{NEWEST_GLIBC[1]}"


def installs_on(wheel: str, pythons: Iterable[str]) -> bool:
    """True where a wheel with this file name can be installed for one of the Pythons ("3.11"); no wheel, False."""
    try:
        tags = parse_wheel_filename(wheel)[3]
    except InvalidWheelFilename:
        return False
    return any(not tags.isdisjoint(_supported(python)) for python in pythons)


@functools.cache
def _supported(python: str) -> frozenset[Tag]:
    version = [int(part) for part in python.split(".")[:2]]
    interpreter, machine = f"cp{version[0]}{version[1]}", platform.machine()
    names = [f"manylinux_2_{minor}_{machine}" for minor in range(NEWEST_GLIBC[1], _OLDEST_GLIBC[1] - 1, -1)]
    names += [f"{name}_{machine}" for name in (*_LEGACY, "linux")]
    return frozenset((*cpython_tags(version, platforms=names), *compatible_tags(version, interpreter, names)))
