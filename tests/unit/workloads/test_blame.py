"""Noise that only one arm has is its own; what the machine does to all is held against nobody."""

import numpy as np
import pytest
from scipy.stats import hypergeom  # type: ignore[import-untyped]

from datasmith.evaluation.outcome import after_timing
from datasmith.workloads.base import BASE, CONTROL, EXPERT, FULL_ROUND, Measurement, agent_arm
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


def test_noise_of_its_own_is_no_way_out() -> None:
    """The trial is not left out as one that the machine spoilt; where all are disturbed it is."""
    summaries = summarise(rounds({AGENT: 1.0}), seed=0)
    ending = after_timing(summaries[AGENT], summaries[EXPERT], summaries[CONTROL])
    assert ending.outcome == "tampered_or_unreliable"
    assert ending.reason == (
        "m.time_x: tampered_or_unreliable: 36 of 36 of its launches were disturbed, 0 of 12 of base's"
    )
    busy = dict.fromkeys((BASE, CONTROL, EXPERT, AGENT), 1.0)
    summaries = summarise(rounds(busy), seed=0)
    assert after_timing(summaries[AGENT], summaries[EXPERT], summaries[CONTROL]).outcome == "invalid_measurement"


def test_who_disturbs_itself_ends_no_measurement_of_others() -> None:
    """It is dropped after six rounds, and the others go on; a busy machine ends it for all."""
    track = Track(X, (BASE, CONTROL, EXPERT, AGENT, OTHER))
    for made in rounds({AGENT: 1.0}, count=6):
        track.add(made)
    track.drop_disturbing(6)
    assert track.arms == [BASE, CONTROL, EXPERT, OTHER]
    assert not track._hopeless(6)
    for made in rounds(dict.fromkeys((BASE, CONTROL, EXPERT, OTHER), 1.0), count=20)[18:]:
        track.add(made)
    track.drop_disturbing(20)
    assert track.arms == [BASE, CONTROL, EXPERT, OTHER]
    assert track._hopeless(20)
