"""Text of others, in characters that a terminal shows, and cut where it is long."""

from hypothesis import given
from hypothesis import strategies as st

from datasmith.printable import cut, ending


@given(st.text(), st.integers(3, 40))
def test_what_is_cut_has_the_length_that_was_asked_for(text: str, most: int) -> None:
    """From either end; what is short enough stays."""
    line = " ".join(text.split())
    assert len(cut(text, most)) <= most and len(ending(text, most)) <= most
    assert ending(text, most) == line if len(line) <= most else line.endswith(ending(text, most).removeprefix("… "))


def test_an_ending_begins_with_a_whole_word() -> None:
    """Where there is one; of a single long word its end is shown."""
    assert ending("one two\nthree  four", 14) == "… three four"
    assert ending("x" * 20, 6) == "… xxxx"
