"""Whose outputs are compared with whose, and what follows for the rounds."""

import itertools

import pytest
from pydantic import JsonValue

from datasmith.workloads.base import BASE, CONTROL, EXPERT, Workload, agent_arm
from datasmith.workloads.captured import Capture
from datasmith.workloads.measure import Measured, measure
from datasmith.workloads.plan import MeasurePlan
from datasmith.workloads.watch import OutputRow, OutputWatch

from .simulated import SimulatedContainer

X, Y = Workload("m.time_x", "time"), Workload("m.time_y", "time")
WRONG, FINE = agent_arm("wrong#1"), agent_arm("fine#1")


def computing(*values: float) -> SimulatedContainer:
    """A container that computes these values in turn, and the last one ever after."""
    given = itertools.chain(values, itertools.repeat(values[-1]))
    return SimulatedContainer(lambda _request: 1e-3, computes=lambda: next(given))


def run(arms: dict[str, SimulatedContainer]) -> Measured:
    shared = {name: arms.pop(name, computing(1.0)) for name in (BASE, CONTROL, EXPERT)}
    plan = MeasurePlan(seed=1)
    return measure({**shared, **arms}, [X], plan, benchmark_dir="benchmarks", sink=lambda _launch: None, outputs=True)


def row(measured: Measured, arm: str) -> OutputRow:
    (found,) = measured.outputs[arm]
    return found


def test_a_submission_with_other_outputs_is_never_timed() -> None:
    """Both values are named; the other arms go on."""
    measured = run({WRONG: computing(1.1), FINE: computing(1.0)})
    found = row(measured, WRONG)
    assert (found.state, found.path, found.expected, found.found) == ("differs", "line 1", "1.0", "1.1")
    assert {launch.round for launch in measured.measurements if launch.arm == WRONG} == {-1}
    assert row(measured, FINE).state == "equal"
    assert max(launch.round for launch in measured.measurements if launch.arm == FINE) > 5


def test_what_the_expert_computes_is_right() -> None:
    """Where merged code computes something else than base, either is."""
    measured = run({EXPERT: computing(1.1), WRONG: computing(1.1), FINE: computing(1.0)})
    assert row(measured, WRONG).state == "as_expert"
    assert row(measured, FINE).state == "equal"


@pytest.mark.parametrize(
    "arms",
    [{CONTROL: computing(2.0)}, {BASE: computing(1.0, 3.0)}, {EXPERT: computing(2.0, 3.0)}],
    ids=["base2", "base again", "expert again"],
)
def test_what_merged_code_does_not_repeat_is_not_compared(arms: dict[str, SimulatedContainer]) -> None:
    """In base's copy, or where base or the expert is asked once more because a submission differs."""
    measured = run({**arms, WRONG: computing(1.1)})
    assert row(measured, WRONG).state == "unstable"
    assert max(launch.round for launch in measured.measurements if launch.arm == WRONG) > 5


def test_outputs_are_only_looked_at_where_they_are_asked_for() -> None:
    """Certifying merged code costs no capture."""
    containers = {BASE: computing(1.0), CONTROL: computing(1.0), EXPERT: computing(1.0)}
    measured = measure(containers, [X, Y], MeasurePlan(seed=1), benchmark_dir="b", sink=lambda _launch: None)
    assert measured.outputs == {}
    assert all(request["capture"] is None for made in containers.values() for request in made.requests)


def making(*values: float) -> SimulatedContainer:
    """A container whose set-up makes these values in turn, and the last one ever after; all compute the same."""
    given = itertools.chain(values, itertools.repeat(values[-1]))
    return SimulatedContainer(lambda _request: 1e-3, made=lambda: next(given))


def test_a_submission_that_sets_up_something_else_is_never_timed() -> None:
    """Of a smaller input everything is faster, and what is computed of it may look the same."""
    measured = run({WRONG: making(0.5), FINE: making(1.0)})
    found = row(measured, WRONG)
    assert (found.state, found.path, found.expected, found.found) == ("differs", "set up: self.data", "1.0", "0.5")
    assert {launch.round for launch in measured.measurements if launch.arm == WRONG} == {-1}
    assert row(measured, FINE).state == "equal"


@pytest.mark.parametrize(
    "arms",
    [{CONTROL: making(2.0)}, {BASE: making(1.0, 3.0)}, {EXPERT: making(0.5)}],
    ids=["base2", "base again", "expert"],
)
def test_what_merged_code_sets_up_in_another_way_is_not_compared(arms: dict[str, SimulatedContainer]) -> None:
    """In base's copy, by the expert alike, or where base is asked once more because a submission differs."""
    measured = run({**arms, WRONG: making(0.5)})
    assert row(measured, WRONG).state == "equal"
    assert max(launch.round for launch in measured.measurements if launch.arm == WRONG) > 5


def test_what_cannot_be_told_apart_may_still_be_less() -> None:
    """Nothing can be said of base's values, and a submission has fewer of them."""
    watch = OutputWatch()
    passed: list[JsonValue] = [["line 1", ["skip", "iterator"]], ["line 2", ["none"]]]
    for arm, values in ((BASE, passed), (EXPERT, passed), (FINE, passed), (WRONG, passed[:1])):
        watch.add("x", arm, Capture(values))
    assert [watch.row("x", arm).state for arm in (FINE, WRONG)] == ["nothing", "differs"]
