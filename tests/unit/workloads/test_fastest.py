"""The fastest of many short samples: how a launch is asked for them, and what has no ratio."""

from collections.abc import Callable
from itertools import count

import numpy as np
import pytest

from datasmith.docker.engine import ExecResult
from datasmith.workloads import fastest as module
from datasmith.workloads.base import Workload
from datasmith.workloads.calibrate import MOST_SHORT_SAMPLES, SHORT_SAMPLE_S, Pace, short_samples
from datasmith.workloads.fastest import PRECISE, Fastest, fastest
from datasmith.workloads.launch import launch

from .simulated import Request, SimulatedContainer

X = Workload("m.time_x", "time")


def contended(call_s: float, seed: int) -> Callable[[Request], float]:
    """Seconds per call where every launch is slowed down by 1.8, or not."""
    source = np.random.default_rng(seed)
    return lambda _request: call_s * (1.8 if source.random() < 0.6 else 1.0) * float(np.exp(source.normal(0, 0.001)))


class Clock:
    """Shows how many seconds launches have taken."""

    def __init__(self) -> None:
        self.now, self.launch_s = 0.0, 0.5

    def monotonic(self) -> float:
        return self.now

    def launch(self, *given: object) -> object:
        """A launch that takes its time."""
        self.now += self.launch_s
        return launch(*given)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A second passes with each round, so 19 rounds follow the launches that warm up in the first 20 seconds."""
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "launch", clock.launch)
    return clock


def told(base: SimulatedContainer, arm: SimulatedContainer, seconds: float = 21.0) -> Fastest:
    return fastest(base, arm, X, benchmark_dir="benchmarks", seconds=seconds)


def test_a_small_change_is_found_where_launches_run_at_two_speeds() -> None:
    """2 % more work in one arm, both slowed down by 1.8 in most launches; the same code is not called changed."""
    base, arm = SimulatedContainer(contended(1e-4, 1)), SimulatedContainer(contended(1.02e-4, 2))
    found = told(base, arm)
    assert found.ratio == pytest.approx(1 / 1.02, abs=0.002)
    assert found.changed and found.rounds == 20
    again = told(base, SimulatedContainer(contended(1e-4, 3)))
    assert not again.changed and again.low is not None and again.low <= 1 <= (again.high or 0)


def test_both_arms_make_the_short_samples_that_base_asks_for() -> None:
    """Half a millisecond each, as many as fill a tenth of a second, after one launch that finds out the pace."""
    base, arm = SimulatedContainer(lambda _: 1e-4), SimulatedContainer(lambda _: 4e-4)
    told(base, arm)
    for container in (base, arm):
        first, *others = ((request["number"], request["repeat"]) for request in container.requests)
        assert first == (0, 0)
        assert set(others) == {(5, 200)}


@pytest.mark.parametrize(
    ("pace", "number", "repeat"),
    [
        (Pace(1e-6, 0.0, 0.1, 0, 0, -1.0), 500, 200),
        (Pace(1e-6, 1e-3, 0.1, 0, 0, -1.0), 1000, 100),
        (Pace(2.0, 0.0, 0.1, 0, 0, -1.0), 1, 3),
        (Pace(1e-6, 0.0, 0.1, 7, 0, 0.5), 7, MOST_SHORT_SAMPLES),
        (Pace(1e-6, 0.0, 0.1, 7, 11, -1.0), 7, 11),
    ],
)
def test_a_sample_is_as_short_as_its_setup_lets_it_be(pace: Pace, number: int, repeat: int) -> None:
    """Setup cools caches, so a sample is no shorter; a benchmark's own number and repeat are honoured."""
    size = short_samples(pace)
    assert (size.number, size.repeat, size.warmup_s) == (number, repeat, max(0.0, pace.own_warmup_s))
    assert SHORT_SAMPLE_S == 0.0005


def test_what_fails_or_has_too_few_samples_has_a_reason(clock: Clock) -> None:
    """In either arm, at once or later; calls of seconds give three samples a round, too few for a low quantile."""
    good = SimulatedContainer(lambda _: 1e-4)
    bad = SimulatedContainer(lambda _: 1e-4, reply=lambda _: ExecResult(0, b'{"failed": "no"}', b"", 0.2, 0.2, False))
    later = SimulatedContainer(
        lambda _: 1e-4,
        reply=lambda asked: ExecResult(0, b'{"failed": "later"}', b"", 0.2, 0.2, False) if asked["number"] else None,
    )
    slow = SimulatedContainer(lambda _: 1.0)
    clock.launch_s = 1.0
    for base, arm, reason in (
        (bad, good, "base: failed: no"),
        (good, bad, "expert: failed: no"),
        (good, later, "expert: failed: later"),
        (slow, slow, "75 samples are too few: its calls are too long"),
    ):
        found = told(base, arm)
        assert (found.ratio, found.low, found.changed, found.reason) == (None, None, False, reason)


def disturbed(seed: int, launches: int = 1000) -> SimulatedContainer:
    """Launches that take 0.1 ms a call; so many of them, at first, up to half as long again or more."""
    source, number = np.random.default_rng(seed), count()
    return SimulatedContainer(lambda _: 1e-4 * (1 + 0.3 * abs(source.normal()) * (next(number) < launches)))


def test_rounds_go_on_until_the_interval_is_narrow() -> None:
    """Looked at after some seconds and every 10 more; at most 50, where it never gets narrow or rounds are too few."""
    same = SimulatedContainer(lambda _: 1e-4)
    assert told(same, same, seconds=4.0).rounds == 23, "after 4 and 14 seconds there are fewer than 20 rounds"
    assert told(same, same).rounds == 20
    some = told(same, disturbed(1, launches=20))
    assert some.rounds == 30 and some.half_width <= PRECISE and some.ratio == 1.0
    wide = told(same, disturbed(2))
    assert wide.rounds == 50 and wide.half_width > PRECISE


def test_disturbed_rounds_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the host was busy in one arm the round is left out, and with too few left there is no ratio."""
    monkeypatch.setattr("datasmith.workloads.launch.disturbance", lambda *_: "busy")
    same = SimulatedContainer(lambda _: 1e-4)
    found = told(same, same)
    assert (found.ratio, found.reason) == (None, "0 undisturbed rounds are fewer than 20")
