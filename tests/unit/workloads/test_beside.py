"""What base spends beside its calls says how much of an arm's time there is work that was put off."""

import pytest

from datasmith.workloads.fresh import FreshTimes

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
