"""Noise that only one arm has is its own; what the machine does to all is held against nobody."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import hypergeom  # type: ignore[import-untyped]

from datasmith.evaluation.outcome import after_timing
from datasmith.evaluation.rounds import arm_times
from datasmith.workloads.base import BASE, CONTROL, EMPTY_ROUND, EXPERT, FULL_ROUND, Measurement, agent_arm
from datasmith.workloads.blame import chance_of, disturbs_itself
from datasmith.workloads.summary import summarise
from datasmith.workloads.track import Track

from .launches import launch
from .test_measure import X

AGENT, OTHER = agent_arm("x#1"), agent_arm("y#1")


def rounds(disturbed: dict[str, float], *, count: int = 12, seed: int = 0) -> list[Measurement]:
    """Rounds of all arms, each launch of which is disturbed with the chance given; then it is made twice more."""
    drawn = np.random.default_rng(seed)
    made = []
    for number in range(count):
        for arm in (BASE, CONTROL, EXPERT, AGENT, OTHER):
            noisy = bool(drawn.random() < disturbed.get(arm, 0.0))
            made += [launch(arm, number, noisy=noisy)] * (3 if noisy else 1)
    return made


@pytest.mark.parametrize(("ours", "of_ours", "others", "of_others"), [(4, 6, 0, 18), (3, 12, 9, 36), (0, 5, 2, 15)])
def test_the_chance_is_that_of_fisher(ours: int, of_ours: int, others: int, of_others: int) -> None:
    """As scipy has it."""
    expected = hypergeom.sf(ours - 1, of_ours + of_others, ours + others, of_ours)
    assert chance_of(ours, of_ours, others, of_others) == pytest.approx(expected)


def test_who_alone_is_disturbed_does_it() -> None:
    """Three quarters of its launches, beside none or a tenth of the others'; merged code is not asked."""
    assert disturbs_itself(rounds({AGENT: 0.75}), AGENT)
    assert disturbs_itself(rounds(dict.fromkeys((BASE, CONTROL, EXPERT, OTHER), 0.1) | {AGENT: 0.9}), AGENT)
    assert not disturbs_itself(rounds({AGENT: 0.75}), OTHER)
    assert not disturbs_itself(rounds({EXPERT: 1.0}), EXPERT)


def test_a_busy_machine_is_no_ones_fault() -> None:
    """Of a thousand measurements in which half of the launches are disturbed, at most two blame a submission."""
    busy = dict.fromkeys((BASE, CONTROL, EXPERT, AGENT, OTHER), 0.5)
    assert sum(disturbs_itself(rounds(busy, seed=seed), AGENT) for seed in range(1000)) <= 2


def test_checked_launches_count_one_by_one() -> None:
    """They share the number of their round, and are no repetitions."""
    made = [launch(arm, FULL_ROUND, noisy=arm == AGENT) for arm in (BASE, AGENT) for _ in range(8)]
    assert disturbs_itself(made, AGENT)


def test_who_disturbs_itself_does_not_choose_its_rounds() -> None:
    """It is as fast as base, and disturbs its slow half: the first launch of each round counts, disturbed or not."""
    made = [launch(arm, number) for number in range(12) for arm in (BASE, CONTROL, EXPERT)]
    for number in range(12):
        slow = number % 3 != 0
        made.append(launch(AGENT, number, 0.0012 if slow else 0.0008, noisy=slow))
        made += [launch(AGENT, number, 0.0008)] if slow else []
    (row,) = summarise(made, seed=0)[AGENT].workloads
    assert row.rounds == 12
    assert row.ratio == pytest.approx(1 / 1.2)
    assert len(arm_times(made, {AGENT})[AGENT]["m.time_x"]) == 12, "a report has the same rounds"


def test_who_disturbs_itself_is_no_better_for_it_where_it_fails_or_lies() -> None:
    """Disturbed in each round: its failure is its own, and its pace in the rounds is held against that in the audit."""
    failing = [
        replace(made, samples=(), reason="failed: no") if made.arm == AGENT else made for made in rounds({AGENT: 1.0})
    ]
    (row,) = summarise(failing, seed=0)[AGENT].workloads
    assert row.reason == "failed: no"
    lying = [replace(made, samples=(2e-4,)) if made.arm == AGENT else made for made in rounds({AGENT: 1.0})]
    for arm in (BASE, AGENT):
        lying += [launch(arm, FULL_ROUND, wall_s=0.25), launch(arm, EMPTY_ROUND, 1e-9, wall_s=0.15)] * 8
    (row,) = summarise(lying, seed=0)[AGENT].workloads
    assert row.reason is not None and "for its own noise: calls take 5.00 times as long" in row.reason


def test_what_a_machine_took_from_all_is_an_invalid_measurement() -> None:
    """Nobody's launches count there; where they are one arm's alone they do."""
    busy = dict.fromkeys((BASE, CONTROL, EXPERT, AGENT), 1.0)
    for disturbed, outcome in ((busy, "invalid_measurement"), ({AGENT: 1.0}, "measured")):
        summaries = summarise(rounds(disturbed), seed=0)
        assert after_timing(summaries[AGENT], summaries[EXPERT], summaries[CONTROL]).outcome == outcome


def test_who_disturbs_itself_ends_no_measurement_of_others() -> None:
    """A busy machine ends it for all; one submission does not."""
    for disturbed, hopeless in (({AGENT: 1.0}, False), (dict.fromkeys((BASE, EXPERT, AGENT), 1.0), True)):
        track = Track(X, (BASE, CONTROL, EXPERT, AGENT, OTHER))
        for made in rounds(disturbed, count=6):
            track.add(made)
        assert track._hopeless(6) is hopeless
