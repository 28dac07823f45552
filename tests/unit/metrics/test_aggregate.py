"""Run-level means."""

import pytest

from datasmith.metrics.aggregate import mean, run_score
from datasmith.metrics.score import Score, score
from datasmith.metrics.speedup import Pair


def one(agent: float, expert: float) -> Score:
    found = score([Pair("m.time_a", agent, expert)])
    assert found is not None
    return found


def test_the_mean_of_nothing_is_nothing() -> None:
    """Missing is not zero: it neither counts nor weighs."""
    assert mean([]).value is None
    assert mean([None, 3.0, 1.0]).value == 2.0
    assert mean([None, 3.0, 1.0]).n == 2


def test_a_task_weighs_the_same_however_often_it_was_tried() -> None:
    """Attempts are averaged inside a task first; a task without any score is left out and not counted."""
    found = run_score([[one(3.0, 2.0), one(1.0, 2.0), None], [one(2.0, 1.0)], [None]])
    assert found.advantage.value == pytest.approx(0.5)
    assert found.advantage.n == 2
    assert found.by_level["module"].value == pytest.approx(0.5)
    assert found.speedup.value == 2.0


def test_a_task_without_a_spread_has_no_normalised_advantage() -> None:
    """Of three tasks one has workloads that differ: the mean is its own, and its n says so."""
    spread = score([Pair("m.time_a", 4.0, 2.0), Pair("m.time_b", 2.0, 1.0)])
    assert spread is not None and spread.normalised_advantage is not None
    found = run_score([[spread], [one(3.0, 2.0)], [None]]).normalised_advantage
    assert (found.value, found.n) == (spread.normalised_advantage, 1)


def test_speedup_is_an_arithmetic_mean_over_tasks() -> None:
    """Case 31: 1.5, 1.0 and 0.5 make 1.0 (their geometric mean would be 0.909)."""
    assert run_score([[one(1.5, 1.0)], [one(1.0, 1.0)], [one(0.5, 1.0)]]).speedup.value == 1.0
