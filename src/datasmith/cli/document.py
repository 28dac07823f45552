"""What --json prints: the one place that writes JSON documents to standard output."""

import json
from collections.abc import Callable
from datetime import datetime


def document(value: object, *, indent: int | None = None, default: Callable[[datetime], str] | None = None) -> str:
    """The value as JSON; `default` writes points in time.

    Raises:
        ValueError: a number in it is not finite: JSON has none of these, and few programs read NaN.
    """
    return json.dumps(value, indent=indent, default=default, allow_nan=False)
