"""What base spends beside its calls says how much of an arm's time there is work that was put off."""

import pytest

from datasmith.workloads.beside import FreshTimes

CALL_S, LOOK_S, SETUP_S = 7e-4, 3.5e-4, 4e-4


def times(firsts: list[float], call_s: float = CALL_S) -> FreshTimes:
    """Five inputs whose first look takes so much longer than the next one."""
    looked = [call_s + LOOK_S + first for first in firsts]
    return FreshTimes(looked, [call_s] * 5, [SETUP_S] * 5, [LOOK_S] * 5)


def test_one_disturbed_look_of_base_makes_no_room() -> None:
    """By a tick of 4 ms on a core that others share: of work that is put off, all counts."""
    base = times([3e-5, 4e-3, 2e-5, 4e-5, 3e-5]).beside(short=False)
    put_off = times([CALL_S + 3e-5] * 5, call_s=1e-6)
    assert put_off.samples(base) == pytest.approx([CALL_S] * 5, rel=0.01)


def test_a_first_look_may_take_a_little_longer_by_luck() -> None:
    """As much as looking may take longer at all: nobody loses by that."""
    base = times([3e-5, 2e-5, -4e-5, 1e-5, 3e-5]).beside(short=False)
    lucky = times([8e-5, 1e-5, 9e-5, -1e-4, 7e-5])
    assert lucky.samples(base) == pytest.approx([CALL_S] * 5)


def short(first_s: float, later_s: float, again_s: float) -> FreshTimes:
    """Five short calls on new inputs, later ones, and what first ones take beyond these after another setting up."""
    return FreshTimes([first_s] * 5, [later_s] * 5, [SETUP_S] * 5, [again_s] * 5)


def test_what_only_the_first_short_call_takes_longer_counts() -> None:
    """It does where an answer is kept, of one input or of all: when that is set up once more, it is there."""
    base = short(5e-6, 3e-6, 2e-6).beside(short=True)
    assert short(5e-6, 3e-6, 2e-6).short_samples(None) == (3e-6,) * 5
    assert short(5e-6, 3e-6, 2e-6).short_samples(base) == pytest.approx([3e-6] * 5)
    assert short(5.2e-6, 2e-7, 1e-6).short_samples(base) == pytest.approx([4.2e-6] * 5)
    keeps_it_too = short(5e-6, 2e-6, 1e-6).beside(short=True)
    assert short(5.2e-6, 2e-7, 1e-6).short_samples(keeps_it_too) == pytest.approx([2.2e-6] * 5)


def test_colder_code_is_held_against_nobody_within_bounds() -> None:
    """Honest code that is larger than base's; and code that works anew after each pause, which looks as cold."""
    base = short(5e-6, 3e-6, 2e-6).beside(short=True)
    assert short(5e-6, 2e-6, 3e-6).short_samples(base) == pytest.approx([2e-6] * 5)
    assert short(5.2e-6, 2e-7, 5e-6).short_samples(base) == pytest.approx([3.1e-6] * 5)
