"""What of an issue was written before a moment: whatever came later may tell the fix."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from datasmith.github.models import PR, Comment, Issue


def fix_known_at(pr: Issue) -> datetime | None:
    """The first moment at which somebody may write about the fix: the pull request was opened, or merged; or None."""
    merged_at = pr.merged_at if isinstance(pr, PR) else None
    return pr.created_at or merged_at


def body_before_merge(pr: PR) -> str:
    """The pull request's own text; "" where it was changed after the merge: what it said before is not known."""
    if pr.edited_at is None or pr.merged_at is None or _aware(pr.edited_at) <= _aware(pr.merged_at):
        return pr.body
    return ""


def earliest(moments: Sequence[datetime | None]) -> datetime | None:
    """The first of the moments that are known; None where none is."""
    return min((_aware(moment) for moment in moments if moment is not None), default=None)


def as_of(issue: Issue, moment: datetime | None, *, undated: bool = False) -> Issue | None:
    """The issue as it stood just before `moment` (None: as it stands now); None where it was not there yet.

    What has no date is left out, unless `undated`; so are texts that were changed later: what they said is not known.
    """
    if moment is None:
        return issue
    if not _is_before(issue.created_at, moment, undated):
        return None
    kept = tuple(comment for comment in issue.comments if _stood(comment, moment, undated))
    body = issue.body if _is_before(issue.edited_at, moment, True) else ""
    if body == issue.body and len(kept) == len(issue.comments):
        return issue
    return issue.model_copy(update={"body": body, "comments": kept})


def names_the_fix(issue: Issue, pr: PR) -> bool:
    """True where title, body or a comment points at the pull request or its merge commit, or repeats its title."""
    text = "\n".join([issue.title, issue.body, *[comment.body for comment in issue.comments]])
    sha, number = pr.merge_commit_sha[:10], str(pr.issue_number)
    if (sha and sha in text) or (pr.title and pr.title in text):
        return True
    return number in text and re.search(rf"(?:#|/pull/|\bgh-){number}(?![0-9])", text, re.IGNORECASE) is not None


def _stood(comment: Comment, moment: datetime, undated: bool) -> bool:
    return _is_before(comment.created_at, moment, undated) and _is_before(comment.edited_at, moment, True)


def _is_before(written: datetime | None, moment: datetime, undated: bool) -> bool:
    return undated if written is None else _aware(written) < _aware(moment)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
