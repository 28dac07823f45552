"""What the host decides: order, number of rounds, who is launched again, who is not believed."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from datasmith.docker.engine import ExecResult
from datasmith.errors import ConfigError
from datasmith.workloads.base import (
    BASE,
    CONTROL,
    EMPTY_ROUND,
    EXPERT,
    FULL_ROUND,
    WARM_UP_ROUND,
    Measurement,
    Workload,
    agent_arm,
)
from datasmith.workloads.guard import CoreTimes
from datasmith.workloads.measure import Measured, Progress, measure
from datasmith.workloads.plan import MeasurePlan
from datasmith.workloads.summary import summarise

from .simulated import Request, SimulatedContainer

X, Y = Workload("m.time_x", "time"), Workload("m.time_y", "time")
SUBMITTED = agent_arm("patch#1")
PLAN = MeasurePlan(seed=1)


def noisy(seconds: float, scatter: float, seed: int) -> Callable[[Request], float]:
    source = np.random.default_rng(seed)
    return lambda _request: seconds * float(np.exp(source.normal(0, scatter)))


def arms(
    changes: Mapping[str, SimulatedContainer] | None = None, *, scatter: float = 0.005, expert: float = 1e-3
) -> dict[str, SimulatedContainer]:
    made = {
        BASE: SimulatedContainer(noisy(1e-3, scatter, 1)),
        CONTROL: SimulatedContainer(noisy(1e-3, scatter, 2)),
        EXPERT: SimulatedContainer(noisy(expert, scatter, 3)),
    }
    return {**made, **(changes or {})}


def run(containers: dict[str, SimulatedContainer], *workloads: Workload, plan: MeasurePlan = PLAN) -> Measured:
    return measure(containers, workloads or (X,), plan, benchmark_dir="benchmarks", sink=lambda _launch: None)


def fails(request: Request) -> ExecResult | None:
    return ExecResult(0, b'{"failed": "ValueError: no"}', b"", 0.2, 0.2, timed_out=False)


def rounds_of(measured: Measured) -> list[int]:
    return sorted({launch.round for launch in measured.measurements if launch.round >= 0})


def test_a_precise_measurement_stops_at_the_least_number_of_rounds() -> None:
    """Noise of 0.5 % needs eight rounds for one workload; a 20 % slow-down is found in them."""
    measured = run(arms(expert=1.2e-3))
    (row,) = measured.summaries[EXPERT].workloads
    assert rounds_of(measured) == list(range(8))
    assert row.changed
    assert row.ratio == pytest.approx(1 / 1.2, rel=0.01)
    assert not measured.summaries[CONTROL].changed


def test_an_imprecise_measurement_goes_on_to_the_last_round() -> None:
    """Noise of 15 % never reaches 2 %: 24 rounds, and no more."""
    assert rounds_of(run(arms(scatter=0.15))) == list(range(24))


def test_a_clear_effect_does_not_stop_a_measurement() -> None:
    """Precision decides, not significance: a factor of 3 with much noise takes all rounds."""
    assert len(rounds_of(run(arms(scatter=0.15, expert=3e-3)))) == 24


def test_a_large_suite_takes_more_rounds_before_it_may_stop() -> None:
    """With 100 workloads one effect needs p < 0.0005: 12 rounds."""
    assert PLAN.first_stop(1) == 8
    assert PLAN.first_stop(100) == 12
    assert PLAN.first_stop(10**9) == 24


def test_too_few_rounds_for_a_suite_are_told_before_anything_is_measured() -> None:
    """58 workloads need 12 rounds: a sixfold speed-up seen in six rounds would be called chance."""
    PLAN.at_most(12).check(58)
    with pytest.raises(ConfigError, match=r"--max-rounds 6: .* 58 workloads .* \(example: --max-rounds 12\)"):
        PLAN.at_most(6).check(58)


def test_every_arm_runs_once_per_round_in_an_order_drawn_by_the_seed() -> None:
    """Back to back, workload by workload; the same seed gives the same order."""
    first = run(arms(), X, Y)
    order = [(launch.round, launch.workload, launch.arm) for launch in first.measurements if launch.round >= 0]
    triples = [order[at : at + 3] for at in range(0, len(order), 3)]
    assert all(len({(number, name) for number, name, _ in triple}) == 1 for triple in triples)
    assert all({arm for _, _, arm in triple} == {BASE, CONTROL, EXPERT} for triple in triples)
    assert len({tuple(arm for _, _, arm in triple) for triple in triples}) > 2
    again = run(arms(), X, Y)
    assert order == [(row.round, row.workload, row.arm) for row in again.measurements if row.round >= 0]
    assert [name for _, name, _ in order[:6]] == [X.id] * 3 + [Y.id] * 3


def test_the_submission_has_no_say_in_its_number_of_calls() -> None:
    """An arm that claims a thousandfold speed in its warm-up still makes base's calls."""
    containers = arms(expert=1e-6)
    run(containers)
    calls = [{(row["number"], row["repeat"]) for row in made.requests if row["number"]} for made in containers.values()]
    assert calls[0] == calls[1] == calls[2]
    assert len(calls[0]) == 1


def test_a_workload_that_fails_at_base_is_not_launched_elsewhere() -> None:
    """One launch; the reason stands in every arm, and the other workload is measured."""
    base = SimulatedContainer(noisy(1e-3, 0.005, 1), reply=lambda row: fails(row) if row["name"] == X.id else None)
    measured = run(arms({BASE: base}), X, Y)
    assert [row.reason for row in measured.summaries[EXPERT].workloads] == ["base: failed: ValueError: no", None]
    assert sum(launch.workload == X.id for launch in measured.measurements) == 1


def test_an_arm_that_fails_never_counts_as_unchanged() -> None:
    """It has a reason and no numbers; base and its control are not launched for nothing."""
    measured = run(arms({EXPERT: SimulatedContainer(noisy(1e-3, 0.005, 1), reply=fails)}))
    summary = measured.summaries[EXPERT]
    assert summary.speedup is None
    assert summary.workloads[0].ratio is None
    assert summary.workloads[0].reason == "failed: ValueError: no"
    assert len(measured.measurements) == 3


def test_a_launch_that_runs_into_its_limit_is_a_reason() -> None:
    """A time-out is a failure, also in the fifth round."""

    def late(_request: Request, launches: list[int] = []) -> ExecResult | None:  # noqa: B006 - counts its calls
        launches.append(1)
        return ExecResult(-9, b"", b"", 70.0, 70.0, timed_out=True) if len(launches) == 6 else None

    measured = run(arms({EXPERT: SimulatedContainer(noisy(1e-3, 0.005, 1), reply=late)}))
    assert measured.summaries[EXPERT].workloads[0].reason == "timed out after 70 s"
    assert measured.summaries[EXPERT].speedup is None


def test_an_arm_that_claims_half_of_what_passed_outside_is_not_believed() -> None:
    """Twice as fast inside, just as slow outside: audited, and no score."""
    liar = SimulatedContainer(noisy(1e-3, 0.005, 1), claims=0.5)
    measured = run(arms({SUBMITTED: liar}))
    (row,) = measured.summaries[SUBMITTED].workloads
    assert row.ratio is None
    assert (row.reason or "").startswith("tampered_or_unreliable: ")
    assert {launch.round for launch in measured.measurements} >= {FULL_ROUND, EMPTY_ROUND}


def test_an_arm_that_claims_more_than_passed_outside_is_not_believed() -> None:
    """A launch of 0.4 s cannot have timed 0.8 s."""
    liar = SimulatedContainer(noisy(1e-3, 0.005, 1), claims=3.0)
    row = run(arms({EXPERT: liar})).summaries[EXPERT].workloads[0]
    assert (row.reason or "").startswith("tampered_or_unreliable: ")


def test_a_slower_set_up_is_audited_and_believed() -> None:
    """An honest patch that moves 0.3 s of work into the import is no tampering."""

    class SlowImport(SimulatedContainer):
        def exec(self, *args: object, **kwargs: object) -> ExecResult:
            done = super().exec(*args, **kwargs)  # type: ignore[arg-type]
            return replace(done, wall_s=done.wall_s + 0.3, cpu_s=(done.cpu_s or 0.0) + 0.3)

    measured = run(arms({SUBMITTED: SlowImport(noisy(5e-4, 0.005, 1))}))
    assert any(launch.round == EMPTY_ROUND for launch in measured.measurements)
    assert measured.summaries[SUBMITTED].workloads[0].ratio == pytest.approx(2.0, rel=0.02)


def test_arms_that_behave_are_not_audited() -> None:
    """An honest measurement pays nothing for the audit."""
    assert all(launch.round >= -1 for launch in run(arms(expert=8e-4)).measurements)


def test_a_submission_that_claims_to_be_faster_is_always_audited() -> None:
    """Nothing looks odd, and its clock is checked all the same; an expert's merged patch is not put through that."""
    agent = {"agent:x": SimulatedContainer(noisy(8e-4, 0.005, 4))}
    measured = run(arms(agent, expert=8e-4))
    audited = {launch.arm for launch in measured.measurements if launch.round == FULL_ROUND}
    assert audited == {BASE, "agent:x"}
    assert measured.summaries["agent:x"].workloads[0].ratio == pytest.approx(1.25, rel=0.02)


class ScatteredStart(SimulatedContainer):
    """Starting scatters by 40 ms, as on a shared machine; with `honest_from` calls per sample it tells the truth."""

    honest_from = 10**12

    def exec(self, *args: object, **kwargs: object) -> ExecResult:
        """See Container."""
        source = np.random.default_rng(len(self.requests))
        request = json.loads(kwargs["stdin"])  # type: ignore[arg-type]
        told, self.claims = self.claims, 1.0 if request["number"] >= self.honest_from else self.claims
        done = super().exec(*args, **kwargs)  # type: ignore[arg-type]
        self.claims = told
        return replace(done, wall_s=done.wall_s + float(source.uniform(0, 0.04)))


@pytest.mark.parametrize("scale", [1.1, 2.0, 1000.0])
def test_an_honest_arm_is_believed_however_fast_it_is(scale: float) -> None:
    """What a thousandfold faster arm claims for base's calls is lost in the scatter: its audit makes more calls."""
    fast = ScatteredStart(noisy(1e-3 / scale, 0.005, 4))
    row = run(arms({"agent:x": fast, BASE: ScatteredStart(noisy(1e-3, 0.005, 1))})).summaries["agent:x"].workloads[0]
    assert row.reason is None
    assert row.ratio == pytest.approx(scale, rel=0.02)


@pytest.mark.parametrize("scale", [1.5, 10.0, 1000.0])
def test_a_liar_is_found_however_large_the_lie(scale: float) -> None:
    """The larger the claim, the more calls it has to make under our own clock."""
    liar = ScatteredStart(noisy(1e-3, 0.005, 4), claims=1 / scale)
    row = run(arms({"agent:x": liar, BASE: ScatteredStart(noisy(1e-3, 0.005, 1))})).summaries["agent:x"].workloads[0]
    assert (row.reason or "").startswith("tampered_or_unreliable: ")


def test_an_audit_that_runs_into_the_time_limit_is_a_lie() -> None:
    """By its own claim it would have been over long before."""

    def late(request: Request) -> ExecResult | None:
        calls = int(str(request["number"])) * int(str(request["repeat"]))
        return ExecResult(-9, b"", b"", 70.0, 70.0, timed_out=True) if request["call"] and calls > 10**6 else None

    liar = SimulatedContainer(noisy(1e-3, 0.005, 4), claims=1e-5, reply=late)
    row = run(arms({"agent:x": liar})).summaries["agent:x"].workloads[0]
    assert row.reason == "tampered_or_unreliable: where its clock was checked: timed out after 70 s"


def test_an_arm_that_is_honest_only_where_it_is_checked_has_no_ratio() -> None:
    """It tells an audit from a round by the number of calls; its pace is another one there."""
    sly = ScatteredStart(noisy(1e-3, 0.0, 4), claims=0.5)
    sly.honest_from = 20
    row = run(arms({"agent:x": sly}, scatter=0.0)).summaries["agent:x"].workloads[0]
    assert row.reason == (
        "invalid_measurement: the arm's clock cannot be checked for its own noise: "
        "calls take 2.00 times as long as in the rounds once they are checked"
    )


def test_disturbed_launches_are_repeated_kept_and_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third launch is disturbed: marked and made again, and the result does not know it."""
    # The core's counters are the kernel's: there is no real way to have it disturbed on demand.
    readings = iter(range(10**6))

    def core(_cpu: int | None) -> CoreTimes:
        at = next(readings)
        return CoreTimes(0.0, 100.0 * (at // 6) + (50.0 if at % 6 == 5 else 0.0))

    monkeypatch.setattr("datasmith.workloads.launch.read_core", core)
    measured = run(arms())
    marked = [launch for launch in measured.measurements if launch.noisy]
    assert marked
    assert all(launch.samples for launch in marked)
    assert measured.summaries[EXPERT].workloads[0].rounds == 8
    assert measured.cost.launches > 3 * 9


@pytest.fixture
def two_rounds_lost(monkeypatch: pytest.MonkeyPatch) -> MeasurePlan:
    """A plan of eight rounds, on a host that disturbs two of them however often they are tried."""
    readings = iter(range(10**6))
    lost = range(3 + 2 * 3, 3 + 2 * 3 + 2 * 3 * 3)
    stolen = [0.0]

    def core(_cpu: int | None) -> CoreTimes:
        number, after = divmod(next(readings), 2)
        stolen[0] += 10.0 if after and number in lost else 0.0
        return CoreTimes(0.0, stolen[0])

    monkeypatch.setattr("datasmith.workloads.launch.read_core", core)
    return MeasurePlan(seed=1, max_rounds=8)


def test_rounds_that_the_host_took_are_played_later(two_rounds_lost: MeasurePlan) -> None:
    """Two of eight rounds are disturbed: there are ten."""
    measured = run(arms(), plan=two_rounds_lost)
    assert rounds_of(measured) == list(range(10))
    assert measured.summaries[EXPERT].workloads[0].rounds == 8


@pytest.mark.parametrize("at", [1, 6], ids=["warm-up", "round"])
def test_a_launch_that_failed_while_the_core_was_stolen_is_no_failure(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ran into its limit because the machine stood still: it is made again, and the arm keeps its ratio."""
    readings: list[int] = []

    def core(_cpu: int | None) -> CoreTimes:
        readings.append(0)
        return CoreTimes(0.0, 50.0 if len(readings) > 2 * at + 1 else 0.0)

    def late(_request: Request) -> ExecResult | None:
        stolen = len(readings) == 2 * at + 1
        return ExecResult(-9, b"", b"", 70.0, 70.0, timed_out=True) if stolen else None

    monkeypatch.setattr("datasmith.workloads.launch.read_core", core)
    containers = {name: SimulatedContainer(noisy(1e-3, 0.005, 1), reply=late) for name in (BASE, CONTROL, EXPERT)}
    measured = run(containers)
    assert [launch.noisy for launch in measured.measurements].count(True) == 1
    assert all(summary.workloads[0].reason is None for summary in measured.summaries.values())


def test_a_host_that_is_never_quiet_ends_as_an_invalid_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given up after six rounds; the machine is blamed, not the arm."""
    readings = iter(range(10**6))
    monkeypatch.setattr("datasmith.workloads.launch.read_core", lambda _cpu: CoreTimes(0.0, 10.0 * next(readings)))
    measured = run(arms())
    assert (measured.summaries[EXPERT].workloads[0].reason or "").startswith("invalid_measurement: ")
    assert rounds_of(measured) == list(range(6))


def test_what_the_sink_got_gives_the_same_summary_again() -> None:
    """Re-grading: the summaries are a function of the raw launches and the seed."""
    kept: list[Measurement] = []
    measured = measure(arms(scatter=0.03), (X, Y), PLAN, benchmark_dir="b", sink=kept.append)
    assert tuple(kept) == measured.measurements
    assert summarise(kept, seed=PLAN.seed) == measured.summaries


def test_only_scored_kinds_are_measured() -> None:
    """A track_ benchmark among the workloads is left alone."""
    measured = run(arms(), X, Workload("m.track_size", "track"))
    assert [row.workload for row in measured.summaries[EXPERT].workloads] == [X.id]


def steps_of(containers: dict[str, SimulatedContainer], *workloads: Workload, plan: MeasurePlan) -> list[Progress]:
    steps: list[Progress] = []
    measure(containers, workloads, plan, benchmark_dir="b", sink=lambda _launch: None, progress=steps.append)
    return steps


def test_progress_never_promises_less_than_it_has_done() -> None:
    """Done grows by one up to what is expected, which never grows; at the end they are the same."""
    steps = steps_of(arms(), X, Y, plan=PLAN)
    expected = [step.expected or 0 for step in steps]
    assert [step.done for step in steps] == list(range(1, len(steps) + 1))
    assert all(promised >= step.done for promised, step in zip(expected, steps, strict=True))
    assert expected == sorted(expected, reverse=True)


def test_what_disturbed_launches_cost_is_not_in_the_total_but_said(two_rounds_lost: MeasurePlan) -> None:
    """Launches made again count once; extra rounds make the total grow once, by all that may come, and say why."""
    steps = steps_of(arms(), X, plan=two_rounds_lost)
    planned, extra = steps[: -2 * 3], steps[-2 * 3 :]
    assert {step.expected for step in planned} == {3 * (1 + 8)} and planned[-1].done == 3 * (1 + 8) < len(planned)
    assert [step.expected for step in extra] == [3 * (1 + 8 + 4)] * 6
    assert extra[-1].step == "extra round 10 of at most 12: others were disturbed" and extra[-1].done == 3 * (1 + 10)


def test_after_the_rounds_no_total_is_claimed() -> None:
    """How often a clock is audited shows only on the way: the launches are counted for themselves."""
    steps = steps_of(arms({SUBMITTED: SimulatedContainer(noisy(5e-4, 0.005, 1))}), X, plan=PLAN)
    audit = [step for step in steps if step.step == "audit of the clocks"]
    assert {step.expected for step in audit} == {None}
    assert [step.done for step in audit] == list(range(1, len(audit) + 1)) != []


def test_nothing_to_compare_with_is_refused() -> None:
    """Arms without base, or base alone."""
    for containers in ({EXPERT: arms()[EXPERT]}, {BASE: arms()[BASE]}):
        with pytest.raises(ConfigError, match="arms"):
            run(containers)
    with pytest.raises(ConfigError, match="min_rounds"):
        MeasurePlan(min_rounds=9, max_rounds=8)


@pytest.mark.parametrize(
    ("number", "step"),
    [
        (0, "round 1"),
        (WARM_UP_ROUND, "warm-up"),
        (FULL_ROUND, "audit of the clocks"),
        (EMPTY_ROUND, "audit of the clocks"),
    ],
)
def test_a_step_is_named_as_what_it_is(number: int, step: str) -> None:
    """The launches before the first round warm up; only those after the last are an audit."""
    assert Progress(1, 2, number, "m.time_x").step == step
