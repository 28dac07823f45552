"""What a judgement of a pull request says: is it about speed, of which kind, how hard, and who says so."""

import re
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, field_validator

from datasmith.metrics.strata import TAGS, Tag

Category = Tag
"""Strategy tags; a pull request has one."""
Difficulty = Literal["easy", "medium", "hard"]

CATEGORIES = TAGS
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)

_WORD = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
_LABEL = re.compile(r"\b(yes|true|no|false)\b")


def read_label(value: object) -> bool | None:
    """A yes or no however it is dressed ("**YES**", "Label: yes."); None where there is no single answer."""
    if value is None or isinstance(value, bool):
        return value
    answers = {word in {"yes", "true"} for word in _LABEL.findall(str(value).lower())}
    return answers.pop() if len(answers) == 1 else None


def _last_word(value: object) -> str:
    """`EnumName.CACHE_AND_REUSE` or "Cache and reuse." as cache_and_reuse."""
    words = _WORD.findall(str(value).rpartition(".")[2].lower() or str(value).lower())
    return "_".join(words)


class Classification(BaseModel):
    """A judgement; `is_performance` None means not decided, which is not a no.

    Fields are read leniently, since some judges answer in prose: an unknown category becomes "uncategorized", an
    unknown difficulty "medium", a confidence that is no number 0. `by` is "rules" or the name of a model.
    """

    model_config = ConfigDict(frozen=True)

    is_performance: bool | None
    category: Category = "uncategorized"
    difficulty: Difficulty = "medium"
    reason: str = ""
    confidence: int = 0
    by: str = "rules"

    @field_validator("is_performance", mode="before")
    @classmethod
    def _label(cls, value: object) -> bool | None:
        return read_label(value)

    @field_validator("category", mode="before")
    @classmethod
    def _known_category(cls, value: object) -> str:
        word = _last_word(value)
        return word if word in CATEGORIES else "uncategorized"

    @field_validator("difficulty", mode="before")
    @classmethod
    def _known_difficulty(cls, value: object) -> str:
        word = _last_word(value)
        return word if word in DIFFICULTIES else "medium"

    @field_validator("confidence", mode="before")
    @classmethod
    def _percent(cls, value: object) -> int:
        try:
            number = float(str(value).strip().rstrip("%"))
        except ValueError:
            return 0
        return int(min(100.0, max(0.0, number))) if number == number else 0
