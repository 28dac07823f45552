"""What is written about an item holds no secret: not its reason, not a text that came from a forge or a program."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from datasmith.storage.base import Row, Value, Verdict

EXACT = frozenset({"patch", "context", "lock"})
"""Fields that are programs: with one character masked they would do something else. All of them is public code."""


def without_secrets(verdict: Verdict, clean: Callable[[str], str]) -> Verdict:
    """The same verdict; every text in it and in its rows went through `clean`, except the fields in EXACT."""
    return replace(
        verdict,
        reason=clean(verdict.reason),
        rows=tuple((table, _row(row, clean)) for table, row in verdict.rows),
        entries=tuple(replace(entry, reason=clean(entry.reason)) for entry in verdict.entries),
    )


def _row(row: Mapping[str, Value], clean: Callable[[str], str]) -> Row:
    return {name: value if name in EXACT else _value(value, clean) for name, value in row.items()}


def _value(value: Value, clean: Callable[[str], str]) -> Value:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_value(part, clean) for part in value]
    return _row(value, clean) if isinstance(value, dict) else value
