"""Releases of which the index tells another day than theirs."""

from datetime import UTC, datetime

import pytest

from datasmith.resolution import reuploads


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("cutoff", "newest"),
    [("2017-12-31", ""), ("2018-08-30", "1.1.5"), ("2019-10-15", "1.3.0"), ("2022-07-09", "1.4.0"), ("2022-07-10", "")],
)
def test_the_newest_of_the_day_is_allowed(cutoff: str, newest: str) -> None:
    """Nothing newer than what was there, and nothing is said of a day from which on the index itself is right."""
    told = reuploads.constraints(day(cutoff))
    assert told == (f"atomicwrites<={newest}\n" if newest else "")
    assert bool(reuploads.words(day(cutoff))) == bool(newest)


def test_each_table_is_in_order() -> None:
    """The last one that fits is the newest, and all were there before they came again."""
    for project in reuploads.REUPLOADED:
        moments = [moment for moment, _ in project.known]
        assert moments == sorted(moments) and moments[-1] < project.again
