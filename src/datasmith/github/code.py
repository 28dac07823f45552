"""Where code stands in a Markdown text. Linear in the text, whatever it holds."""


def code_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of every piece in backticks: `a` and ``a`` on one line, ``` to the next ``` or the end.

    A backtick without its partner opens nothing.
    """
    spans: list[tuple[int, int]] = []
    start = text.find("`")
    while start >= 0:
        end = _end(text, start)
        if end:
            spans.append((start, end))
        start = text.find("`", end or start + 1)
    return spans


def _end(text: str, start: int) -> int:
    """Where the code ends that the backtick at `start` opens; 0 where it opens none."""
    if text.startswith("```", start):
        close = text.find("```", start + 3)
        return close + 3 if close >= 0 else len(text)
    width = 2 if text.startswith("``", start) else 1
    close = text.find("`", start + width)
    if close < 0 or text.find("\n", start, close) >= 0:
        return 0
    return close + width if text.startswith("`" * width, close) else 0


def without_code(text: str) -> str:
    """The text with a space in place of each piece of code."""
    pieces: list[str] = []
    done = 0
    for start, end in code_spans(text):
        pieces.append(text[done:start])
        done = end
    return " ".join([*pieces, text[done:]])
