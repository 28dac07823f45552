"""What a commit on the default branch says about the pull request that it merged. Pure text, linear time."""

import re
from dataclasses import dataclass

_SQUASH = re.compile(r"\(#(?P<number>[0-9]{1,9})\)$")
_MERGE = re.compile(
    r"Merge (?:pull request|PR) #(?P<number>[0-9]{1,9})"
    r"(?:\s+from\s+(?P<owner>[A-Za-z0-9._-]+)[/:]\S*|:\s*(?P<title>.*)|\s*)",
    re.IGNORECASE,
)
_MERGE_INSIDE = re.compile(r"\bmerge (?:pull request|PR) #(?P<number>[0-9]{1,9})\b", re.IGNORECASE)
_CUT = "\u2026"
"""How the forge marks a title that it cut; the rest opens the body with the same mark."""


@dataclass(frozen=True, slots=True)
class MergedTitle:
    """Number, title and body of a pull request; `owner` is the account its branch came from, "" where unsaid."""

    number: int
    title: str
    body: str
    owner: str = ""


def read_merge(message: str, n_parents: int) -> MergedTitle | None:
    """The pull request that this commit merged; None for a commit that names none.

    Reads "Merge pull request #N from owner/branch" with title and body below, "Merge PR #N: title", and squash
    commits "title (#N)". Of several numbers the last counts: `Revert "title (#N)" (#M)` is pull request M. A merge
    message without a title keeps its first line as title.
    """
    subject, _, rest = message.partition("\n")
    subject, rest = subject.strip(), rest.strip()
    merge = _MERGE.fullmatch(subject)
    if merge:
        return _from_merge(merge, subject, rest)
    squash = _SQUASH.search(subject)
    if squash:
        return _from_squash(int(squash["number"]), subject[: squash.start()].strip(), rest)
    inside = _MERGE_INSIDE.search(subject) if n_parents > 1 and not subject.startswith("Revert") else None
    return MergedTitle(int(inside["number"]), subject, rest) if inside else None


def _from_merge(merge: re.Match[str], subject: str, rest: str) -> MergedTitle:
    title, body = merge["title"] or "", rest
    if not title:
        title, _, body = rest.partition("\n")
    return MergedTitle(int(merge["number"]), title.strip() or subject, body.strip(), merge["owner"] or "")


def _from_squash(number: int, title: str, body: str) -> MergedTitle:
    if title.endswith(_CUT) and body.startswith(_CUT):
        tail, _, body = body.removeprefix(_CUT).partition("\n")
        title = title.removesuffix(_CUT) + tail.rstrip()
    return MergedTitle(number, title, body.strip())
