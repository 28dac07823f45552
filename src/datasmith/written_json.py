"""JSON files that people write: what stands twice is an error, not the last word."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # pydantic is slow to import
    from pydantic import JsonValue


def written_json(text: str | bytes) -> "JsonValue":
    """What the text says.

    Raises:
        ValueError: it is no JSON, too deep, or an object has a key twice; names the key.
    """
    try:
        found: JsonValue = json.loads(text, object_pairs_hook=_each_once)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return found


def _each_once(pairs: "Sequence[tuple[str, JsonValue]]") -> "dict[str, JsonValue]":
    found: dict[str, JsonValue] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key!r} stands there twice")
        found[key] = value
    return found
