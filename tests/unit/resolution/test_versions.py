"""Which Python a commit may get."""

import gzip
import json
from datetime import UTC, datetime

import pytest

from datasmith.resolution.versions import choose, newest_by_date, order, unread_clauses
from tests.real_data import real_data

ALL = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
TODAY = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("day", "newest"),
    [
        (datetime(2021, 7, 6, tzinfo=UTC), "3.10"),
        (datetime(2021, 6, 1, tzinfo=UTC), "3.9"),
        (datetime(2018, 1, 1, tzinfo=UTC), "3.8"),
        (datetime(2024, 3, 1, tzinfo=UTC), "3.12"),
    ],
)
def test_a_python_may_be_used_from_ninety_days_before_its_release(day: datetime, newest: str) -> None:
    """Release candidates were around by then; the oldest Python that is still built serves all earlier commits."""
    assert newest_by_date(day) == newest


def test_requires_python_is_never_broken() -> None:
    """A bound of >=3.9,<3.11 yields 3.10 and 3.9, never 3.12, and says of the others why not."""
    choice = choose(ALL, requires_python=">=3.9,<3.11", asv_pythons=("3.12",), commit_date=TODAY)
    assert choice.candidates == ("3.10", "3.9")
    assert {version for version, reason in choice.refused if "requires-python" in reason} == {
        "3.8",
        "3.11",
        "3.12",
        "3.13",
    }


@pytest.mark.parametrize(
    ("said", "unread"),
    [(">=3.8.*, <3.10", ()), (">=3.8, <3.10, later", ("later",)), (">= 3.8.*,<3.10,", ())],
)
def test_each_bound_of_requires_python_holds_by_itself(said: str, unread: tuple[str, ...]) -> None:
    """Old metadata's stars are understood; a bound that cannot be read costs no other and is named."""
    choice = choose(
        ["3.7", "3.8", "3.9", "3.10"],
        requires_python=said,
        asv_pythons=(),
        commit_date=datetime(2023, 1, 1, tzinfo=UTC),
    )
    assert choice.candidates == ("3.9", "3.8")
    assert unread_clauses(said) == unread


def test_the_pythons_of_the_asv_configuration_come_first() -> None:
    """The wanted one, then older ones, then newer ones: a project was tried on those it names."""
    choice = choose(ALL, requires_python=">=3.9", asv_pythons=("3.10", "2.7"), commit_date=TODAY)
    assert choice.candidates == ("3.10", "3.9", "3.13", "3.12", "3.11")


def test_wanted_pythons_that_are_not_there_change_nothing() -> None:
    """A stale list of Pythons is a preference, not a wall."""
    choice = choose(ALL, requires_python="", asv_pythons=("3.6", "3.99"), commit_date=TODAY)
    assert choice.candidates == tuple(reversed(ALL))


def test_a_version_without_a_known_release_date_is_not_chosen() -> None:
    """Nobody can say whether it existed on the commit's day."""
    choice = choose(("3.99", "3.12"), requires_python="", asv_pythons=("3.99",), commit_date=TODAY)
    assert choice.candidates == ("3.12",)
    assert choice.refused == (("3.99", "no release date is known for it"),)


def test_a_patch_version_is_checked_as_it_is() -> None:
    """A bound of >=3.9.2 refuses 3.9.1; a bare 3.9 may be any of its patch releases; rubbish constrains nothing."""
    date = TODAY
    assert choose(("3.9.1",), requires_python=">=3.9.2", asv_pythons=(), commit_date=date).candidates == ()
    assert choose(("3.9",), requires_python=">=3.9.2", asv_pythons=(), commit_date=date).candidates == ("3.9",)
    assert choose(("3.9",), requires_python="three", asv_pythons=(), commit_date=date).candidates == ("3.9",)


def test_no_published_environment_has_a_python_that_the_date_rule_forbids() -> None:
    """Of the real tasks that name their Python, every one is at most what the rule gives."""
    with gzip.open(real_data("published_environments.jsonl.gz"), "rt") as lines:
        tasks = [json.loads(line) for line in lines]
    named = [
        (task["python_version"], datetime.fromisoformat(task["commit_date"]))
        for task in tasks
        if task["python_version"]
    ]
    allowed = [version for version, day in named if order(version) <= order(newest_by_date(day))]
    equal = [version for version, day in named if version == newest_by_date(day)]
    print(f"date rule: {len(allowed)} of {len(named)} Pythons allowed, {len(equal)} of them the newest allowed")
    assert len(named) > 400
    assert len(allowed) == len(named)
