"""Whether an arm's clock is believed."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from datasmith.workloads.audit import audit_size, claims, finding, is_suspect
from datasmith.workloads.base import BASE, EMPTY_ROUND, EXPERT, FULL_ROUND, Measurement, agent_arm
from datasmith.workloads.calibrate import LaunchSize

from .launches import launch

AGENT = agent_arm("x#1")


def audited(
    arm: str, claimed_s: float, wall_s: float, cpu_s: float | None = None, *, scatter_s: float = 0.0
) -> list[Measurement]:
    """Four pairs of audit launches: calls claim and take the given seconds, set-up takes 0.2 s and scatters."""
    made = []
    for number in range(4):
        start_s = 0.2 + (scatter_s if number % 2 else -scatter_s)
        made.append(launch(arm, FULL_ROUND, claimed_s / 100, wall_s=start_s + wall_s, cpu_s=cpu_s))
        made.append(launch(arm, EMPTY_ROUND, 1e-9, wall_s=start_s, cpu_s=None if cpu_s is None else 0.07))
    return made


def found(base: list[Measurement], other: list[Measurement]) -> str | None:
    said = finding(base + other, EXPERT)
    return said.finding if said else None


@pytest.mark.parametrize(
    ("claimed_s", "wall_s", "expected"),
    [
        (1.0, 1.0, "honest"),
        (0.97, 1.0, "honest"),
        (0.5, 1.0, "hidden"),
        (0.9, 1.0, "hidden"),
        (0.5, 0.5, "honest"),
        (0.05, 0.05, "honest"),
    ],
    ids=["as base", "3 % off", "half", "90 %", "twice as fast", "20 times as fast"],
)
def test_what_calls_took_outside_has_to_be_claimed(claimed_s: float, wall_s: float, expected: str) -> None:
    """5 % and 10 ms are tolerated."""
    assert found(audited(BASE, 1.0, 1.0), audited(EXPERT, claimed_s, wall_s)) == expected


def test_a_clock_at_half_speed_on_half_a_core_is_found() -> None:
    """Launches that got half a core: half the wall time is just the cpu time used, and still a lie.

    The figures are those of a measurement in which such an arm was once believed.
    """
    base = audited(BASE, 1.12, 1.10, cpu_s=0.63)
    assert found(base, audited(EXPERT, 0.58, 1.17, cpu_s=0.63)) == "hidden"
    assert found(base, audited(EXPERT, 1.12, 1.12, cpu_s=0.63)) == "honest"


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_a_core_that_is_shared_changes_nothing(share: float) -> None:
    """However little of the core a launch gets, claim and wall stretch alike: an honest arm stays honest."""
    base = audited(BASE, 1.0, 1.0, cpu_s=1.0)
    assert found(base, audited(EXPERT, 0.8 / share, 0.8 / share, cpu_s=0.8)) == "honest"
    assert found(base, audited(EXPERT, 0.4 / share, 0.8 / share, cpu_s=0.8)) == "hidden"


@pytest.mark.parametrize("claimed_s", [1.0, 0.9])
def test_launches_that_scatter_too_much_decide_nothing(claimed_s: float) -> None:
    """Neither an honest arm is accused nor a liar believed."""
    noisy = audited(EXPERT, claimed_s, 1.0, scatter_s=0.15)
    assert found(audited(BASE, 1.0, 1.0, scatter_s=0.15), noisy) == "undecided"


def test_disturbed_audit_launches_do_not_count() -> None:
    """With nothing but disturbed launches nothing is decided, unless they are the arm's alone: then they count."""
    base, other = audited(BASE, 1.0, 1.0), [replace(made, noisy=True) for made in audited(AGENT, 1.0, 1.0)]
    busy = [replace(made, noisy=at > 0) for at, made in enumerate(base)]
    assert [own(busy + other), own(base + other)] == [("undecided", False), ("honest", False)]
    told = finding(busy + other, AGENT)
    assert told is not None and told.figures == "too few of the launches that check it were undisturbed"
    assert found([], audited(EXPERT, 1.0, 1.0)) == "undecided"


@pytest.mark.parametrize(("base_scatter_s", "own_noise"), [(0.01, True), (0.15, False)])
def test_whose_noise_it_is_says_base(base_scatter_s: float, own_noise: bool) -> None:
    """Would the arm be decided if it scattered as base does, the noise is its own."""
    base, other = audited(BASE, 1.0, 1.0, scatter_s=base_scatter_s), audited(AGENT, 1.0, 1.0, scatter_s=0.15)
    assert own(base + other) == ("undecided", own_noise)


def own(launches: list[Measurement]) -> tuple[str, bool]:
    """What is found of the agent, and whether that is for its own noise."""
    told = finding(launches, AGENT)
    assert told is not None
    return told.finding, told.own


def test_a_workload_that_only_sleeps_has_to_claim_its_sleep() -> None:
    """No cpu is used, and hiding the wait is still found."""
    base = audited(BASE, 1.0, 1.0, cpu_s=0.08)
    assert found(base, audited(EXPERT, 0.1, 1.0, cpu_s=0.08)) == "hidden"
    assert found(base, audited(EXPERT, 1.0, 1.0, cpu_s=0.08)) == "honest"


def test_a_quirk_that_base_has_too_is_no_tampering() -> None:
    """A benchmark that frees memory after its timed call accounts for 80 % at base, and may do so elsewhere."""
    assert found(audited(BASE, 0.8, 1.0), audited(EXPERT, 0.4, 0.5)) == "honest"


def test_without_audit_launches_there_is_no_verdict() -> None:
    """Nothing was suspicious."""
    assert finding([launch(BASE, 1), launch(EXPERT, 1)], EXPERT) is None


@pytest.mark.parametrize(("extra_s", "suspect"), [(0.0, False), (0.004, False), (0.02, True), (-0.1, False)])
def test_time_outside_the_calls_is_suspect_where_base_does_not_spend_it(extra_s: float, suspect: bool) -> None:
    """More than 5 ms plus 3 % of base's timed seconds, in the median over rounds."""
    base = {number: launch(BASE, number) for number in range(8)}
    arm = {number: launch(EXPERT, number, wall_s=0.25 + extra_s) for number in range(8)}
    assert is_suspect(base, arm) == suspect
    assert not is_suspect({}, arm)


def claimed(scatter: float, **faster: float) -> frozenset[str]:
    """What ten workloads of twelve rounds claim, those named being faster by the given share."""
    source = np.random.default_rng(5)
    names = [*faster, *(f"w{at}" for at in range(10 - len(faster)))]
    rounds = {name: np.log1p(faster.get(name, 0.0)) + source.normal(0, scatter, 12) for name in names}
    return claims({**rounds, "short": np.array([9.0])}, {}, np.random.default_rng(6))


@pytest.mark.parametrize(("around_s", "claimed_s", "times"), [(0.2, 0.1, 6), (1.0, 0.2, 10), (8.0, 0.5, 8)])
def test_calls_outweigh_what_is_around_them(around_s: float, claimed_s: float, times: int) -> None:
    """0.6 s of calls after a short set-up, twice a long one, and no launch of more than twelve seconds."""
    usual = [launch(EXPERT, number, claimed_s / 100, wall_s=around_s + claimed_s) for number in range(3)]
    asked = audit_size(LaunchSize(10, 4, 0.0), usual, 120.0, number_is_fixed=False)
    assert asked.number == pytest.approx(10 * times, abs=1)
    assert asked.repeat == 4


def test_a_claim_within_what_the_control_differs_by_is_none() -> None:
    """One workload is 8 % faster in each round: that is checked, but not where the same code was 10 % off as well."""
    rounds = {name: np.full(9, gain) for name, gain in (("one", 0.08), ("other", -0.04), ("third", -0.05))}
    assert claims(rounds, {"one": 0.02}, np.random.default_rng(6)) == frozenset({"one"})
    assert claims(rounds, {"one": 0.10}, np.random.default_rng(6)) == frozenset()


def test_a_lie_in_most_rounds_is_a_claim() -> None:
    """Its interval holds 1, its estimate is large: it is checked, unless the control explains it."""
    rounds = {"one": np.array([1.1, 0.0, 1.1, 1.1, 0.0, 1.1])}
    assert claims(rounds, {"one": 0.01}, np.random.default_rng(6)) == frozenset({"one"})
    assert claims(rounds, {"one": 2.0}, np.random.default_rng(6)) == frozenset({"one"})
    mild = {"one": np.array([0.15, -0.1, 0.15, 0.15, -0.1, 0.15])}
    assert claims(mild, {"one": 0.01}, np.random.default_rng(6)) == frozenset({"one"})
    assert claims(mild, {"one": 0.2}, np.random.default_rng(6)) == frozenset()


def test_only_a_speed_up_that_is_no_noise_is_a_claim() -> None:
    """The same code under 10 % of scatter claims nothing, a workload that is 30 % faster is one claim."""
    assert claimed(0.1) == frozenset()
    assert claimed(0.1, one=0.3) >= {"one"}
    assert claimed(0.005, one=0.01) == frozenset()


def test_many_small_claims_are_claims_together() -> None:
    """Each of ten is lost in its noise; their mean is not, and then each that is faster is checked."""
    everywhere = dict.fromkeys("abcdefghij", 0.06)
    assert len(claimed(0.08, **everywhere)) >= 7


FAST, SLOW = 0.75, 1.35
BASE_PACES = (3.0, 5.4, 3.1, 5.2, 3.1, 5.5, 3.2, 5.1)


def paced(arm: str, rounds: Sequence[float], checked: Sequence[float]) -> list[Measurement]:
    """Launches of rounds and of an audit, with the given seconds a sample; nothing is hidden in any."""
    made = [launch(arm, number, pace, wall_s=pace * 100 + 0.2) for number, pace in enumerate(rounds)]
    for pace in checked:
        made.append(launch(arm, FULL_ROUND, pace, wall_s=pace * 100 + 0.2))
        made.append(launch(arm, EMPTY_ROUND, 1e-9, wall_s=0.2))
    return made


def test_a_core_of_two_speeds_accuses_nobody() -> None:
    """All checked launches may hit the slow speed, and most of the rounds the fast one: base scatters as much."""
    base = paced(BASE, BASE_PACES, BASE_PACES)
    assert found(base, paced(EXPERT, [FAST] * 7 + [SLOW], [SLOW] * 8)) == "honest"


@pytest.mark.parametrize("lied", [8, 5])
def test_who_claims_another_pace_once_it_is_checked_is_not_believed(lied: int) -> None:
    """On the same core, and also where it lies in most of its rounds only: its own scatter is no excuse."""
    base = paced(BASE, BASE_PACES, BASE_PACES)
    steady = paced(BASE, [3.0, 3.1] * 4, [3.1, 3.0] * 4)
    rounds, checked = [3.0, 3.1] * 4, [3.1, 3.0] * 4
    told = [pace / 6 for pace in rounds[:lied]] + rounds[lied:]
    assert found(base, paced(EXPERT, told, checked)) == "undecided"
    for lie in (1.5, 1.3):
        told = [pace / lie for pace in rounds[:lied]] + rounds[lied:]
        assert found(steady, paced(EXPERT, told, checked)) == "undecided"


@pytest.mark.parametrize("slowed", [1, 2])
def test_slow_launches_that_are_checked_excuse_no_lie(slowed: int) -> None:
    """Who slows some of them openly hides no time, and makes a scatter that the rounds do not have."""
    steady = paced(BASE, [3.0, 3.1] * 6, [3.1, 3.0] * 2)
    checked = [21.0] * slowed + [3.0, 3.1, 3.0][slowed - 1 :]
    assert found(steady, paced(EXPERT, [1.5, 1.55] * 6, checked)) == "undecided"
