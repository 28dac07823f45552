"""What the fluent reader answers: the same on every Store."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from datasmith.errors import StoreError
from datasmith.storage.base import Row, Store
from datasmith.storage.sql import SqlStore
from datasmith.storage.table import Change, Client, Insert, Select, Table
from tests.conformance.stores import open_store

TITLES = ["beta", "Alpha", "50% off", "50 off", "under_score", "underXscore", None, "ärger", "back\\slash"]


def day(number: int) -> datetime:
    return datetime(2026, 2, number, tzinfo=UTC)


@pytest.fixture(scope="module", params=["file", "memory", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(request.param, tmp_path_factory.mktemp("store")) as opened:
        yield opened


@pytest.fixture
def pulls(store: Store) -> Table:
    """Nine pull requests, merged on nine days, numbered from 1."""
    assert isinstance(store, SqlStore)
    table = Client(store).table("pull_requests")
    table.delete().gte("issue_number", 0).execute()
    rows: list[Row] = [
        {"owner": "a", "repo": "b", "issue_number": number, "title": title, "merged_at": day(number)}
        for number, title in enumerate(TITLES, 1)
    ]
    verdicts = {0: None, 1: True, 2: False}
    table.insert(
        [{**row, "is_performance_commit": verdicts[n % 3], "labels": ["x"]} for n, row in enumerate(rows)]
    ).execute()
    return table


def numbers(question: Select) -> list[object]:
    return [row["issue_number"] for row in question.execute().data]


QUESTIONS: dict[str, tuple[Callable[[Select], Select], list[int]]] = {
    "all": (lambda q: q, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
    "eq": (lambda q: q.eq("title", "beta"), [1]),
    "eq a truth": (lambda q: q.eq("is_performance_commit", True), [2, 5, 8]),
    "eq a time": (lambda q: q.eq("merged_at", day(4)), [4]),
    "neq leaves out what is missing": (lambda q: q.neq("title", "beta"), [2, 3, 4, 5, 6, 8, 9]),
    "not eq as well": (lambda q: q.not_.eq("title", "beta"), [2, 3, 4, 5, 6, 8, 9]),
    "not neq": (lambda q: q.not_.neq("title", "beta"), [1]),
    "gt": (lambda q: q.gt("issue_number", 7), [8, 9]),
    "gte": (lambda q: q.gte("issue_number", 7), [7, 8, 9]),
    "lt": (lambda q: q.lt("issue_number", 3), [1, 2]),
    "lte": (lambda q: q.lte("issue_number", 3), [1, 2, 3]),
    "texts by code point": (lambda q: q.lt("title", "a"), [2, 3, 4]),
    "a day as text": (lambda q: q.gte("merged_at", "2026-02-03").lt("merged_at", "2026-02-05"), [3, 4]),
    "a time as text": (lambda q: q.gte("merged_at", "2026-02-09T01:00:00+01:00"), [9]),
    "in": (lambda q: q.in_("issue_number", [3, 1, 99]), [1, 3]),
    "in nothing": (lambda q: q.in_("title", []), []),
    "not in": (lambda q: q.not_.in_("title", ["beta", "Alpha"]), [3, 4, 5, 6, 8, 9]),
    "is null": (lambda q: q.is_("title", "null"), [7]),
    "is None": (lambda q: q.is_("title", None), [7]),
    "is not null": (lambda q: q.not_.is_("title", "null"), [1, 2, 3, 4, 5, 6, 8, 9]),
    "JSON is not null": (lambda q: q.not_.is_("labels", None).is_("files", None).lt("issue_number", 2), [1]),
    "is true": (lambda q: q.is_("is_performance_commit", True), [2, 5, 8]),
    "is false": (lambda q: q.is_("is_performance_commit", "false"), [3, 6, 9]),
    "is not true": (lambda q: q.not_.is_("is_performance_commit", True), [1, 3, 4, 6, 7, 9]),
    "like knows cases": (lambda q: q.like("title", "%A%"), [2]),
    "ilike does not": (lambda q: q.ilike("title", "%A%"), [1, 2, 9]),
    "a percent sign itself": (lambda q: q.like("title", "50\\%%"), [3]),
    "any text": (lambda q: q.like("title", "50%"), [3, 4]),
    "one character": (lambda q: q.like("title", "under_score"), [5, 6]),
    "an underscore itself": (lambda q: q.like("title", "under\\_score"), [5]),
    "a backslash itself": (lambda q: q.like("title", "back\\\\s%"), [9]),
    "not like": (lambda q: q.not_.like("title", "%e%"), [2, 3, 4, 9]),
    "all conditions": (lambda q: q.eq("owner", "a").gt("issue_number", 3).is_("title", None), [7]),
    "in order": (lambda q: q.order("title"), [4, 3, 2, 9, 1, 6, 5, 8, 7]),
    "the other way round": (lambda q: q.order("title", desc=True), [7, 8, 5, 6, 1, 9, 2, 3, 4]),
    "missing first": (lambda q: q.order("title", nullsfirst=True).limit(2), [7, 4]),
    "missing last": (lambda q: q.order("title", desc=True, nullsfirst=False).limit(2), [8, 5]),
    "by two columns": (
        lambda q: q.order("is_performance_commit", desc=True, nullsfirst=False).order("issue_number", desc=True),
        [8, 5, 2, 9, 6, 3, 7, 4, 1],
    ),
    "limit": (lambda q: q.limit(2), [1, 2]),
    "limit 0": (lambda q: q.limit(0), []),
    "offset": (lambda q: q.offset(7), [8, 9]),
    "range": (lambda q: q.range(2, 4), [3, 4, 5]),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_have_the_same_answer_everywhere(pulls: Table, name: str) -> None:
    """Without an order of its own, an answer comes by primary key."""
    ask, expected = QUESTIONS[name]
    assert numbers(ask(pulls.select("*"))) == expected


def test_columns_can_be_chosen(pulls: Table) -> None:
    """All of them, or those that are named."""
    (row,) = pulls.select("title, merged_at").eq("issue_number", 1).execute().data
    assert row == {"title": "beta", "merged_at": day(1)}
    assert "patch" in pulls.select().limit(1).execute().data[0]


def test_rows_are_counted_where_that_is_asked(pulls: Table) -> None:
    """All that fit, whatever the limit; otherwise there is no number."""
    asked = pulls.select("title", count="exact").gt("issue_number", 4).limit(2).execute()
    assert (asked.count, len(asked.data)) == (5, 2)
    assert pulls.select("title").execute().count is None


def test_a_single_row(pulls: Table) -> None:
    """Exactly one, or at most one."""
    assert pulls.select("title").eq("issue_number", 2).single().execute().data == {"title": "Alpha"}
    assert pulls.select("title").eq("issue_number", 99).maybe_single().execute().data is None
    assert pulls.select("title").eq("issue_number", 2).maybe_single().execute().data == {"title": "Alpha"}
    with pytest.raises(StoreError, match="no row"):
        pulls.select("title").eq("issue_number", 99).single().execute()
    for question in (pulls.select("*").single(), pulls.select("*").maybe_single()):
        with pytest.raises(StoreError, match="more than one"):
            question.execute()


def test_a_question_can_be_the_start_of_others(pulls: Table) -> None:
    """Every step is a new object: what follows does not change what was."""
    start = pulls.select("*").gt("issue_number", 6)
    assert (numbers(start.lt("issue_number", 8)), numbers(start.is_("title", None)), numbers(start)) == (
        [7],
        [7],
        [7, 8, 9],
    )


def test_inserting_gives_the_rows_as_they_are(pulls: Table) -> None:
    """With the numbers that the database counts, in the given order, rows of different columns too."""
    failures = Table(pulls.store, "runner_failures")
    made = failures.insert([{"item": "b"}, {"item": "a", "stage": 3}, {"reason": "x"}]).execute().data
    assert [row["item"] for row in made] == ["b", "a", None]
    assert [row["stage"] for row in made] == [None, 3, None]
    ids = [row["id"] for row in made]
    assert ids == sorted(ids, key=str) and len(set(ids)) == 3
    assert failures.insert([]).execute().data == []


def test_inserting_a_row_that_is_there_is_refused(pulls: Table) -> None:
    """And the new rows beside it are not written."""
    key: Row = {"owner": "a", "repo": "b"}
    with pytest.raises(StoreError, match=r"(?i)unique"):
        pulls.insert([{**key, "issue_number": 50}, {**key, "issue_number": 1}]).execute()
    assert numbers(pulls.select("*").gt("issue_number", 9)) == []


def test_upserting_replaces_the_named_columns(pulls: Table) -> None:
    """The last of two rows with one key wins; what exists may also be left alone."""
    key: Row = {"owner": "a", "repo": "b", "issue_number": 1}
    made = pulls.upsert([{**key, "body": "first"}, {**key, "body": "last"}]).execute().data
    assert [row["body"] for row in made] == ["first", "last"] and made[1]["title"] == "beta"
    assert pulls.upsert({**key, "body": "x"}, ignore_duplicates=True).execute().data == []
    found = pulls.upsert({**key, "author": "me"}, on_conflict="issue_number,owner, repo").execute().data
    assert [(row["body"], row["author"]) for row in found] == [("last", "me")]


def test_updating_gives_the_changed_rows(pulls: Table) -> None:
    """Only those that meet the conditions, by primary key."""
    made = pulls.update({"body": "new", "merged_at": "2026-03-01"}).gte("issue_number", 8).execute().data
    assert [(row["issue_number"], row["body"]) for row in made] == [(8, "new"), (9, "new")]
    assert made[0]["merged_at"] == datetime(2026, 3, 1, tzinfo=UTC)
    assert numbers(pulls.select("*").eq("body", "new")) == [8, 9]
    assert pulls.update({"body": "new"}).eq("issue_number", 99).execute().data == []


def test_deleting_gives_the_rows_that_were(pulls: Table) -> None:
    """The others stay."""
    gone = pulls.delete().in_("issue_number", [2, 1]).execute().data
    assert [row["title"] for row in gone] == ["beta", "Alpha"]
    assert numbers(pulls.select("*")) == [3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda t: t.delete(), "every row.*eq"),
        (lambda t: t.update({"body": "x"}), "every row.*eq"),
        (lambda t: t.update({}).eq("owner", "a"), "without values"),
        (lambda t: t.update({"boddy": "x"}).eq("owner", "a"), "boddy.*it has: owner, repo"),
        (lambda t: t.select("titel"), "titel.*it has: owner, repo"),
        (lambda t: t.select(""), "no column ''"),
        (lambda t: t.select("*").eq("titel", "x"), "titel.*it has: owner, repo"),
        (lambda t: t.select("*").order("titel"), "titel.*it has: owner, repo"),
        (lambda t: t.select("*").eq("title", None), "is_"),
        (lambda t: t.select("*").in_("title", ["a", None]), "is_"),
        (lambda t: t.select("*").eq("issue_number", "1"), "takes a whole number"),
        (lambda t: t.select("*").is_("title", True), "takes a text"),
        (lambda t: t.select("*").gte("merged_at", "soon"), "2026-02-01"),
        (lambda t: t.select("*").eq("labels", ["x"]), "JSON"),
        (lambda t: t.select("*").order("labels"), "JSON"),
        (lambda t: t.select("*").like("issue_number", "1%"), "takes a whole number"),
        (lambda t: t.select("*").ilike("merged_at", "2026-02-01"), "no text"),
        (lambda t: t.select("*").like("title", "x\\"), "backslash"),
        (lambda t: t.select("*").ilike("title", "%" * 1001), "1000 characters"),
        (lambda t: t.select("*").in_("issue_number", range(30_001)), "30000 at a time"),
        (
            lambda t: t.select("*").in_("issue_number", range(30_000)).in_("title", ["a"] * 30_000).in_("body", ["b"]),
            "60000 in all",
        ),
        (lambda t: t.select("*").lt("confidence", 10**400), "too large"),
        (lambda t: t.update({"labels": {1: "a"}}).eq("owner", "a"), "key of JSON"),
        (lambda t: t.update({"labels": {"a"}}).eq("owner", "a"), "what JSON can say"),
        (lambda t: t.update({"labels": [b"a"]}).eq("owner", "a"), "what JSON can say"),
        (lambda t: t.update({"labels": (float("nan"),)}).eq("owner", "a"), "finite"),
        (lambda t: t.update({"labels": [10**5000]}).eq("owner", "a"), "bits"),
        (lambda t: t.select("*").not_, "no condition after it"),
        (lambda t: t.insert({"boddy": "x"}), "boddy"),
        (lambda t: t.upsert({"owner": "a"}), "needs 'repo'"),
        (lambda t: t.upsert({"owner": "a"}, on_conflict="title"), "owner,repo,issue_number"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    pulls: Table, wrong: Callable[[Table], Select | Change | Insert], words: str
) -> None:
    """With a message that says what there is, and nothing is changed."""
    with pytest.raises(StoreError, match=words):
        wrong(pulls).execute()
    assert len(pulls.select("*").execute().data) == len(TITLES)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda q: q.limit(-1),
        lambda q: q.limit(1.5),
        lambda q: q.offset("1; --"),
        lambda q: q.offset(-1),
        lambda q: q.range(3, 1),
        lambda q: q.is_("title", "soon"),
        lambda q: q.in_("title", "soon"),
    ],
)
def test_what_has_no_meaning_is_refused_at_once(pulls: Table, wrong: Callable[[Select], Select]) -> None:
    """Before anything is asked."""
    with pytest.raises(StoreError, match=r"negative|It can be|one text"):
        wrong(pulls.select("*"))


def test_numbers_are_the_same_everywhere(pulls: Table) -> None:
    """A whole number in a column of others is one of them, however large; so is the number of rows that is wanted."""
    pulls.update({"confidence": 5}).eq("issue_number", 1).execute()
    kept = pulls.select("confidence").eq("issue_number", 1).single().execute().data["confidence"]
    assert (kept, type(kept)) == (5.0, float)
    assert 1 in numbers(pulls.select("*").lt("confidence", 2**70))
    assert numbers(pulls.select("*").limit(10**30).offset(8)) == [9]
    assert pulls.select("*").offset(10**30).execute().data == []


def test_json_takes_tuples_and_hostile_text(pulls: Table) -> None:
    """A tuple is a list, at any depth, and what databases refuse in a text is replaced."""
    labels = ("a\0", {"\ud800": ("b",)})
    row = pulls.update({"labels": labels}).eq("issue_number", 1).execute().data[0]  # type: ignore[dict-item]
    assert row["labels"] == ["a\ufffd", {"\ufffd": ["b"]}]


def test_a_column_that_is_named_twice_comes_once(pulls: Table) -> None:
    """Under its own name."""
    assert pulls.select("title, owner,title").limit(1).execute().data[0].keys() == {"title", "owner"}


def test_an_unknown_table_is_told(store: Store) -> None:
    """With the names of those that there are."""
    with pytest.raises(StoreError, match=r"no table 'pull_request' \(there are: build_.*stage_items\)"):
        Client(store).table("pull_request").select("*").execute()


def test_thirty_thousand_values_fit(pulls: Table) -> None:
    """The most that a condition may list, on every database."""
    assert numbers(pulls.select("*").in_("issue_number", range(30_000))) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("hostile", ["'; DROP TABLE pull_requests; --", "a\0b", "\ud800", '"', "%s", ":x", "$1", "{}"])
def test_values_are_bound(pulls: Table, hostile: str) -> None:
    """Statements, placeholders and characters that databases refuse are only text, wherever a value may stand."""
    pulls.update({"title": hostile}).eq("issue_number", 1).execute()
    for question in (
        pulls.select("*").eq("title", hostile),
        pulls.select("*").in_("title", [hostile]),
        pulls.select("*").like("title", hostile.replace("%", "\\%")),
        pulls.select("*").gte("title", hostile).lte("title", hostile),
    ):
        assert numbers(question) == [1]
    assert len(pulls.select("*").neq("title", hostile).execute().data) == len(TITLES) - 2
    with pytest.raises(StoreError, match="no column"):
        pulls.select("*").eq(hostile, "x").execute()
    with pytest.raises(StoreError, match="no column"):
        pulls.select(hostile).execute()
    assert [row["issue_number"] for row in pulls.delete().eq("title", hostile).execute().data] == [1]
