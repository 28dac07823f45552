"""Read uv's refusals: what they say, without what changes from day to day, and which need to give up."""

import re
from collections.abc import Iterable

from datasmith.docker.outages import ANOTHER_INDEX, NETWORK
from datasmith.errors import IndexUnavailable
from datasmith.resolution.requirements import Need, Origin

_DEARNESS: dict[Origin, int] = {
    "imports": 0, "asv": 1, "benchmarks": 2, "tests": 3, "runner": 4, "build": 5, "runtime": 6
}  # fmt: skip
_LOCKED_OUT = re.compile(
    r"^hint: An index(?: URL)? \(\S+\) (could not be queried due to a lack of valid authentication credentials"
    r"|returned a 403 Forbidden error)",
    re.MULTILINE,
)
_ANSWERED = re.compile(
    r"No solution found|included as a URL dependency|^error: (?:Couldn't|Failed to) parse", re.MULTILINE
)
"""The index was asked, or not needed to be. Such errors repeat what was asked for, and markers hold any words."""
_UNDATED = re.compile(r"^(?:warning|hint): \S+ is missing an upload date", re.MULTILINE)
_PYTHON_BOUND = re.compile(
    r"no usable wheels|no wheels with a matching|Python ?[<>=!~]|current Python version", re.IGNORECASE
)
_GUARD = re.compile(r"\b([A-Za-z0-9][\w.-]*?)[<>=!~][^ ]* depends on \1<0|all versions of (\S+) depend on \2<0")
UNDATED = "the package index gives no upload dates, so nothing counts as published before the commit"


def statement(error: str) -> str:
    """The refusal as one line: no hints (they tell of later releases), no warnings, no times."""
    paragraphs = re.split(r"\n\s*\n", error.replace("\r", ""))
    kept = []
    for paragraph in paragraphs:
        lines = [line for line in paragraph.splitlines() if not line.startswith(("warning:", "Resolved", "Using "))]
        text = " ".join(" ".join(lines).split())
        if text and not text.startswith("hint:"):
            kept.append(text)
    return " ".join(kept).removeprefix("error: ").replace(" cause: ", ": ")


def is_outage(error: str) -> bool:
    """True where the index could not be asked: this says nothing about the requirements."""
    return bool(locked_out(error)) or (not _ANSWERED.search(error) and bool(NETWORK.search(statement(error))))


def unavailable(said: str) -> IndexUnavailable:
    """The error of an index that could not be asked, with the setting that names another one."""
    return IndexUnavailable(f"package index unavailable: {said} ({ANOTHER_INDEX})")


def locked_out(error: str) -> str:
    """What uv says of an index that answers 401 or 403; empty where it says nothing of the kind."""
    # uv goes on as if the index had no such package, and only hints at the status. Some indexes do answer 403 for a
    # package that does not exist; that cannot be told from a login that is wrong, so nothing is concluded from it.
    # Of words at a line's beginning none are those of a requirement, which has no line's end in it.
    found = _LOCKED_OUT.search(re.sub(r"\n[ \t]+", " ", error))
    return f"an index {found[1]}" if found else ""


def lacks_dates(error: str) -> bool:
    """True where releases were passed over because the index does not say when they were uploaded."""
    return bool(_UNDATED.search(error))


def blames_python(error: str) -> bool:
    """True where another Python version may help: no wheels for this one, or a bound on it."""
    return bool(_PYTHON_BOUND.search(error))


def is_absent(error: str, name: str) -> bool:
    """True where the index never had a release of that name before the cutoff, whatever the Python."""
    found = _whole(name)
    said = rf"{found} was not found in the package registry|there are no versions of {found}(?![<>=!~])"
    return bool(re.search(said, " ".join(error.split())))


def is_guarded(error: str) -> bool:
    """True where it stops at releases whose sources were not read: they are told to need what cannot be."""
    return bool(_GUARD.search(" ".join(error.split())))


def to_give_up(error: str, needs: Iterable[Need]) -> Need | None:
    """The need to weaken or drop: of those the refusal names, the least dear, then the one it names first.

    A need that must stay is only chosen where it has a weaker form; None where nothing that is named can give way.
    """
    text = " ".join(error.split())
    named = [(need, _position(text, need.name)) for need in needs if need.optional or need.weaker]
    found = [(_DEARNESS[need.origin], position, need.requirement, need) for need, position in named if position >= 0]
    return min(found, key=lambda item: item[:3])[3] if found else None


def _position(text: str, name: str) -> int:
    match = re.search(_whole(name), text)
    return match.start() if match else -1


def _whole(name: str) -> str:
    """A pattern for a name that is no part of another one."""
    return rf"(?<![\w.-]){re.escape(name)}(?![\w-])"
