"""Finds the code blocks of a Markdown page, and whether they are to be run."""

import re
from dataclasses import dataclass

RUN = re.compile(r"<!-- run: ([a-z-]+) -->")
NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
FENCE = re.compile(r"^(\s*)```(\w*)\s*$")
LANGUAGES = {"bash", "python", "console"}


@dataclass(frozen=True)
class Block:
    """One block of code; blocks of one page with the same `group` run one after the other in one place.

    `reason` says why a block is not run; `line` is where it starts.
    """

    page: str
    line: int
    language: str
    text: str
    group: str = "page"
    reason: str = ""


def read_blocks(page: str, text: str) -> list[Block]:
    """The bash, python and console blocks of a page; the line before one may say `run: GROUP` or `not run: WHY`."""
    found: list[Block] = []
    lines = text.splitlines()
    start: int | None = None
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if not fence:
            continue
        if start is None:
            start = number
            continue
        indent, language = FENCE.match(lines[start]).groups()  # type: ignore[union-attr]
        if language in LANGUAGES:
            code = "\n".join(part.removeprefix(indent) for part in lines[start + 1 : number]) + "\n"
            marks = _marks(lines[start - 1].strip() if start else "")
            found.append(Block(page, start + 1, language, code, **marks))
        start = None
    return found


def _marks(line: str) -> dict[str, str]:
    if group := RUN.fullmatch(line):
        return {"group": group[1]}
    if reason := NOT_RUN.fullmatch(line):
        return {"reason": reason[1]}
    return {}


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block (lines that start with `$ `), each with the output that is shown below it."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    found = []
    for part in parts:
        continued = re.match(r"(?:.*\\\n)*.*\n?", part)
        command = continued[0] if continued else part
        found.append((command.strip(), part[len(command) :]))
    return found


def shape(text: str) -> list[str]:
    """What of an output must be the same each time: words and layout, not figures, digests or widths."""
    lines = []
    for line in text.splitlines():
        plain = re.sub(r"\b[0-9a-f]{7,64}\b|[-+]?\d+(?:[.,:]\d+)*", "0", line)
        plain = re.sub(r"[━─-]{2,}", "--", plain)
        plain = re.sub(r"\s+", " ", plain).strip()
        if plain:
            lines.append(plain)
    return lines


def agrees(shown: str, printed: str) -> bool:
    """True where the shape of `printed` is the shown one; a shown line `...` stands for any number of lines."""
    pattern = [r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in shape(shown)]
    return re.fullmatch("".join(pattern), "".join(f"{line}\n" for line in shape(printed))) is not None
