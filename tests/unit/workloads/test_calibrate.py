"""How many calls a launch makes."""

from dataclasses import replace

import pytest

from datasmith.workloads.base import Workload
from datasmith.workloads.calibrate import (
    LONG_FACTOR,
    LONG_S,
    LONGEST_S,
    SHORTEST_S,
    LaunchSize,
    Pace,
    launch_size,
    slowed_down,
)

PLAIN = Workload("m.time_x", "time")


def pace(call_s: float, setup_s: float = 0.0, overhead_s: float = 0.15) -> Pace:
    return Pace(call_s, setup_s, overhead_s, own_number=0, own_repeat=0, own_warmup_s=-1.0)


@pytest.mark.parametrize("call_s", [2e-8, 1e-6, 1e-4, 1e-3, 0.02])
def test_short_calls_are_timed_for_a_tenth_of_a_second(call_s: float) -> None:
    """Or a little more: a launch is short, however many calls that takes."""
    size = launch_size(PLAIN, pace(call_s))
    assert 0.09 <= size.calls * call_s <= 0.2
    assert 3 <= size.repeat <= 30


@pytest.mark.parametrize(("call_s", "repeat"), [(0.3, 2), (0.9, 2), (1.0, 1), (20.0, 1)])
def test_slow_calls_are_made_once_or_twice(call_s: float, repeat: int) -> None:
    """A launch of a slow benchmark does not take minutes."""
    assert launch_size(PLAIN, pace(call_s)) == LaunchSize(1, repeat, 0.0)


@pytest.mark.parametrize("overhead_s", [0.0, 0.05, 0.5, 60.0])
def test_the_timed_part_has_bounds(overhead_s: float) -> None:
    """Whatever set-up takes, the timed part stays between 0.1 s and 1 s (but for rounding to whole samples)."""
    size = launch_size(PLAIN, pace(1e-4, overhead_s=overhead_s))
    assert 0.9 * SHORTEST_S <= size.calls * 1e-4 <= 1.3 * LONGEST_S


@pytest.mark.parametrize("setup_s", [0.02, 0.1, 2.0])
def test_a_long_setup_means_few_samples(setup_s: float) -> None:
    """Setup runs before every sample: all of them take at most about as long as the calls, or there are three."""
    size = launch_size(PLAIN, pace(1e-4, setup_s=setup_s))
    assert size.repeat == 3 or size.repeat * setup_s <= 1.5 * size.calls * 1e-4


def test_a_benchmark_s_own_numbers_are_honoured() -> None:
    """Number, repeat and warmup_time as its attributes say."""
    own = Pace(1e-3, 0.0, 0.15, own_number=3, own_repeat=4, own_warmup_s=0.5)
    assert launch_size(PLAIN, own) == LaunchSize(3, 4, 0.5)


def test_long_launches_fill_the_samples_that_a_benchmark_asks_for() -> None:
    """Its repeat is honoured, and its samples are longer; what gives its number, too, is left as it is."""
    own = Pace(1e-3, 0.0, 0.15, own_number=0, own_repeat=8, own_warmup_s=-1.0)
    short, long = launch_size(PLAIN, own), launch_size(PLAIN, own, per_overhead=LONG_FACTOR, longest_s=LONG_S)
    assert (short.repeat, long.repeat) == (8, 8)
    assert short.number * 1e-3 == PLAIN.sample_time_s
    assert long.calls * 1e-3 >= LONG_FACTOR * 0.15
    fixed = replace(own, own_number=3)
    assert launch_size(PLAIN, fixed, per_overhead=LONG_FACTOR, longest_s=LONG_S) == LaunchSize(3, 8, 0.0)


def test_an_arm_as_fast_as_base_makes_the_same_calls() -> None:
    """Also one that is 9 times slower, or faster."""
    size = LaunchSize(100, 20, 0.0)
    for call_s in (1e-6, 1e-4, 9e-4):
        assert slowed_down(size, 1e-4, call_s, limit_s=60.0) == size


def test_an_arm_that_is_far_too_slow_makes_fewer_calls() -> None:
    """A call that takes a million times longer is measured once, not timed out after two thousand."""
    size = slowed_down(LaunchSize(100, 20, 0.0), 1e-6, 1.0, limit_s=60.0)
    assert size.calls * 1.0 <= 60.0 / 4
    assert size.calls >= 1
