"""Reading judgements leniently."""

import pytest
from pydantic import ValidationError

from datasmith.agents.classification import CATEGORIES, DIFFICULTIES, Classification, read_label


def test_the_values() -> None:
    """Fourteen strategies and three difficulties."""
    assert len(CATEGORIES) == len(set(CATEGORIES)) == 14
    assert DIFFICULTIES == ("easy", "medium", "hard")


@pytest.mark.parametrize("text", ["YES", "yes.", "**YES**", "Label: YES", "true", "Yes, it is faster"])
def test_yes_in_any_dress(text: str) -> None:
    """Decoration does not change a yes."""
    assert read_label(text) is True
    assert Classification.model_validate({"is_performance": text}).is_performance is True


@pytest.mark.parametrize(("text", "expected"), [("NO", False), ("Label: no.", False), ("", None), ("yes and no", None)])
def test_no_and_no_answer(text: str, expected: bool | None) -> None:
    """No answer, or two, is not decided."""
    assert read_label(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("OptimizationType.CACHE_AND_REUSE", "cache_and_reuse"),
        ("Cache and reuse", "cache_and_reuse"),
        ("Cache-and-reuse.", "cache_and_reuse"),
        ("make_it_fast", "uncategorized"),
        ("", "uncategorized"),
        (None, "uncategorized"),
    ],
)
def test_categories(text: str | None, expected: str) -> None:
    """Known ones are recognised in any spelling, others are uncategorized."""
    assert Classification.model_validate({"is_performance": True, "category": text}).category == expected


@pytest.mark.parametrize(("text", "expected"), [("DifficultyLevel.HARD", "hard"), ("Easy", "easy"), ("eazy", "medium")])
def test_difficulties(text: str, expected: str) -> None:
    """An unknown difficulty is medium."""
    assert Classification.model_validate({"is_performance": True, "difficulty": text}).difficulty == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("87", 87), (87.9, 87), ("high", 0), (140, 100), (-3, 0), ("95%", 95), ("nan", 0), (None, 0)],
)
def test_confidence(value: object, expected: int) -> None:
    """A whole number from 0 to 100, whatever was said."""
    assert Classification.model_validate({"is_performance": True, "confidence": value}).confidence == expected


def test_frozen() -> None:
    """A judgement is not changed, only replaced."""
    with pytest.raises(ValidationError):
        Classification(is_performance=None).reason = "x"  # type: ignore[misc]
