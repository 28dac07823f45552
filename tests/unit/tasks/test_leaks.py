"""What an instruction must not say."""

import pytest

from datasmith.tasks.leaks import leaks
from tests.unit.tasks.samples import sample_task

SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    "told",
    [
        f"see {SHA}",
        f"fixed in {SHA[:7]}.",
        f"fixed in {SHA[:10].upper()}",
        "see #12",
        "see acme/calc#12",
        "https://github.com/Acme/Calc/pull/12/files",
        "/pull/12",
        "GH-12",
        "gh-12,",
        "Use the closed form for sums",
        "use the  closed\nform FOR `sums`!",
    ],
)
def test_a_way_to_the_solution_is_found(told: str) -> None:
    """Its commit, number and title, in each way that people write them."""
    assert leaks(sample_task(merge_commit=SHA, instruction=f"It is slow.\n{told}\n"))


@pytest.mark.parametrize(
    "told",
    [
        "#123 and #1",
        "numpy/numpy#12",
        "https://github.com/numpy/numpy/issues/12",
        "12 workloads; bench.time_calc(12)",
        "deadbeef00",
        "012345",
        "Use the closed formula for sums",
        "",
    ],
)
def test_ordinary_language_is_no_leak(told: str) -> None:
    """Other numbers, other repositories' numbers, other hashes and other sentences."""
    assert leaks(sample_task(merge_commit=SHA, instruction=f"It is slow.\n{told}\n")) == ()


@pytest.mark.parametrize("title", ["", "Performance", "Make it faster", "speed"])
def test_a_title_of_common_words_refuses_nothing(title: str) -> None:
    """A short title occurs in any instruction without telling anything."""
    text = "Performance: make it faster, its speed is what counts."
    assert leaks(sample_task(title=title, instruction=text)) == ()
