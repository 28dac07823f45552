"""A speed-up counts where it is one of the code; one of the suite's own inputs counts as much as it does on others."""

import json
import math
import random
import statistics
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from datasmith.docker.engine import ExecResult
from datasmith.evaluation.outcome import after_timing
from datasmith.workloads.base import BASE, CONTROL, EXPERT, Measurement, Workload, agent_arm
from datasmith.workloads.fresh import FRESH_ROUND, FRESH_ROUNDS, fresh_ratios, proven, takes_as_long
from datasmith.workloads.launch import Moved
from datasmith.workloads.measure import Measured, measure
from datasmith.workloads.plan import MeasurePlan
from datasmith.workloads.summary import summarise

from .simulated import CLOCKED_INPUTS, Request, SimulatedContainer

X = Workload("m.time_x", "time")
AGENT = agent_arm("agent#1")


def about(seconds: float, seed: int) -> Callable[[Request], float]:
    source = np.random.default_rng(seed)
    return lambda _request: seconds * float(np.exp(source.normal(0, 0.005)))


def refused(_request: Request) -> ExecResult:
    """What a benchmark says that cannot run on other inputs."""
    return ExecResult(0, json.dumps({"failed": "ValueError: no"}).encode(), b"", 0.1, 0.1, timed_out=False)


def run(agent: SimulatedContainer, expert: SimulatedContainer | None = None, **given: SimulatedContainer) -> Measured:
    arms = {
        BASE: given.get("base", SimulatedContainer(about(1e-3, 1))),
        CONTROL: SimulatedContainer(about(1e-3, 2)),
        EXPERT: expert or SimulatedContainer(about(5e-4, 3)),
        AGENT: agent,
    }
    plan = MeasurePlan(seed=1)
    return measure(
        arms, [X], plan, benchmark_dir="b", sink=lambda _launch: None, outputs=True, lottery=random.Random(1)
    )  # fmt: skip


def fresh_launches(measured: Measured, arm: str) -> int:
    return sum(launch.arm == arm and launch.round in FRESH_ROUNDS for launch in measured.measurements)


def stored(seed: int = 4) -> SimulatedContainer:
    """Ten times as fast as base on the suite's inputs, and as slow on others."""
    return SimulatedContainer(about(1e-4, seed), fresh=about(1e-3, seed + 50))


def test_a_speed_up_of_the_code_is_seen_on_other_inputs_at_once() -> None:
    """One launch shows it; the ratio is that of the rounds."""
    measured = run(SimulatedContainer(about(1e-4, 4)))
    (row,) = measured.summaries[AGENT].workloads
    assert row.ratio == pytest.approx(10, rel=0.05)
    assert row.repeated is None
    assert [fresh_launches(measured, arm) for arm in (BASE, EXPERT, AGENT)] == [1, 1, 1]


def test_answers_that_were_stored_are_worth_what_they_are_on_other_inputs() -> None:
    """After several launches; the outcome says so, and the files give the same summary again."""
    measured = run(stored())
    (row,) = measured.summaries[AGENT].workloads
    assert row.ratio == pytest.approx(1, rel=0.05)
    assert row.repeated == pytest.approx(10, rel=0.05)
    assert not row.changed
    assert fresh_launches(measured, AGENT) == 6
    assert summarise(measured.measurements, seed=1)[AGENT] == measured.summaries[AGENT]
    summaries = measured.summaries
    ending = after_timing(summaries[AGENT], summaries[EXPERT], summaries[CONTROL])
    assert ending.outcome == "measured"
    assert (ending.reason or "").startswith("1 workload faster only on inputs of the suite: m.time_x: 10")


def test_a_claim_is_not_believed_beside_a_launch_of_base_that_was_disturbed() -> None:
    """Base takes seven times as long in its first launches on other inputs, so a cache looks fast there."""
    asked: list[Request] = []

    def disturbed(request: Request) -> float:
        asked.append(request)
        return 7e-3 if len(asked) <= 2 else 1e-3

    (row,) = run(stored(), base=SimulatedContainer(about(1e-3, 1), fresh=disturbed)).summaries[AGENT].workloads
    assert row.repeated == pytest.approx(10, rel=0.05)
    assert row.ratio == pytest.approx(1, rel=0.05)


def singly(seconds: float) -> Callable[[Request], float | None]:
    """So long take calls that are made once and looked at; others as long as in the rounds."""

    def given(request: Request) -> float | None:
        asked = request["fresh"]
        return None if isinstance(asked, dict) and asked["kind"] == "short" else seconds

    return given


@pytest.mark.parametrize(("base_s", "cold_s"), [(1e-4, 1e-5), (6e-5, 7.5e-6), (2.5e-5, 1e-5), (5e-4, 9e-6)])
def test_what_a_single_call_costs_is_no_proof(base_s: float, cold_s: float) -> None:
    """A speed-up of 500 of a short call cannot be seen in one call; a stored answer to it still is."""
    base = SimulatedContainer(about(base_s, 1), tells_s=1e-6)
    quick = SimulatedContainer(about(base_s / 500, 4), fresh=singly(cold_s), tells_s=1e-6)
    expert = SimulatedContainer(about(base_s / 400, 3), fresh=singly(cold_s), tells_s=1e-6)
    (row,) = run(quick, expert, base=base).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(500, rel=0.05)
    kept = SimulatedContainer(about(base_s / 500, 4), fresh=about(base_s, 5), tells_s=1e-6)
    (row,) = run(kept, expert, base=base).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(1, rel=0.05)
    partly = SimulatedContainer(about(base_s / 500, 4), fresh=about(base_s / 4, 5), tells_s=1e-6)
    (row,) = run(partly, expert, base=base).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(4, rel=0.1)
    assert row.repeated == pytest.approx(500, rel=0.05)


def test_what_is_slower_when_looked_at_is_not_judged_by_it_where_calls_are_short() -> None:
    """Base takes 15 microseconds in the rounds, and 25 in a single call: too few to hold a claim against."""
    base = SimulatedContainer(about(1.5e-5, 1), fresh=singly(2.5e-5), tells_s=1e-6)
    quick = SimulatedContainer(about(1e-5, 4), fresh=singly(3e-5), tells_s=1e-6)
    expert = SimulatedContainer(about(1.5e-5, 3), fresh=singly(3e-5), tells_s=1e-6)
    measured = run(quick, expert, base=base)
    (row,) = measured.summaries[AGENT].workloads
    assert row.ratio == pytest.approx(1.5, rel=0.05)
    assert row.repeated is None and fresh_launches(measured, AGENT) == 1 + 5


def test_work_that_short_calls_put_off_is_counted_where_base_takes_longer() -> None:
    """Calls too short to be seen singly are looked at all the same: base's take long enough to see that."""
    base = SimulatedContainer(about(6e-5, 1), tells_s=1e-6)
    lazy = SimulatedContainer(about(2e-7, 4), fresh=singly(6e-5), puts_off_s=5.5e-5, tells_s=1e-6)
    expert = SimulatedContainer(about(2e-7, 3), fresh=singly(7e-6), tells_s=1e-6)
    (row,) = run(lazy, expert, base=base).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize(("base_s", "claim"), [(1e-4, 1.5), (6e-5, 4.0), (3e-5, 20.0), (6e-6, 15.0), (1.5e-6, 4.0)])
def test_the_allowance_is_no_gift(base_s: float, claim: float) -> None:
    """A cache that is as slow as base on other inputs is worth nothing, however short the calls are."""
    base = SimulatedContainer(about(base_s, 1), tells_s=1e-6)
    kept = SimulatedContainer(about(base_s / claim, 4), fresh=about(base_s, 5), tells_s=1e-6)
    expert = SimulatedContainer(about(base_s / 2, 3), tells_s=1e-6)
    (row,) = run(kept, expert, base=base).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(1, rel=0.05)
    assert row.repeated == pytest.approx(claim, rel=0.05)


@pytest.mark.parametrize(("arm_s", "ratio"), [(1e-3, 2.8), (1e-5, 9.0)])
def test_a_cache_on_top_of_an_honest_speed_up_is_seen_where_calls_are_long(arm_s: float, ratio: float) -> None:
    """Nine times as fast, 2.8 times on other inputs; of short calls that may be what a single one costs."""
    base = SimulatedContainer(about(9 * arm_s, 1), tells_s=1e-6)
    kept = SimulatedContainer(about(arm_s, 4), fresh=about(9 * arm_s / 2.8, 5), tells_s=1e-6)
    expert = SimulatedContainer(about(4 * arm_s, 3), tells_s=1e-6)
    (row,) = run(kept, expert, base=base).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(ratio, rel=0.05)


@pytest.mark.parametrize(("base_s", "claim"), [(1.5e-5, 500.0), (6e-6, 20.0), (1.5e-6, 1.4)])
def test_what_a_first_call_costs_is_held_against_no_short_call(base_s: float, claim: float) -> None:
    """Memory that went cold costs the first call on an input many times a later one, of base as of the arm."""
    base = SimulatedContainer(about(base_s, 1), tells_s=1e-5)
    quick = SimulatedContainer(about(base_s / claim, 4), tells_s=1e-5)
    (row,) = run(quick, SimulatedContainer(about(base_s / 2, 3)), base=base).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(claim, rel=0.05)
    assert row.repeated is None


def test_the_shortest_calls_are_not_judged() -> None:
    """The clock's own reading takes as long."""
    base = SimulatedContainer(about(1.5e-7, 1), tells_s=1e-6)
    kept = SimulatedContainer(about(1.5e-8, 4), fresh=about(1.5e-7, 5), tells_s=1e-6)
    (row,) = run(kept, SimulatedContainer(about(1.4e-7, 3), tells_s=1e-6), base=base).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(10, rel=0.05)


def test_work_that_is_put_off_is_counted_where_it_is_done() -> None:
    """In the look at the result: a call that takes a tenth of base's, and as long as base's with the look."""
    lazy = SimulatedContainer(about(1e-4, 4), fresh=about(1e-3, 5), puts_off_s=9e-4)
    (row,) = run(lazy).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize(("tells_s", "ratio"), [(0.055, 10), (0.0025, 10)])
def test_a_long_look_at_the_result_is_left_out(tells_s: float, ratio: float) -> None:
    """Telling may take the arm a little longer than base, however long that is beside the calls."""
    base = SimulatedContainer(about(1e-3, 1), tells_s=tells_s / 1.1)
    agent = SimulatedContainer(about(1e-4, 4), tells_s=tells_s)
    (row,) = run(agent, base=base).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(ratio, rel=0.05)


def test_work_is_counted_where_telling_takes_longer_than_the_call() -> None:
    """Base calls for a millisecond and tells for two; the arm calls for a tenth, and puts off the rest.

    What is done again with every look is held against what base's looks take: it is more than a quarter longer.
    """
    base = SimulatedContainer(about(1e-3, 1), tells_s=2e-3)
    lazy = SimulatedContainer(about(1e-4, 4), fresh=about(1e-3, 5), tells_s=2e-3, puts_off_s=9e-4)
    (row,) = run(lazy, base=base).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(1, rel=0.05)
    assert row.repeated == pytest.approx(10, rel=0.05)
    lazy = replace(lazy, does_it_again=True)
    (row,) = run(lazy, base=base).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(1, rel=0.05)


def test_work_is_counted_where_it_is_done_beforehand() -> None:
    """While the benchmark is set up; a little more than base takes there is no work that was moved."""
    early = SimulatedContainer(about(1e-4, 4), fresh=about(1e-3, 5), prepares_s=9e-4)
    (row,) = run(early).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(1, rel=0.1)
    honest = SimulatedContainer(about(1e-4, 4), sets_up_s=1.1e-4)
    (row,) = run(honest).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(10, rel=0.05)


def test_what_base_may_spend_on_setting_up_hides_no_part_of_a_call() -> None:
    """Where it is more than a quarter longer than base's, all that is beyond base's counts, not what is beyond that."""
    base = SimulatedContainer(about(1e-3, 1), sets_up_s=2e-3)
    early = SimulatedContainer(about(1e-4, 4), fresh=about(1e-3, 5), sets_up_s=2e-3, prepares_s=9e-4)
    (row,) = run(early, base=base).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize("later", [False, True])
def test_all_arms_are_asked_for_what_base_had_time_for(later: bool) -> None:
    """One input, in this simulation, and calls afterwards or none, then as many as are clocked; base is not told."""
    base, agent, expert = (SimulatedContainer(about(seconds, 1), later=later) for seconds in (1e-3, 1e-4, 5e-4))
    run(agent, base=base, expert=expert)
    asked: Any = [[one["fresh"] for one in arm.requests if one["fresh"]] for arm in (base, agent, expert)]
    assert [[fresh["inputs"] for fresh in arm] for arm in asked[:2]] == [[0, 0, 0], [1, *[CLOCKED_INPUTS] * 2]]
    assert [arm[0]["later"] for arm in asked] == [True, later, later]


def test_luck_on_other_inputs_is_no_speed_up() -> None:
    """Of a claim that was refuted only what is certain is left; what is slower stays slower."""
    lucky = [0.9, -0.4, 0.3, 0.2, -0.1, 0.5]
    assert statistics.median(proven(lucky)) == pytest.approx(0.0)
    assert max(proven(lucky)) - min(proven(lucky)) == pytest.approx(1.3)
    assert statistics.median(proven([-0.5, -0.6, -0.4, -0.5, -0.7, -0.5], is_short=True)) == pytest.approx(0.0)
    certain, slower = [0.2, 0.25, 0.22, 0.3, 0.19, 0.21], [-0.5, -0.4, 0.1, -0.3, -0.2, -0.4]
    assert proven(certain) == certain and proven(slower) == slower


def test_launches_are_paired_by_their_inputs() -> None:
    """Where the arm says nothing of one set of inputs, the next one's time is held against base's on the next."""

    def at(arm: str, number: int, seconds: float) -> Measurement:
        return Measurement("m.time_x", arm, FRESH_ROUND - number, (seconds,), 1, 0.1, 0.1, 0)

    launches = [at(BASE, 0, 1.0), at(AGENT, 0, 0.5), at(BASE, 1, 8.0), at(BASE, 2, 2.0), at(AGENT, 2, 1.0)]
    expected = [math.log(2), math.log(2)]
    assert fresh_ratios(launches, AGENT) == pytest.approx(expected)
    assert fresh_ratios(sorted(launches, key=lambda launch: launch.arm), AGENT) == pytest.approx(expected)


@pytest.mark.parametrize(("fresh_s", "alike"), [(1.0, True), (1.9, True), (0.55, True), (2.1, False), (0.4, False)])
def test_rewritten_texts_are_inputs_of_the_same_kind_where_base_takes_as_long(fresh_s: float, alike: bool) -> None:
    """The newest ones count; without any, or without rounds, nothing is said."""
    rounds = [Measurement("m.time_x", BASE, at, (1.0,), 1, 0.1, 0.1, 0) for at in range(3)]
    older = Measurement("m.time_x", BASE, FRESH_ROUND, (9.0,), 1, 0.1, 0.1, 0)
    newest = Measurement("m.time_x", BASE, FRESH_ROUND - 1, (fresh_s,), 1, 0.1, 0.1, 0)
    theirs = Measurement("m.time_x", AGENT, FRESH_ROUND - 1, (9.0,), 1, 0.1, 0.1, 0)
    assert takes_as_long([*rounds, older, newest, theirs]) is alike
    assert not takes_as_long(rounds) and not takes_as_long([newest])


def test_a_cache_that_merged_code_has_too_is_a_good_one() -> None:
    """Where the expert's speed-up is one of repeated inputs, so may the submission's be."""
    measured = run(stored(), expert=stored(7))
    (row,) = measured.summaries[AGENT].workloads
    assert row.ratio == pytest.approx(10, rel=0.05)
    assert row.repeated is None


def test_what_the_expert_keeps_is_asked_of_a_cache() -> None:
    """The expert is four times as fast, and twice on other inputs: ten times and once is more than that loses."""
    expert = SimulatedContainer(about(5e-4, 3), fresh=about(1e-3, 53))
    base = SimulatedContainer(about(2e-3, 1))
    kept = SimulatedContainer(about(2e-4, 4), fresh=about(1.95e-3, 54))
    (row,) = run(kept, expert=expert, base=base).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(1, rel=0.05)
    alike = SimulatedContainer(about(2e-4, 4), fresh=about(8e-4, 54))
    (row,) = run(alike, expert=expert, base=base).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize("base_s", [5e-6, 1e-4, 2e-3])
@pytest.mark.parametrize("seed", range(5))
def test_an_expert_who_gains_little_excuses_no_cache(base_s: float, seed: int) -> None:
    """Three per cent in the rounds that are gone on other inputs are three per cent, and no whole cache."""
    expert = SimulatedContainer(about(base_s / 1.03, 3 + seed), fresh=about(base_s * 1.03, 53 + seed), tells_s=1e-6)
    base = SimulatedContainer(about(base_s, 1 + seed), tells_s=1e-6)
    kept = SimulatedContainer(about(base_s / 10, 4 + seed), fresh=about(base_s, 54 + seed), tells_s=1e-6)
    (row,) = run(kept, expert=expert, base=base).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(1, rel=0.05)
    assert row.repeated == pytest.approx(10, rel=0.05)


def test_a_launch_that_dies_once_says_nothing_of_what_is_computed() -> None:
    """It is made again; one that always dies has no value to compare."""
    died: list[Request] = []

    def first_dies(request: Request) -> ExecResult | float | None:
        died.append(request)
        return ExecResult(-9, b"", b"Killed", 0.1, 0.1, timed_out=False) if len(died) == 1 else None

    measured = run(SimulatedContainer(about(5e-7, 4), fresh=first_dies), base=SimulatedContainer(about(5e-6, 1)))
    assert len(died) > 1
    (output,) = measured.outputs[AGENT]
    assert output.state == "equal"
    (row,) = measured.summaries[AGENT].workloads
    assert row.ratio == pytest.approx(10, rel=0.05)


def test_rewritten_texts_of_short_calls_are_held_against_later_calls() -> None:
    """The watched one takes ten times as long as any in the rounds: that is the watching."""
    base = SimulatedContainer(about(5e-6, 1), fresh=singly(5e-5))
    agent = SimulatedContainer(about(5e-7, 4))
    run(agent, base=base)
    assert {request["fresh"]["what"] for request in agent.requests if request["fresh"]} == {"letters"}  # type: ignore[index]


def test_noise_of_the_expert_excuses_no_cache() -> None:
    """An expert's patch that leaves the workload as it is has no cache there, even where it seems a little faster."""
    expert = SimulatedContainer(about(9.995e-4, 3), fresh=about(1.1e-3, 53))
    measured = run(stored(), expert=expert)
    (expert_row,) = measured.summaries[EXPERT].workloads
    assert not expert_row.changed
    assert (expert_row.ratio or 0.0) > 1.0
    (row,) = measured.summaries[AGENT].workloads
    assert row.repeated == pytest.approx(10, rel=0.05)
    assert row.ratio == pytest.approx(1, rel=0.05)


def test_nothing_is_said_where_base_cannot_run_on_other_inputs() -> None:
    """Neither of base nor of anyone else; base is asked in both ways."""
    base = SimulatedContainer(about(1e-3, 1), fresh=refused)
    measured = run(stored(), base=base)
    (row,) = measured.summaries[AGENT].workloads
    assert row.ratio == pytest.approx(10, rel=0.05)
    assert fresh_launches(measured, BASE) == 0
    assert [request["fresh"]["what"] for request in base.requests if request["fresh"]] == list(get_args(Moved))  # type: ignore[index]


@pytest.mark.parametrize("answer", ["another value", "an exception"])
def test_what_is_wrong_on_other_inputs_is_wrong(answer: str) -> None:
    """A submission that knows the suite's answers only computes something else, or fails, where base does not."""
    if answer == "an exception":
        agent = SimulatedContainer(about(1e-4, 4), fresh=refused)
    else:
        values = iter([1.0])
        agent = SimulatedContainer(about(1e-4, 4), computes=lambda: next(values, 7.0))
    (row,) = run(agent).outputs[AGENT]
    assert row.state == "differs"
    assert row.found in ("7.0", "ValueError: no", "failed: ValueError: no")


@pytest.mark.parametrize("answer", ["another value", "an exception"])
def test_no_launch_on_other_inputs_is_lost(answer: str) -> None:
    """Any later launch that fails or differs refutes a claim: nobody can choose the launches that count."""
    calls: list[Request] = []

    def second_fails(request: Request) -> ExecResult | float:
        calls.append(request)
        return refused(request) if answer == "an exception" and len(calls) > 1 else 1e-3

    agent = SimulatedContainer(
        about(1e-4, 4), fresh=second_fails, computes=lambda: 7.0 if answer != "an exception" and len(calls) > 1 else 1.0
    )
    (row,) = run(agent).outputs[AGENT]
    assert len(calls) > 1
    assert row.state == "differs"


def test_noise_is_no_proof() -> None:
    """Launches on other inputs that scatter by a factor of ten take nothing away."""
    source = np.random.default_rng(3)
    noisy = SimulatedContainer(about(1e-4, 4), fresh=lambda _request: float(np.exp(source.normal(np.log(4e-4), 2.5))))
    (row,) = run(noisy).summaries[AGENT].workloads
    assert row.ratio == pytest.approx(10, rel=0.05)


def test_merged_code_is_not_checked() -> None:
    """An arm that is the expert's patch itself is launched in the rounds, and no more."""
    arms = {name: SimulatedContainer(about(1e-3, 9)) for name in (BASE, CONTROL)}
    arms |= {name: SimulatedContainer(about(1e-4, 8)) for name in (EXPERT, AGENT)}
    measured = measure(
        arms, [X], MeasurePlan(seed=1), benchmark_dir="b", sink=lambda _launch: None, outputs=True, trusted=[AGENT]
    )
    assert {launch.round for launch in measured.measurements if launch.arm == AGENT} == set(range(-1, 8))
