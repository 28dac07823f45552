"""Linked issues: which are found, and what of them."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasmith.errors import ForgeError, ForgeUnavailable, NotFound, RateLimited
from datasmith.github import PR, Comment, Issue, scrape_links
from datasmith.github.links import AT_ONCE, MOST_FETCHES, fixed_issues

OPENED = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)


class Forge:
    """Issues in memory, by number; notes what was asked for, and how much at the same time."""

    def __init__(self, issues: Sequence[Issue] = (), failures: Mapping[int, Exception] | None = None) -> None:
        self.issues = {issue.cache_key.lower(): issue for issue in issues}
        self.failures = failures or {}
        self.asked: list[str] = []
        self.now = self.most_at_once = 0

    async def get_issue(self, owner: str, repo: str, number: int) -> Issue | None:
        self.asked.append(f"{owner}/{repo}:{number}")
        self.now += 1
        self.most_at_once = max(self.most_at_once, self.now)
        await asyncio.sleep(0.001 * (number % 3))
        self.now -= 1
        if number in self.failures:
            raise self.failures[number]
        return self.issues.get(f"{owner}/{repo}:{number}".lower())


def issue(number: int, body: str = "", **fields: object) -> Issue:
    """An issue from before the pull request."""
    given = {"title": f"Issue {number}", "body": body, "created_at": OPENED - DAY, **fields}
    return Issue.model_validate({"repository": "o/r", "issue_number": number, **given})


def pull(body: str, number: int = 77, **fields: object) -> PR:
    """A pull request."""
    given = {"body": body, "created_at": OPENED, "merged_at": OPENED + DAY, **fields}
    return PR.model_validate({"repository": "o/r", "issue_number": number, **given})


def found(pr: Issue, forge: Forge, **options: object) -> list[int]:
    """Numbers of what was found."""
    return [each.issue_number for each in links(pr, forge, **options)]


def links(pr: Issue, forge: Forge, **options: object) -> list[Issue]:
    """What was found, called as the manual calls it."""
    return asyncio.run(scrape_links(pr, forge.get_issue, **options))  # type: ignore[arg-type]


CHAIN = [issue(1, "see #2"), issue(2, "see #3"), issue(3, "see #4"), issue(4)]


@pytest.mark.parametrize(("depth", "expected"), [(0, []), (1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (9, [1, 2, 3, 4])])
def test_depth(depth: int, expected: list[int]) -> None:
    """Case 21: one step reaches what the pull request names, two what that names, and no further."""
    assert found(pull("Fixes #1"), Forge(CHAIN), depth=depth) == expected


def test_nearest_first_each_once_and_never_the_seed() -> None:
    """Case 21: in circles, spelled differently, by link and by number: everything is asked for once, in order."""
    circle = [
        issue(1, "#77 and #2, https://github.com/O/R/pull/77"),
        issue(2, "o/r#1, O/R#2 and #3"),
        issue(3, "https://github.com/O/r/issues/2, other/lib#5"),
        issue(5, "back to o/R#1", repository="Other/Lib"),
    ]
    forge = Forge(circle)
    assert found(pull("Fixes #2. See O/R#1, o/r#77"), forge, depth=9) == [2, 1, 3, 5]
    assert len({key.lower() for key in forge.asked}) == len(forge.asked) == 4


def test_limit() -> None:
    """Case 21: so many are returned, the nearest; not many more are asked for; none of none."""
    many = [issue(number) for number in range(1, 41)]
    pr = pull(" ".join(f"#{number}" for number in range(1, 41)))
    forge = Forge(many)
    assert found(pr, forge, limit=6) == [1, 2, 3, 4, 5, 6]
    assert len(forge.asked) <= AT_ONCE
    assert found(pr, forge, limit=0) == []


def test_only_issues() -> None:
    """Case 21: pull requests are followed, and returned only where they are asked for."""
    forge = Forge(
        [issue(1, "see #2", is_pull_request=True), issue(2), pull("see #3", 4, created_at=OPENED - DAY), issue(3)]
    )
    seed = pull("#1 #4")
    assert found(seed, forge, only_issues=True) == [2, 3]
    assert found(seed, forge) == [1, 4, 2, 3]


def test_what_fixes_the_issue_comes_without_its_text() -> None:
    """Case 21: an earlier try, and a backport, tell how; what only mentions the issue does not."""
    comments = (Comment(body="use a set", created_at=OPENED - DAY),)
    given: dict[str, object] = {"created_at": OPENED - DAY, "comments": comments, "patch": "+set()", "title": "Try"}
    forge = Forge(
        [
            issue(1),
            pull("Fixes: #1 with a set", 2, **given),
            pull("like https://github.com/o/r/pull/77, with a set", 3, **given),
            pull("has to do with #1", 4, **given),
        ]
    )
    shown = {each.issue_number: each for each in links(pull("Closes #1; see #2, #3, #4"), forge)}
    assert list(shown) == [1, 2, 3, 4]
    for number in (2, 3):
        told = shown[number]
        assert isinstance(told, PR)
        assert (told.title, told.body, told.comments, told.patch) == ("Try", "", (), None)
    assert (shown[4].body, shown[4].comments) == ("has to do with #1", comments)


@pytest.mark.parametrize(
    ("body", "fixed"),
    [
        ("Fixes #1", {1}),
        ("closes: #1, #2 and GH-3", {1, 2, 3}),
        ("Resolved\nhttps://github.com/O/R/issues/4", {4}),
        ("fixing the thing of #5", {5}),
        ("This is fixed. See #6", set()),
        ("prefix #7, as in #8", set()),
        ("Fixes it\n\n#9", set()),
        ("", set()),
    ],
)
def test_what_a_pull_request_says_that_it_fixes(body: str, fixed: set[int]) -> None:
    """References in the same sentence as a closing word, in whichever form."""
    assert fixed_issues(pull(body)) == {("o", "r", number) for number in fixed}


LATE = [
    issue(1, created_at=OPENED + DAY),
    issue(2, created_at=OPENED),
    issue(3, created_at=None),
    issue(
        4,
        "old text",
        comments=(
            Comment(body="early, see #5", created_at=OPENED - DAY),
            Comment(body="late, see #6", created_at=OPENED + DAY),
            Comment(body="changed, see #6", created_at=OPENED - DAY, edited_at=OPENED + DAY),
            Comment(body="whenever, see #6"),
        ),
    ),
    issue(7, "new text, see #6", edited_at=OPENED + DAY),
    issue(5),
    issue(6),
]


def test_nothing_is_dated_after_the_pull_request_was_opened() -> None:
    """Case 21: issues, comments and edits that may tell the fix are left out, and so is what they point to."""
    shown = {each.issue_number: each for each in links(pull("#1 #2 #3 #4 #7"), Forge(LATE), depth=3)}
    assert list(shown) == [4, 7, 5]
    assert [comment.body for comment in shown[4].comments] == ["early, see #5"]
    assert (shown[4].body, shown[7].body) == ("old text", "")


def test_before() -> None:
    """Case 21: another moment may be given; the merge is the last in any case; without any date all is shown."""
    texts = "#1 #2 #3 #4 #7"
    assert found(pull(texts), Forge(LATE), before=OPENED - 2 * DAY) == []
    later = OPENED + 9 * DAY
    assert found(pull(texts), Forge(LATE), before=later) == [2, 4, 7, 5]
    assert found(pull(texts, merged_at=later), Forge(LATE), before=later, depth=1) == [1, 2, 4, 7]
    assert found(pull(texts, created_at=None), Forge(LATE), depth=1) == [2, 4, 7]
    assert found(pull(texts, created_at=None, merged_at=None), Forge(LATE), depth=1) == [1, 2, 3, 4, 7]


def test_dates_without_a_zone_are_utc() -> None:
    """A date that a file gave without zone is compared all the same."""
    assert found(pull("#1"), Forge([issue(1)]), before=OPENED.replace(tzinfo=None)) == [1]


@pytest.mark.parametrize("gone", [None, NotFound("gone")])
def test_a_link_that_leads_nowhere_is_no_failure(gone: Exception | None) -> None:
    """Deleted, private or never there: the others are returned."""
    forge = Forge([issue(1), issue(3)], {2: gone} if gone else {})
    assert found(pull("#1 #2 #3"), forge) == [1, 3]


@pytest.mark.parametrize(
    "outage", [ForgeUnavailable("502"), RateLimited("wait", OPENED), ForgeError("odd"), TypeError("a bug")]
)
def test_an_outage_is_one(outage: Exception) -> None:
    """What could not be asked is not left out in silence."""
    with pytest.raises(type(outage)):
        found(pull("#1 #2 #3"), Forge([issue(1), issue(3)], {2: outage}))


def test_an_issue_that_moved_is_found_once() -> None:
    """Two old addresses of one issue, and one of the pull request itself."""
    moved = issue(9, repository="new/home")
    forge = Forge()
    forge.issues = {"a/b:1": moved, "a/b:2": moved, "new/home:9": moved, "a/b:3": pull("", 77)}
    assert found(pull("a/b#1 a/b#2 new/home#9 a/b#3"), forge) == [9]
    forge.issues.pop("new/home:9")
    assert found(pull("a/b#1 a/b#2"), forge) == [9]


def test_no_more_than_so_many_at_once_and_in_all() -> None:
    """A text that points to thousands asks for a bounded number, a few at a time."""
    forge = Forge()
    assert found(pull(" ".join(f"#{number}" for number in range(1000, 9000))), forge) == []
    assert forge.most_at_once <= AT_ONCE
    assert len(forge.asked) <= MOST_FETCHES


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.integers(1, 12), st.lists(st.integers(1, 12), max_size=5)), st.integers(0, 5))
def test_any_graph_is_walked_breadth_first(graph: dict[int, list[int]], depth: int) -> None:
    """Whatever points to what: each once, those within `depth` steps, in order of their distance."""
    forge = Forge([issue(number, " ".join(f"#{other}" for other in others)) for number, others in graph.items()])
    distance, level = {77: 0}, [77]
    for step in range(1, depth + 1):
        asked = [other for each in level for other in ([1, 2] if each == 77 else graph[each])]
        level = [other for other in dict.fromkeys(asked) if other in graph and other not in distance]
        distance |= dict.fromkeys(level, step)
    assert found(pull("#1 #2"), forge, depth=depth) == list(distance)[1:]
