"""Say what a moment or a decimal is in a text, without running any code but Python's own and numpy's compiled one."""

from __future__ import annotations

from . import OWN
from .foreign import is_numpy, is_static
from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    class Dtype(Protocol):
        """A dtype of numpy."""

        kind: str
        str: str

    class Scalar(Protocol):
        """A scalar of numpy."""

        dtype: Dtype

        def tobytes(self) -> bytes:
            """What it holds."""

    class Moment(Protocol):
        """A class of moments, whose methods take one."""

        def __reduce__(self) -> tuple[object, tuple[object, ...]]:
            """What makes it again."""

        def utcoffset(self) -> object:
            """How far its zone is from UTC."""


__builtins__ = OWN


_MOMENTS = frozenset(
    ("datetime.date", "datetime.datetime", "datetime.time", "datetime.timedelta", "decimal.Decimal"),
)
"""Classes of Python's own whose values are kept by a few plain ones, which are had without running any other code."""
_ZONES = frozenset(("datetime", "zoneinfo"))
"""Modules whose compiled zones tell an offset without running any other code."""
_NAME = type.__dict__["__name__"]
"""The name of a class, whatever its own class makes of that."""


def is_moment(kind: type) -> bool:
    """True for the compiled classes of Python's own moments and decimals, whatever else is called so."""
    return is_static(kind) and _full_name(kind) in _MOMENTS


def _full_name(kind: type) -> str:
    return kind.__module__ + "." + kind.__name__


def moment_of(value: object) -> str:
    """The text that stands for a moment or a decimal: class, unit, content, and how far its zone is from UTC.

    Empty for any other value. No code runs but Python's own, or numpy's compiled one.
    """
    kind = type(value)
    if not is_static(kind):
        return ""
    if is_moment(kind):
        return held(value, kind)
    if is_numpy(value, "generic"):
        scalar: Scalar = value  # type: ignore[assignment]
        if scalar.dtype.kind in "mM":
            return "numpy" + scalar.dtype.str + scalar.tobytes().hex()
    return ""


def held(value: object, kind: type) -> str:
    """What a value holds as one of a class of moments that is its own or above that."""
    moment: type[Moment] = kind
    parts = moment.__reduce__(value)[1]  # type: ignore[arg-type]
    name = _full_name(kind)
    if len(parts) != 2 or type(parts[0]) is not bytes:
        return name + repr(parts)
    zone = type(parts[1])
    told = is_static(zone) and zone.__module__ in _ZONES
    return name + repr(parts[0]) + (repr(moment.utcoffset(value)) if told else _NAME.__get__(zone))  # type: ignore[arg-type]
