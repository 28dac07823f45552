"""Text of somebody else's, in characters that a terminal shows as they are."""

MOST = 2000


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
    """The last words of a text on one line, at most so many characters; an ellipsis stands for what was before."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    rest = line[2 - most :]
    return f"… {rest.partition(' ')[2] or rest}"
