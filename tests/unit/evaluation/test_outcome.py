"""Each trial has exactly one outcome, decided from evidence in a fixed order."""

import math

import pytest
from pydantic import ValidationError

from datasmith.evaluation.outcome import (
    AgentFacts,
    Ending,
    Outcome,
    OutputFacts,
    TestFacts,
    after_outputs,
    after_timing,
    before_tests,
    before_timing,
    settled,
    with_budget,
)
from datasmith.tasks.certificate import ArmSummary, WorkloadRatio
from datasmith.tasks.policy import GuardVerdict
from datasmith.workloads.watch import OutputRow, OutputState

ALLOWED, REFUSED = GuardVerdict(()), GuardVerdict(("conftest.py: a test",))
PATCH = "diff --git a/x b/x\n"


@pytest.mark.parametrize(
    ("facts", "patch", "guard", "outcome"),
    [
        (AgentFacts(wall_s=1), PATCH, ALLOWED, None),
        (AgentFacts(wall_s=1), "", ALLOWED, "no_patch"),
        (AgentFacts(wall_s=1), " \n", ALLOWED, "no_patch"),
        (AgentFacts(wall_s=0, measure_empty=True), "", ALLOWED, None),
        (AgentFacts(wall_s=1), PATCH, REFUSED, "refused_patch"),
        (AgentFacts(wall_s=1, failure="broke"), PATCH, ALLOWED, "agent_error"),
        (AgentFacts(wall_s=9, timed_out=True, failure="broke"), PATCH, REFUSED, "agent_timeout"),
        (AgentFacts(wall_s=9, timed_out=True, failure="broke", outage="HTTP 503"), PATCH, REFUSED, "infra_error"),
        (AgentFacts(wall_s=9, stopped_by="max_steps=3"), PATCH, ALLOWED, None),
    ],
)
def test_what_ends_a_trial_before_its_tests(
    facts: AgentFacts, patch: str, guard: GuardVerdict, outcome: Outcome | None
) -> None:
    """A time-out is a failure whatever was handed in; only an agent that says so has its empty patch measured."""
    ending = before_tests(facts, patch, guard)
    assert (ending.outcome if ending else None) == outcome
    assert ending is None or ending.reason


def test_a_reason_names_the_budget_that_stopped_the_agent() -> None:
    """Beside what came of its work, which counts."""
    stopped = AgentFacts(wall_s=9, stopped_by="max_steps=3")
    assert with_budget(Ending("measured"), stopped) == Ending("measured", "stopped by max_steps=3")
    late = with_budget(Ending("no_patch", "nothing was changed"), stopped)
    assert late == Ending("no_patch", "stopped by max_steps=3; nothing was changed")
    assert with_budget(Ending("measured"), AgentFacts(wall_s=9)) == with_budget(Ending("measured"), None)


@pytest.mark.parametrize(
    ("tests", "outcome"),
    [
        (TestFacts(built=True, expected=3), None),
        (TestFacts(built=False, expected=3, problem="x"), "failed_tests"),
        (TestFacts(built=True, expected=3, failed=("a::b",)), "failed_tests"),
        (TestFacts(built=True, expected=3, timed_out=True), "failed_tests"),
        (TestFacts(built=True, expected=0), "infra_error"),
    ],
)
def test_what_ends_a_trial_before_its_timing(tests: TestFacts, outcome: Outcome | None) -> None:
    """One failed test, a time-out or a tree that does not build is never timed."""
    ending = before_timing(tests)
    assert (ending.outcome if ending else None) == outcome


@pytest.mark.parametrize(
    ("states", "outcome"),
    [
        (("equal", "as_expert", "unstable", "nothing", "not_captured"), None),
        (("equal", "differs"), "failed_outputs"),
        ((), None),
    ],
)
def test_what_ends_a_trial_by_its_outputs(states: tuple[OutputState, ...], outcome: Outcome | None) -> None:
    """Only a value that is another one than base's and the expert's; what was not compared is counted."""
    said = {"path": "x", "found": "3", "expected": "2"}
    rows = [OutputRow.model_validate({"workload": f"w{n}", "state": state, **said}) for n, state in enumerate(states)]
    facts = OutputFacts(workloads=tuple(rows))
    ending = after_outputs(facts)
    assert (ending.outcome if ending else None) == outcome
    assert ending is None or ending.reason == "1 of 2 workloads compute something else: w1: 3 at x instead of 2"
    assert sum(facts.counts.values()) == len(states)


def arm(**ratios: float | str) -> ArmSummary:
    """One workload per keyword: its ratio, or the reason why it has none."""
    rows = []
    for name, given in ratios.items():
        ratio, reason = (None, given) if isinstance(given, str) else (given, None)
        row = WorkloadRatio(
            workload=name, ratio=ratio, low=ratio, high=ratio, p=None, q=None, floor=None, changed=False, rounds=1,
            base_s=1.0, arm_s=None, reason=reason,
        )  # fmt: skip
        rows.append(row)
    return ArmSummary(arm="x", speedup=None, low=None, high=None, workloads=tuple(rows))


def test_a_timed_trial_is_measured() -> None:
    """All workloads that base2 and the expert have are there."""
    assert (
        after_timing(arm(a=1.0, b="failed: it raised"), arm(a=2.0, b="failed: it raised"), arm(a=1.0, b=1.0)).outcome
        == "measured"
    )


def test_breaking_a_workload_is_a_failure() -> None:
    """A workload that only the patch cannot run is not left out quietly: leaving slow ones out would pay."""
    ending = after_timing(arm(a=2.0, b="failed: it raised"), arm(a=2.0, b=2.0), arm(a=1.0, b=1.0))
    assert ending.outcome == "failed_outputs"
    assert ending.reason is not None
    assert "b: failed: it raised" in ending.reason
    assert after_timing(arm(a=2.0), arm(a=2.0, b=2.0), arm(a=1.0, b=1.0)).outcome == "failed_outputs"


def test_clocks_that_disagree_are_never_a_score() -> None:
    """Whatever the ratios look like."""
    ending = after_timing(arm(a=9.0, b="tampered_or_unreliable: x"), arm(a=2.0, b=2.0), arm(a=1.0, b=1.0))
    assert ending.outcome == "tampered_or_unreliable"


def test_a_clock_that_cannot_be_checked_leaves_nothing_to_score() -> None:
    """Not even the other workloads: which ones are noisy may be the patch's choice."""
    unchecked = "invalid_measurement: the arm's clock cannot be checked: x"
    expert, control = arm(a=2.0, b=2.0, c=2.0), arm(a=1.0, b=1.0, c=1.0)
    assert after_timing(arm(a=2.0, b=unchecked, c=2.0), expert, control).outcome == "invalid_measurement"


def test_noise_of_its_own_is_no_way_out() -> None:
    """Once it may be chance, and is measured again; in the second session the arm is unreliable, and says why."""
    own = "invalid_measurement: the arm's clock cannot be checked for its own noise: x"
    machine = "invalid_measurement: the arm's clock cannot be checked: y"
    expert, control = arm(a=2.0, b=2.0, c=2.0), arm(a=1.0, b=1.0, c=1.0)
    ending = after_timing(arm(a=machine, b=own, c=2.0), expert, control)
    assert settled(ending, 1) == ending == Ending("invalid_measurement", f"b, a: {own}")
    assert settled(ending, 2) == Ending("tampered_or_unreliable", f"b, a: {own}, in 2 sessions")
    busy = after_timing(arm(a=machine, b=1.0, c=2.0), expert, control)
    assert settled(busy, 2) == busy
    assert settled(Ending("measured"), 2) == Ending("measured")


def test_a_session_without_times_says_nothing() -> None:
    """Where even base2 and expert have nothing, the agent is not to blame."""
    assert (
        after_timing(arm(a="failed: it raised"), arm(a="failed: it raised"), arm(a=1.0)).outcome
        == "invalid_measurement"
    )


def test_noise_is_not_the_patch() -> None:
    """A workload that only a disturbance took away is left out; where most went that way, nothing is said."""
    noise = "invalid_measurement: 2 undisturbed rounds are too few"
    expert, control = arm(a=2.0, b=2.0, c=2.0), arm(a=1.0, b=1.0, c=1.0)
    assert after_timing(arm(a=2.0, b=noise, c=2.0), expert, control).outcome == "measured"
    assert after_timing(arm(a=2.0, b=noise, c=noise), expert, control).outcome == "invalid_measurement"


def test_noise_that_took_the_workloads_from_all_arms_is_seen_as_well() -> None:
    """Two that are left of six say nothing of the suite, whoever was disturbed."""
    noise = "invalid_measurement: 2 undisturbed rounds are too few"
    lost = arm(a=1.0, b=1.0, c=noise, d=noise, e=noise, f=noise)
    ending = after_timing(lost, lost, lost)
    assert (ending.outcome, ending.reason) == ("invalid_measurement", "4 of 6 workloads were disturbed")
    assert after_timing(arm(a=2.0, b=1.0, c=1.0), arm(a=2.0, b=1.0, c=noise), arm(a=1.0, b=1.0, c=1.0)).outcome == (
        "measured"
    )


def test_a_machine_that_was_busy_all_the_time_is_named_as_the_reason() -> None:
    """Where no workload is left, the reason says what took the first of them."""
    lost = arm(a="invalid_measurement: 0 undisturbed rounds are too few, 24 launches were disturbed")
    ending = after_timing(lost, lost, lost)
    assert ending.outcome == "invalid_measurement"
    assert (ending.reason or "").endswith(": a: 0 undisturbed rounds are too few, 24 launches were disturbed")


@pytest.mark.parametrize("field", ["wall_s", "cost_usd", "input_tokens"])
@pytest.mark.parametrize("value", [-1, math.nan, math.inf])
def test_impossible_numbers_are_no_facts(field: str, value: float) -> None:
    """A run that holds them could not be read as JSON again, or would lower its cost."""
    with pytest.raises(ValidationError, match=field):
        AgentFacts.model_validate({"wall_s": 1.0, field: value})
