"""What pydantic finds wrong with a value, in our own short words: the entry, what it must be, and what was given."""

import difflib
import json
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from datasmith.printable import cut
from datasmith.redact import redact

if TYPE_CHECKING:  # pydantic is slow to import
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

LONGEST = 60
"""Characters of a value that are shown."""
WHOLE_NUMBER = "must be a whole number"
_NUMBER = "must be a number"
_TEXT = "must be text"
_LIST = "must be a list"
_OBJECT = "must be an object, as {{}}"
_DAY = "must be a day, as 2026-03-01"
_TIME = "must be a date and time, as 2026-03-01T12:00:00Z"
_MUST: Mapping[str, str] = {
    "int_type": WHOLE_NUMBER,
    "int_parsing": WHOLE_NUMBER,
    "int_from_float": WHOLE_NUMBER,
    "int_parsing_size": "must be a smaller number",
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": _TEXT,
    "string_unicode": "must be UTF-8 text",
    "string_pattern_mismatch": "must be of the form {pattern}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "none_required": "must be null",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must have {min_length} or more characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have {min_length} or more parts",
    "too_long": "must have at most {max_length} parts",
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"), _LIST),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"), _OBJECT),
    **dict.fromkeys(("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"), _DAY),
    **dict.fromkeys(("datetime_type", "datetime_parsing", "datetime_from_date_parsing", "timezone_aware"), _TIME),
    **dict.fromkeys(("url_type", "url_parsing"), "must be an address, as https://example.org"),
    "path_type": "must be a path",
}


def misfit(error: "ValidationError", known: Collection[str] = (), *, named: Callable[[str], str] = str) -> str:
    """The first thing that is wrong, with the entry that has it, as it is `named`; `known` are those there may be.

    An entry that nobody knows comes first: it is why another one is missing.
    """
    found = error.errors(include_url=False)
    first: ErrorDetails = next((each for each in found if each["type"] == "extra_forbidden"), found[0])
    return _told(first, known, named)


def misfits(error: "ValidationError") -> list[str]:
    """All that is wrong, each with its entry."""
    return [_told(each, (), str) for each in error.errors(include_url=False)]


def _told(found: "ErrorDetails", known: Collection[str], named: Callable[[str], str]) -> str:
    where = named(".".join(str(part) for part in found["loc"]))
    kind = found["type"]
    facts = {name: f"{fact:g}" if isinstance(fact, float) else fact for name, fact in found.get("ctx", {}).items()}
    if kind == "extra_forbidden":
        return f"unknown key {where!r}{_guess(str(found['loc'][-1]), known)}"
    if kind == "missing":
        return f"{where} is missing"
    if kind in {"value_error", "assertion_error"}:
        what = str(facts["error"])
    elif kind in {"string_too_short", "too_short"} and not found["input"]:
        what = "must not be empty"
    elif kind == "json_invalid":
        what = f"not JSON: {facts['error'] if found['input'].strip() else 'it is empty'}"
    else:
        what = _MUST.get(kind, "is not what belongs there").format_map(facts) + _given(found["input"])
    return f"{where}: {what}" if where else what


def nearest(name: str, known: Collection[str], *, alike: float = 0.6) -> str:
    """The known name that is most like one that is not known, and `alike` at least (0 to 1); empty where none is."""
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=alike)), "")


def _guess(name: str, known: Collection[str]) -> str:
    if near := nearest(name, known):
        return f"; did you mean {near!r}?"
    return f"; known: {', '.join(known)}" if known else ""


def _given(value: object) -> str:
    """`, not 'five'`: the value as it was written, of what is large only its kind."""
    if isinstance(value, str):
        text = redact(value)
        return f", not {cut(text, LONGEST)!r}"
    if value is None or isinstance(value, bool | int | float):
        return f", not {json.dumps(value)}"
    if isinstance(value, Mapping):
        return ", not an object"
    return ", not a list" if isinstance(value, list | tuple) else ""
