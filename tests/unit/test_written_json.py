"""JSON that a person wrote: whatever a reader would have to guess is an error."""

from pathlib import Path

import pytest

from datasmith.agents.coding.prices import read_prices
from datasmith.errors import ConfigError
from datasmith.evaluation.outside import Cutoffs, read_stars
from datasmith.written_json import written_json


def test_keys_of_different_objects_may_be_the_same() -> None:
    """Each object has its own."""
    assert written_json(b'[{"a": {"a": 1}}, {"a": null}]') == [{"a": {"a": 1}}, {"a": None}]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[{"b": {"a": 1, "c": 2, "a": 1}}]', "'a' stands there twice"),
        ("[" * 100_000, "nested too deep"),
        ("{", "Expecting property name"),
        (b"\xff", "codec can't decode"),
    ],
)
def test_what_is_wrong_is_said(text: str | bytes, says: str) -> None:
    """As a ValueError, whatever it is."""
    with pytest.raises(ValueError, match=says):
        written_json(text)


def test_every_file_that_a_person_writes_is_read_so(tmp_path: Path) -> None:
    """The setting and the file are named with the key; tests of registries and of --config are beside theirs."""
    file = tmp_path / "facts.json"
    file.write_text('{"a/b": 1, "a/b": 2}')
    for read, setting in ((read_stars, "--stars"), (Cutoffs, "--cutoffs"), (read_prices, "FC_PRICES")):
        with pytest.raises(ConfigError, match=f"^{setting}.*facts.json.*'a/b' stands there twice"):
            read(file)
