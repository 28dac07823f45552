"""One is not many."""

import pytest

from datasmith.counted import counted


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (0, "test", "0 tests"),
        (1, "test", "1 test"),
        (2, "test", "2 tests"),
        (1200, "pull request", "1,200 pull requests"),
        (1, "repository", "1 repository"),
        (2, "repository", "2 repositories"),
    ],
)
def test_a_number_and_its_noun_agree(number: int, noun: str, said: str) -> None:
    """With the noun as of one."""
    assert counted(number, noun) == said
