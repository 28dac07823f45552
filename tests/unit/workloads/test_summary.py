"""From raw launches to ratios."""

import math
from dataclasses import replace

import pytest

from datasmith.workloads.base import BASE, CONTROL, EXPERT
from datasmith.workloads.summary import (
    aa_false_positives,
    by_workload,
    log_ratios,
    noise_floors,
    recorded_floors,
    summarise,
)

from .launches import history, launch


def test_a_true_effect_is_found_and_no_effect_is_not() -> None:
    """Of three workloads, one at 1.2, one at 0.8 and one unchanged."""
    expert = summarise(history({"m.time_a": 1.2, "m.time_b": 0.8, "m.time_c": 1.0}), seed=0)[EXPERT]
    assert [row.workload for row in expert.changed] == ["m.time_a", "m.time_b"]
    assert [row.ratio for row in expert.workloads] == pytest.approx([1.2, 0.8, 1.0], rel=0.02)
    assert expert.speedup == pytest.approx((1.2 * 0.8) ** (1 / 3), rel=0.02)
    assert expert.low is not None
    assert expert.high is not None
    assert expert.low < (1.2 * 0.8) ** (1 / 3) < expert.high


def test_the_ratio_is_of_medians_within_and_pairs_between_launches() -> None:
    """Case 63: pairs (10,5), (10,8), (12,6), (9,9) have a median ln ratio of 0.458145, so 1.581139."""
    pairs = [(10.0, 5.0), (10.0, 8.0), (12.0, 6.0), (9.0, 9.0)]
    made = []
    for number, (base, expert) in enumerate(pairs):
        for arm, seconds in ((BASE, base), (EXPERT, expert)):
            made.append(launch(arm, number, samples=(seconds, seconds, 40 * seconds)))
    rounds = log_ratios(by_workload(made)["m.time_x"], EXPERT)
    assert math.exp(sorted(rounds)[1] / 2 + sorted(rounds)[2] / 2) == pytest.approx(1.581139, abs=1e-6)


def test_the_a_a_arm_raises_the_floor_of_others_and_not_its_own() -> None:
    """Base2 was 6 % off: an expert's 4 % there is no change, and the false positive is counted."""
    summaries = summarise(history({"m.time_x": 1.04}, control=1.06, noise=0.002), seed=0)
    (expert,) = summaries[EXPERT].workloads
    assert expert.floor is not None
    assert expert.floor > 0.055
    assert not expert.changed
    assert aa_false_positives(summaries[CONTROL]) == (1, 1)


def test_earlier_runs_raise_the_floor_of_what_is_told_and_of_nothing_that_is_asked() -> None:
    """Base2 was 6 % off another day: 4 % are no change now; a lower floor of another day counts for nothing."""
    made = history({"m.time_x": 1.04, "m.time_y": 1.04}, noise=0.002)
    earlier = recorded_floors(summarise(history({"m.time_x": 1.0}, control=1.06, noise=0.002), seed=0)[CONTROL])
    assert list(earlier) == ["m.time_x"] and 0.055 < earlier["m.time_x"] < 0.065
    summaries = summarise(made, seed=0, earlier={**earlier, "m.time_y": 0.0051, "m.time_gone": 1.0})
    alone = summarise(made, seed=0)
    assert [row.changed for row in alone[EXPERT].workloads] == [True, True]
    assert [row.changed for row in summaries[EXPERT].workloads] == [False, True]
    assert summaries[EXPERT].workloads[0].floor == earlier["m.time_x"]
    assert summaries[EXPERT].workloads[1].floor == max(0.0051, alone[EXPERT].workloads[1].floor or 0.0)
    assert summaries[CONTROL] == alone[CONTROL]
    assert noise_floors(by_workload(made))["m.time_x"] < 0.01


def test_of_records_the_largest_floor_counts() -> None:
    """By workload, in any order; what has no ratio says nothing."""
    quiet, noisy = (
        summarise(history({"m.time_x": 1.0}, control=control, noise=0.001), seed=0)[CONTROL] for control in (1.0, 0.9)
    )
    lost = summarise(history({"m.time_x": 1.0}, rounds=3), seed=0)[CONTROL]
    assert recorded_floors(quiet, noisy, lost) == recorded_floors(noisy) == recorded_floors(noisy, quiet)
    assert recorded_floors(noisy)["m.time_x"] == pytest.approx(-math.log(0.9), abs=0.002)
    assert recorded_floors() == recorded_floors(lost) == {}


def test_what_could_not_be_called_changed_is_no_evidence() -> None:
    """Six rounds can show one effect in one workload, and none in two: then there is nothing to count."""
    one = summarise(history({"m.time_x": 1.0}, rounds=6), seed=0)[CONTROL]
    two = summarise(history({"m.time_x": 1.0, "m.time_y": 1.0}, rounds=6), seed=0)[CONTROL]
    assert aa_false_positives(one) == (0, 1)
    assert aa_false_positives(two) == (0, 0)


def test_an_effect_below_half_a_percent_is_no_change() -> None:
    """However precisely it is known."""
    (row,) = summarise(history({"m.time_x": 1.003}, noise=0.0001, rounds=16), seed=0)[EXPERT].workloads
    assert row.q is not None
    assert row.q < 0.05
    assert not row.changed


def test_warm_ups_disturbed_launches_and_lonely_rounds_do_not_count() -> None:
    """Only rounds in which both were timed undisturbed make a pair."""
    made = history({"m.time_x": 1.0}, rounds=8)
    made += [launch(BASE, -1, 9.0), launch(EXPERT, -1, 1.0), launch(EXPERT, 8, 1.0)]
    made += [launch(BASE, 9, 9.0, noisy=True), launch(EXPERT, 9, 1.0)]
    (row,) = summarise(made, seed=0)[EXPERT].workloads
    assert row.rounds == 8
    assert row.ratio == pytest.approx(1.0, rel=0.02)


def test_a_disturbed_launch_is_replaced_by_its_repetition() -> None:
    """Two launches of one arm in one round: the quiet one counts."""
    made = history({"m.time_x": 1.0}, rounds=8)
    made.insert(0, launch(EXPERT, 0, 9.0, noisy=True))
    assert summarise(made, seed=0) == summarise(made[1:], seed=0)


def test_too_few_rounds_have_no_ratio() -> None:
    """Four pairs are no measurement; the reason says so."""
    summary = summarise(history({"m.time_x": 2.0}, rounds=4), seed=0)[EXPERT]
    assert summary.speedup is None
    assert (summary.workloads[0].reason or "").startswith("invalid_measurement: 4 undisturbed rounds")


def test_numbers_of_an_arm_do_not_depend_on_other_arms_or_order() -> None:
    """Grading again with one arm left out gives the same numbers for the rest, to the last digit."""
    made = history({"m.time_a": 1.1, "m.time_b": 1.0}, noise=0.03)
    with_agent = made + [launch("agent:x", row.round, 0.001, row.workload) for row in made if row.arm == BASE]
    assert summarise(with_agent, seed=3)[EXPERT] == summarise(made, seed=3)[EXPERT]


def test_an_agents_speedup_is_over_what_the_expert_has_a_ratio_in() -> None:
    """What the expert's patch breaks counts neither for nor against the agent; the expert's is over its own."""
    times = history({"m.time_a": 1.2, "m.time_b": 1.2}, noise=0.001)
    made = [
        replace(row, samples=(), reason="timed out") if (row.arm, row.workload) == (EXPERT, "m.time_b") else row
        for row in times
    ]
    speeds = {"m.time_a": 0.9, "m.time_b": 20.0}
    base = [row for row in times if row.arm == BASE]
    made += [launch("agent:x", row.round, row.samples[0] / speeds[row.workload], row.workload) for row in base]
    summaries = summarise(made, seed=0)
    agent, expert = summaries["agent:x"], summaries[EXPERT]
    assert len(agent.valid) == 2
    assert [agent.speedup, agent.low, agent.high] == pytest.approx([0.9] * 3, rel=0.01)
    assert expert.speedup == pytest.approx(1.2, rel=0.01)
    without = summarise([row for row in made if row.arm != EXPERT], seed=0)["agent:x"]
    assert without.speedup == pytest.approx((0.9 * 20.0) ** 0.5, rel=0.01)


def test_a_workload_that_an_arm_never_ran_has_a_reason() -> None:
    """Skipped at base: every arm says so, without "base:", as the suite itself refuses it."""
    made = history({"m.time_a": 1.0})
    made.append(launch(BASE, -1, workload="m.time_b", samples=(), reason="skipped: not here"))
    expert = summarise(made, seed=0)[EXPERT]
    assert [row.reason for row in expert.workloads] == [None, "skipped: not here"]
    assert len(expert.valid) == 1
