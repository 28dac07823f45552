"""What an image says of itself is searched for ids of the fix."""

import pytest

from datasmith.docker.seal_below import named_in

FIX = "deadbee" + "0" * 33


@pytest.mark.parametrize("said", ["deadbee", "1.2.dev3+gdeadbee", "v1-3-gDEADBEE0", "rev_deadbee00", FIX])
def test_an_id_of_the_fix_is_found(said: str) -> None:
    """However short, in capitals, and as versions that are made of git's state have it."""
    assert named_in(f"VERSION={said}\n", [FIX, "f" * 40]) == [FIX]


@pytest.mark.parametrize("said", ["", "deadbe", "adeadbee1", "0" * 40])
def test_another_id_is_none_of_the_fix(said: str) -> None:
    """Too short for one, or of something else."""
    assert named_in(f"VERSION={said}\n", [FIX]) == []
