"""The border of the database: clean text, finite numbers, moments."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.dialects import sqlite

from datasmith.errors import StoreError
from datasmith.storage.schema import UtcTime, clean, clean_text, metadata

ANY_TEXT = st.text(st.characters(codec=None))


@given(ANY_TEXT)
def test_clean_text_can_be_encoded_and_stays_as_long(text: str) -> None:
    """Cleaning replaces characters one by one, so that positions in the text stay true."""
    cleaned = clean_text(text)
    assert "\0" not in cleaned.encode().decode()
    assert len(cleaned) == len(text)
    assert clean_text(cleaned) == cleaned


@given(st.text())
def test_ordinary_text_is_untouched(text: str) -> None:
    """Every character but NUL and surrogates is kept."""
    assert clean_text(text).replace("\ufffd", "") == text.replace("\0", "").replace("\ufffd", "")


def test_values_are_cleaned_to_the_bottom() -> None:
    """Lists and dictionaries in each other, keys too; other values are themselves."""
    assert clean({"a\0": [{"b": ["\ud800", 1, None, True, b"\0"]}]}) == {
        "a\ufffd": [{"b": ["\ufffd", 1, None, True, b"\0"]}]
    }


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_are_finite(number: float) -> None:
    """What has no value is None, never a number that is none."""
    with pytest.raises(StoreError, match="finite"):
        clean({"deep": [number]})


def test_a_naive_time_has_no_moment() -> None:
    """It is refused, not taken for UTC."""
    kind, dialect = UtcTime(), sqlite.dialect()
    with pytest.raises(ValueError, match="time zone"):
        kind.process_bind_param(datetime(2026, 1, 1), dialect)  # noqa: DTZ001
    assert kind.process_bind_param(None, dialect) is None
    assert kind.process_result_value(datetime(2026, 1, 1), dialect) == datetime(2026, 1, 1, tzinfo=UTC)  # noqa: DTZ001


def test_every_table_of_the_plan_exists() -> None:
    """The eleven tables, and each with a primary key."""
    assert set(metadata.tables) == {
        "repositories", "pull_requests", "hook_cache", "build_attempts", "candidate_containers", "packages",
        "pr_contexts", "runner_progress", "runner_failures", "stage_items", "certificates",
    }  # fmt: skip
    assert all(table.primary_key.columns for table in metadata.tables.values())
