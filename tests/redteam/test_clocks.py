"""Clocks that stand still while something new is computed, run past the policy: our own clock sees them."""

import pytest

from datasmith.evaluation.redteam.session import Siege
from tests.redteam.sieges import besieged, ended

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

CLOCKS = ("clock-by-cast", "clock-of-misses")


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Siege:
    """The two clocks and an honest solution, with no policy before them."""
    workloads = ("bench_matrix.Product.time_matmul(20)",)
    return besieged(tmp_path_factory.mktemp("clocks"), workloads, (*CLOCKS, "honest"), past_policy=True)


@pytest.mark.parametrize("name", CLOCKS)
def test_a_clock_that_stands_still_for_new_inputs_is_seen(siege: Siege, name: str) -> None:
    """In the rounds nothing is new, and on other inputs the clock outside goes on."""
    found = ended(siege, name)
    assert found.outcome == "tampered_or_unreliable", found
    assert "that its calls on other inputs took outside" in found.reason


def test_an_honest_clock_is_believed(siege: Siege) -> None:
    """The expert's solution is asked the same, and leaves nothing unclaimed."""
    assert ended(siege, "honest").outcome == "measured", ended(siege, "honest")
