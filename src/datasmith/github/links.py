"""Issues that a pull request points to, and those that they point to, as they stood before the fix."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from datasmith.errors import NotFound
from datasmith.github.dated import as_of, earliest, fix_known_at
from datasmith.github.models import PR, Issue
from datasmith.github.references import Reference, extract_references

Fetch = Callable[[str, str, int], Awaitable[Issue | None]]
"""(owner, repo, number) to the issue or pull request; None, or NotFound, where there is none."""

AT_ONCE = 8
"""So many issues are asked for at the same time."""
MOST_FETCHES = 200
"""So many are asked for in all, whatever a text points to."""

_CLOSES = re.compile(
    r"\b(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|address(?:e[sd]|ing)?)\b", re.IGNORECASE
)
_CLAUSE, _CLAUSE_END = 200, re.compile(r"\.\s|\n\s*\n")
_MOST_CHARS = 100_000
"""More than GitHub takes; so much of one text is searched."""


async def scrape_links(
    pr: Issue,
    fetch: Fetch,
    depth: int = 2,
    only_issues: bool = False,
    limit: int = 60,
    before: datetime | None = None,
) -> list[Issue]:
    """Up to `limit` issues at most `depth` links away, nearest first, each once, and never `pr` itself.

    With `only_issues`, pull requests are followed and not returned. Issues, comments and edited texts that are not
    known to be older than `before` are left out; without it, than the moment `pr` was opened; never later than its
    merge. A pull request that points to `pr`, or fixes an issue met on the way, comes without body, comments and patch.

    Raises:
        ForgeError: of `fetch`, but for NotFound: an outage is no answer.
    """
    merged_at = pr.merged_at if isinstance(pr, PR) else None
    moment = earliest([before or fix_known_at(pr), merged_at])
    seed = _identity(pr)
    seen: set[Reference] = {seed}
    found: list[Issue] = []
    sources = [pr]
    for _ in range(depth):
        level = _new_links(sources, seen)
        sources = []
        for start in range(0, len(level), AT_ONCE):
            if len(found) >= limit:
                break
            fetched = await _fetched(level[start : start + AT_ONCE], fetch, seen)
            known = [issue for issue in (as_of(issue, moment) for issue in fetched) if issue is not None]
            sources += known
            found += [issue for issue in known if not (only_issues and issue.is_pull_request)]
    return [_bare(issue) if _tells(issue, seed, seen) else issue for issue in found[:limit]]


def fixed_issues(pr: Issue) -> set[Reference]:
    """What a pull request says that it fixes, owner and repository in lower case.

    Every reference that follows a word like "fixes" in the same sentence counts: rather one too many.
    """
    text = f"{pr.title}\n{pr.body}"[:_MOST_CHARS]
    clauses = (
        _CLAUSE_END.split(text[word.end() : word.end() + _CLAUSE], maxsplit=1)[0] for word in _CLOSES.finditer(text)
    )
    return {_folded(link) for clause in clauses for link in extract_references(clause, pr.owner, pr.repo)}


def _folded(link: Reference) -> Reference:
    return link[0].lower(), link[1].lower(), link[2]


def _identity(issue: Issue) -> Reference:
    return _folded((issue.owner, issue.repo, issue.issue_number))


def _links(issue: Issue) -> list[Reference]:
    texts = [issue.title, issue.body, *(comment.body for comment in issue.comments)]
    return [link for text in texts for link in extract_references(text[:_MOST_CHARS], issue.owner, issue.repo)]


def _new_links(sources: Sequence[Issue], seen: set[Reference]) -> list[Reference]:
    """Links of `sources` that are not in `seen`, and now are, as far as MOST_FETCHES goes."""
    level: list[Reference] = []
    for link in (link for source in sources for link in _links(source)):
        if _folded(link) not in seen and len(seen) <= MOST_FETCHES:
            seen.add(_folded(link))
            level.append(link)
    return level


async def _fetched(links: Sequence[Reference], fetch: Fetch, seen: set[Reference]) -> list[Issue]:
    """Those that exist, in the order of `links`; one that moved to where another was seen is left out."""
    answers = await asyncio.gather(*(fetch(*link) for link in links), return_exceptions=True)
    found: list[Issue] = []
    for link, answer in zip(links, answers, strict=True):
        if isinstance(answer, NotFound) or answer is None:
            continue
        if isinstance(answer, BaseException):
            raise answer
        identity = _identity(answer)
        if identity == _folded(link) or identity not in seen:
            found.append(answer)
        seen.add(identity)
    return found


def _tells(issue: Issue, seed: Reference, seen: set[Reference]) -> bool:
    """True for a pull request that fixes an issue in `seen`, or speaks of the seed."""
    return issue.is_pull_request and (bool(fixed_issues(issue) & seen) or seed in map(_folded, _links(issue)))


def _bare(pr: Issue) -> Issue:
    told: dict[str, object] = {"body": "", "comments": ()}
    return pr.model_copy(update=told | ({"patch": None, "files": ()} if isinstance(pr, PR) else {}))
