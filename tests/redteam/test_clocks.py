"""Clocks that stand still while something new is computed, run past the policy: our own clock sees them."""

import time

import pytest

from datasmith.docker.engine import Limits
from datasmith.evaluation.redteam.attack import read_patches
from datasmith.evaluation.redteam.session import Ended, Siege, Terms, besiege
from datasmith.executors.cores import usable_cores
from tests.redteam.samplelib_task import ATTACKS, samplelib
from tests.redteam.test_siege import honest
from tests.sandboxes import embedded_engine

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

CLOCKS = ("clock-by-cast", "clock-of-misses")


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Siege:
    """The two clocks and an honest solution, with no policy before them."""
    place = tmp_path_factory.mktemp("clocks")
    engine = embedded_engine(place / "cache")
    task, image, _ = samplelib(place, engine).task(4)
    attacks = [attack for attack in read_patches(ATTACKS) if attack.name in CLOCKS]
    return besiege(
        engine,
        image,
        task.model_copy(update={"workloads": ("bench_matrix.Product.time_matmul(20)",)}),
        [honest(task), *attacks],
        terms=Terms(max_rounds=8, past_policy=True),
        limits=Limits(cpus=(usable_cores()[-1],)),
        say=lambda *_: None,
        now=time.monotonic,
    )


def ended(siege: Siege, name: str) -> Ended:
    """What became of one submission."""
    return next(one for one in siege.ended if one.attack.name == name)


@pytest.mark.parametrize("name", CLOCKS)
def test_a_clock_that_stands_still_for_new_inputs_is_seen(siege: Siege, name: str) -> None:
    """In the rounds nothing is new, and on other inputs the clock outside goes on."""
    found = ended(siege, name)
    assert found.outcome == "tampered_or_unreliable", found
    assert "that its calls on other inputs took outside" in found.reason


def test_an_honest_clock_is_believed(siege: Siege) -> None:
    """The expert's solution is asked the same, and leaves nothing unclaimed."""
    assert ended(siege, "honest").outcome == "measured", ended(siege, "honest")
