"""Seeds of a launch: from what the code under test sees of one input, nothing follows for the next."""

import random

from datasmith.workloads.fresh_check import MOST_TWIST
from datasmith.workloads.inside.capture import describer, plant_seed
from datasmith.workloads.inside.moves import INPUTS, SEED, Draw, Moves
from datasmith.workloads.inside.seeds import derived
from datasmith.workloads.measure import MOST_SEED


def suite_seed(twist: int, number: int, turn: int = 0) -> int:
    """What a suite's seed of 7 becomes in an input."""
    moves = Moves(Draw(twist, number))
    moves.begin(turn)
    seed = moves.constants[SEED](7)  # type: ignore[operator]
    assert isinstance(seed, int)
    return seed


def test_the_seed_of_one_input_does_not_tell_that_of_another() -> None:
    """No distance between two of them, or between two turns of one, is the same in two launches."""
    launches = range(50)
    for one, other in (((0, 0), (1, 0)), ((1, 0), (2, 0)), ((1, 0), (1, 1)), ((1, 1), (1, 2))):
        apart = {suite_seed(twist, *other) - suite_seed(twist, *one) for twist in launches}
        assert len(apart) == len(launches)


def test_the_inputs_of_a_launch_have_seeds_of_their_own() -> None:
    """In every turn."""
    seeds = {suite_seed(9, number, turn) for number in range(INPUTS) for turn in range(100)}
    assert len(seeds) == INPUTS * 100


def test_what_is_kept_of_an_input_tells_no_other_one() -> None:
    """What moves the code's values, and what describes them, can be found from the code that calls them."""
    twist = 2**62 + 12345
    draw = Draw(twist, 1, "letters")
    kept = [*vars(Moves(draw)).values(), *vars(draw.texts).values(), *vars(describer(twist)).values()]
    assert draw.texts in kept and draw not in kept
    assert not [value for value in kept if str(twist) in str(value)]


def test_what_the_host_draws_cannot_be_tried_out() -> None:
    """A million numbers are tried in seconds: then each of the next inputs was known from the first one."""
    assert min(MOST_TWIST, MOST_SEED) >= 2**60


def test_a_planted_seed_is_not_the_one_that_was_drawn() -> None:
    """By that, positions of what will be looked at are chosen, too."""
    before = random.getstate()
    try:
        plant_seed(5)
        planted = random.random()
        plant_seed(5)
        assert random.random() == planted
        assert planted not in (random.Random(5).random(), random.Random(derived(5)).random())
    finally:
        random.setstate(before)
