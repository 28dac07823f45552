"""What numbers in files can be: who reads them finds none that no clock, count or bill could give."""

from itertools import pairwise
from typing import Annotated

from pydantic import Field

SHORTEST_CALL_S = 1e-12
LONGEST_S = 1e15
"""Seconds: no call is shorter, and nothing lasts longer. Ratios of two such times are within what can be squared."""
_MOST = LONGEST_S / SHORTEST_CALL_S

Seconds = Annotated[float, Field(ge=0, le=LONGEST_S, allow_inf_nan=False)]
CallSeconds = Annotated[float, Field(ge=SHORTEST_CALL_S, le=LONGEST_S, allow_inf_nan=False)]
Ratio = Annotated[float, Field(ge=1 / _MOST, le=_MOST, allow_inf_nan=False)]
"""Of two times."""
Gain = Annotated[float, Field(ge=-_MOST, le=_MOST, allow_inf_nan=False)]
"""What is between two such ratios, or made of it."""
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
MOST = 10**15
"""No count is larger, and no bill in US dollars."""

Count = Annotated[int, Field(ge=0, le=MOST)]
Dollars = Annotated[float, Field(ge=0, le=MOST, allow_inf_nan=False)]

_ROUNDING = 1e-9
"""Relative: what the same number may differ by after another way of working it out."""


def in_order(**values: float | None) -> None:
    """Raises ValueError where a value lies above one that is named after it; None stands nowhere."""
    there = [(name, value) for name, value in values.items() if value is not None]
    for (name, value), (after, limit) in pairwise(there):
        if value > limit + _ROUNDING * abs(limit):
            raise ValueError(f"{name} {value:g} lies above {after} {limit:g}")
