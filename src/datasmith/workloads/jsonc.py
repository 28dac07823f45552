"""JSON as asv reads it, comments and trailing commas allowed; the text is untrusted: size and depth are capped."""

import json
import re

from datasmith.errors import ConfigError

MOST_BYTES = 1_000_000
DEEPEST = 50
Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|[\[\]{},]|[^"/\[\]{},]+|.', re.DOTALL)


def loads(text: str, name: str) -> Json:
    """Parse `text`; `name` is how messages call it.

    Raises:
        ConfigError: it is too large, too deep, or no JSON even without comments and trailing commas.
    """
    if len(text) > MOST_BYTES:
        raise ConfigError(f"{name}: {len(text)} characters are too many (at most {MOST_BYTES})")
    try:
        found: Json = json.loads(_plain(text, name))
    except ValueError as error:
        raise ConfigError(f"{name} is not JSON: {error}") from error
    return found


def _plain(text: str, name: str) -> str:
    """The text without comments and without commas before a closing bracket."""
    kept: list[str] = []
    depth, comma = 0, -1
    for found in _TOKEN.finditer(text):
        token = found.group()
        if token.startswith(("//", "/*")):
            kept.append(" ")
            continue
        if token in "[{":
            depth += 1
        elif token in "]}":
            depth -= 1
            if comma >= 0:
                kept[comma] = " "
        if depth > DEEPEST:
            raise ConfigError(f"{name} is nested deeper than {DEEPEST} levels")
        if token == ",":
            comma = len(kept)
        elif not token.isspace():
            comma = -1
        kept.append(token)
    return "".join(kept)
