"""Text of somebody else's, in characters that a terminal shows as they are."""

from datasmith.redact import redact

MOST = 2000
_LONGEST_PART = 40
"""Characters of a word whose beginning is cut off, up to which the rest of it goes, too."""


def printable(text: str) -> str:
    """The same, with a space for each character that is a control of a terminal, a line break, or no character."""
    return "".join(char if char.isprintable() else " " for char in text)


def one_line(text: str) -> str:
    """The text without line breaks and control characters, at most MOST characters."""
    return " ".join(printable(text).split())[:MOST]


def cut(text: str, most: int) -> str:
    """At most so many characters; an ellipsis stands for the rest."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def ending(text: str, most: int) -> str:
    """The end of a text, on one line of at most `most` characters (3 at least) and without what looks like a secret.

    An ellipsis stands for what was before. The line begins with a whole word, unless that would take much of it away.
    """
    line = " ".join(printable(redact(text)).split())
    if len(line) <= most:
        return line
    start = len(line) - (most - 2)
    rest = line[start:]
    first, blank, others = rest.partition(" ")
    return f"… {rest if line[start - 1] == ' ' or not blank or len(first) > _LONGEST_PART else others}"
