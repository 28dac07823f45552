"""Text of others, in characters that a terminal shows, and cut where it is long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasmith.printable import cut, ending


@given(st.text(st.characters(categories=["L", "N", "Z"])), st.integers(3, 90))
def test_what_is_cut_has_the_length_that_was_asked_for(text: str, most: int) -> None:
    """From either end; what is short enough stays, and of what is long most does."""
    line, end = " ".join(text.split()), ending(text, most)
    assert len(cut(text, most)) <= most
    if len(line) <= most:
        assert end == line
    else:
        assert end.startswith("… ") and line.endswith(end[2:])
        assert max(3, most - 42) <= len(end) <= most


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("one two\nthree  four", 14, "… three four"),
        ("one two\nthree  four", 12, "… three four"),
        ("one two\nthree  four", 11, "… four"),
        ("x" * 20, 6, "… xxxx"),
        (f"{'y' * 90} end", 80, f"… {'y' * 74} end"),
        ("colour \x1b[31mred\x07", 80, "colour [31mred"),
        (f"{'a ' * 40}https://u:ghp_{'A1b2' * 9}@h", 30, "… a a a a a a a https://***@h"),
    ],
)
def test_an_ending_begins_with_a_whole_word(text: str, most: int, shown: str) -> None:
    """Where there is one that is not long; no control character is left, and no half of a secret."""
    assert ending(text, most) == shown
