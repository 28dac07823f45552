"""What was written before a moment."""

from datetime import UTC, datetime, timedelta

import pytest

from datasmith.github.dated import as_of, earliest, fix_known_at, names_the_fix
from datasmith.github.models import PR, Comment, Issue

THEN = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
PULL = PR(repository="o/r", issue_number=77, title="Cache it", merge_commit_sha="c" * 40, created_at=THEN)


def issue(**fields: object) -> Issue:
    """An issue an hour older than THEN."""
    given = {"repository": "o/r", "issue_number": 1, "body": "slow", "created_at": THEN - HOUR}
    return Issue.model_validate(given | fields)


def test_the_fix_is_known_from_the_day_it_was_proposed() -> None:
    """Opened, else merged, else not known."""
    assert fix_known_at(PULL.model_copy(update={"merged_at": THEN + HOUR})) == THEN
    assert fix_known_at(PULL.model_copy(update={"created_at": None, "merged_at": THEN})) == THEN
    assert fix_known_at(PULL.model_copy(update={"created_at": None})) is None
    assert earliest([None, THEN, THEN - HOUR, (THEN + HOUR).replace(tzinfo=None)]) == THEN - HOUR
    assert earliest([None]) is None


def test_an_issue_as_it_stood() -> None:
    """Unchanged where all of it is older; without what is newer, changed later, or of unknown date."""
    old = issue(comments=(Comment(body="a", created_at=THEN - HOUR),))
    assert as_of(old, THEN) is old
    assert as_of(old, None) is old
    mixed = issue(
        edited_at=THEN + HOUR,
        comments=(Comment(body="a", created_at=THEN - HOUR), Comment(body="b", created_at=THEN), Comment(body="c")),
    )
    stood = as_of(mixed, THEN)
    assert stood is not None
    assert (stood.body, [comment.body for comment in stood.comments]) == ("", ["a"])
    lenient = as_of(mixed, THEN, undated=True)
    assert lenient is not None
    assert [comment.body for comment in lenient.comments] == ["a", "c"]


@pytest.mark.parametrize(("created_at", "there", "undated"), [(THEN, False, False), (None, False, True)])
def test_an_issue_that_was_not_there(created_at: datetime | None, there: bool, undated: bool) -> None:
    """The moment itself is too late; without a date it depends."""
    assert (as_of(issue(created_at=created_at), THEN) is not None) is there
    assert (as_of(issue(created_at=created_at), THEN, undated=True) is not None) is undated


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Fixed by #77.", True),
        ("https://github.com/o/r/pull/77", True),
        ("gh-77", True),
        (f"in {'c' * 12}", True),
        ("please Cache it", True),
        ("#770 and #177 and pull/778", False),
        ("77 rows", False),
    ],
)
def test_who_points_at_the_fix(text: str, names: bool) -> None:
    """By number, link, commit or title; in the body, the title or a comment."""
    assert names_the_fix(issue(body=text), PULL) is names
    assert names_the_fix(issue(title=text), PULL) is names
    assert names_the_fix(issue(comments=(Comment(body=text),)), PULL) is names
