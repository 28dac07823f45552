"""What is wrong with a value, in our words."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from datasmith.misfits import misfit, misfits


class Colour(StrEnum):
    """Two of them."""

    RED = "red"
    BLUE = "blue"


class Thing(BaseModel):
    """One entry of each kind that files of ours have."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    number: int = 6
    most: Annotated[int, Field(le=9)] = 6
    share: Annotated[float, Field(gt=0.5)] = 1.0
    text: Annotated[str, Field(min_length=1, max_length=3)] = "a"
    form: Annotated[str, Field(pattern="^[a-z]+$")] = "a"
    on: bool = True
    rows: tuple[int, ...] = ()
    place: Path = Path()
    by_name: Mapping[str, int] = Field(default_factory=dict)
    colour: Colour = Colour.RED
    word: Literal["all", "one"] = "all"
    at: AwareDatetime | None = None
    our_own: str = ""

    @field_validator("our_own")
    @classmethod
    def _ours(cls, value: str) -> str:
        if value:
            raise ValueError(f"{value} is not ours")
        return value


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"number": "five"}, "number: must be a whole number, not 'five'"),
        ({"number": 5.5}, "number: must be a whole number, not 5.5"),
        ({"number": None}, "number: must be a whole number, not null"),
        ({"number": []}, "number: must be a whole number, not a list"),
        ({"number": {}}, "number: must be a whole number, not an object"),
        ({"most": 10}, "most: must be at most 9, not 10"),
        ({"share": 0.25}, "share: must be more than 0.5, not 0.25"),
        ({"share": float("nan")}, "share: must be a finite number, not NaN"),
        ({"share": "x"}, "share: must be a number, not 'x'"),
        ({"text": ""}, "text: must not be empty"),
        ({"text": "four"}, "text: must have at most 3 characters, not 'four'"),
        ({"text": 1}, "text: must be text, not 1"),
        ({"form": "A"}, "form: must be of the form ^[a-z]+$, not 'A'"),
        ({"on": "perhaps"}, "on: must be true or false, not 'perhaps'"),
        ({"rows": "1,2"}, "rows: must be a list, not '1,2'"),
        ({"rows": [1, "b"]}, "rows.1: must be a whole number, not 'b'"),
        ({"by_name": []}, "by_name: must be an object, as {}, not a list"),
        ({"place": 1}, "place: must be a path, not 1"),
        ({"colour": "green"}, "colour: must be 'red' or 'blue', not 'green'"),
        ({"word": "two"}, "word: must be 'all' or 'one', not 'two'"),
        ({"at": "soon"}, "at: must be a date and time, as 2026-03-01T12:00:00Z, not 'soon'"),
        ({"at": datetime(2026, 1, 1)}, "at: must be a date and time, as 2026-03-01T12:00:00Z"),  # noqa: DTZ001
        ({"our_own": "this"}, "our_own: this is not ours"),
        ({"numbr": 5, "most": 10}, "unknown key 'numbr'; did you mean 'number'?"),
        (7, "must be an object, as {}, not 7"),
    ],
)
def test_what_is_wrong_names_the_entry_what_it_must_be_and_what_was_given(given: object, says: str) -> None:
    """In our words; a key that nobody knows comes first, with the one that was meant."""
    with pytest.raises(ValidationError) as found:
        Thing.model_validate(given)
    assert misfit(found.value, Thing.model_fields) == says


def test_what_is_missing_and_what_is_no_json() -> None:
    """And all that is wrong, one by one."""

    class Pair(BaseModel):
        first: int
        second: int

    with pytest.raises(ValidationError) as found:
        Pair.model_validate({})
    assert misfits(found.value) == ["first is missing", "second is missing"]
    assert misfit(found.value, named=str.upper) == "FIRST is missing"
    with pytest.raises(ValidationError) as found:
        Pair.model_validate_json("{")
    assert misfit(found.value).startswith("not JSON: EOF while parsing")


def test_a_long_value_is_cut_and_a_secret_is_not_shown() -> None:
    """A token in the wrong place does not come into a log."""
    for value in ("ghp_" + "a1" * 15, "x" * 300):
        with pytest.raises(ValidationError) as found:
            TypeAdapter(int).validate_python(value)
        assert misfit(found.value).removeprefix("must be a whole number, not ") in {"'***'", f"'{'x' * 59}…'"}


def test_what_has_no_words_of_ours_has_none_of_the_library() -> None:
    """A kind that is added one day."""
    with pytest.raises(ValidationError) as found:
        TypeAdapter(complex).validate_python("so so")
    assert misfit(found.value) == "is not what belongs there, not 'so so'"
