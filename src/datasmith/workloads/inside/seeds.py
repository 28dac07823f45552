"""Seeds that follow from what the host drew, and give nothing of it away: of one of them no other can be told."""

from __future__ import annotations

from . import OWN
from .report import blake2b

__builtins__ = OWN

_repr = repr
"""Whoever exchanges the builtin sees nothing of ours."""


def derived(drawn: int, *use: object) -> int:
    """64 bits, the same for the same number and use in every process.

    The code under test sees what is made of a seed, and with a small generator the seed itself. What the host drew is
    too large a number to be tried out.
    """
    return int.from_bytes(blake2b(_repr((drawn, *use)).encode(), digest_size=8).digest(), "big")
