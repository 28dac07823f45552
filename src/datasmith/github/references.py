"""Which issues and pull requests a text points to. Linear in the text, whatever it holds."""

import re

from datasmith.github.code import without_code

Reference = tuple[str, str, int]
"""(owner, repo, number)."""

_TILDES = re.compile(r"~~~.*?(?:~~~|\Z)", re.DOTALL)
_SHORT = re.compile(r"#([0-9]{1,9})\b")
_URL = re.compile(  # what may stand before the host is looked at after it: a search for a fixed word is fast
    r"github\.com(?:(?<![\w.-]github\.com)|(?<=\bwww\.github\.com))"
    r"/([\w.-]{1,100})/([\w.-]{1,100})/(?:issues|pulls?)/([0-9]{1,9})(?![0-9])"
)
_GH = re.compile(r"gh-([0-9]{1,9})\b")
_FULL_NAME = re.compile(r"([\w.-]{1,100})/([\w.-]{1,100})")
_OPENING = "([{<,;:\"'*|>"
_KEYWORD_BEFORE = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|see|issues?|prs?|pull|ref|refs|in)[\s:]*$", re.I
)
_LOOK_BACK = 202
_COLOUR_DIGITS = 6
"""Six digits behind a bare # are a colour, unless a word before them says otherwise."""


def extract_references(text: str, owner: str, repo: str) -> list[Reference]:
    """References in order of first appearance, each once; bare numbers belong to `owner`/`repo`.

    Understood: #12, owner/repo#9, GH-123 and links to issues and pull requests on github.com, compared without
    case. Code, HTML entities, colours and `a#44` are not references.
    """
    text = without_code(text) if "`" in text else text
    text = _TILDES.sub(" ", text) if "~~~" in text else text
    found: list[tuple[int, Reference]] = []
    if "#" in text:
        found += _short_forms(text, owner, repo)
    lowered = text.lower()
    if "github.com/" in lowered:
        found += [(match.start(), _as_written(text, lowered, match)) for match in _URL.finditer(lowered)]
    if "gh-" in lowered:
        matches = (match for match in _GH.finditer(lowered) if not lowered[match.start() - 1 : match.start()].isalnum())
        found += [(match.start(), (owner, repo, int(match[1]))) for match in matches]
    first: dict[Reference, Reference] = {}
    for _, (its_owner, its_repo, number) in sorted(found):
        first.setdefault((its_owner.lower(), its_repo.lower(), number), (its_owner, its_repo, number))
    return list(first.values())


def _short_forms(text: str, owner: str, repo: str) -> list[tuple[int, Reference]]:
    found: list[tuple[int, Reference]] = []
    for match in _SHORT.finditer(text):
        start = match.start()
        before = text[start - 1] if start else " "
        if before.isspace() or before in _OPENING:
            if len(match[1]) != _COLOUR_DIGITS or _KEYWORD_BEFORE.search(text[max(0, start - 20) : start]):
                found.append((start, (owner, repo, int(match[1]))))
        elif before.isalnum() or before in "._-":
            word = text[max(0, start - _LOOK_BACK) : start].split()[-1].lstrip(_OPENING)
            named = _FULL_NAME.fullmatch(word)
            if named:
                found.append((start, (named[1], named[2], int(match[1]))))
    return found


def _as_written(text: str, lowered: str, match: re.Match[str]) -> Reference:
    # Lower case has another length for a few letters; then positions do not carry over.
    source = text if len(text) == len(lowered) else lowered
    return source[slice(*match.span(1))], source[slice(*match.span(2))], int(match[3])
