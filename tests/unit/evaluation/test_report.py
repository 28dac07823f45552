"""The report: a pure function of the folder and the policy."""

import json
import math
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from datasmith.errors import TrialError
from datasmith.evaluation.html import render
from datasmith.evaluation.outcome import Outcome
from datasmith.evaluation.records import TrialRecord
from datasmith.evaluation.reference import asv_differs, reference_as_json, reference_report
from datasmith.evaluation.report import ControlReport, Report, build_report
from datasmith.evaluation.rows import Rounds
from datasmith.evaluation.run_folder import TrialKey, read_measurements, write_measurements
from datasmith.evaluation.summary import as_json
from datasmith.evaluation.whole_files import write_record
from datasmith.metrics.score import POLICIES, FailurePolicy
from datasmith.workloads.base import agent_arm
from tests.unit.evaluation.sample_run import NOW, SampleRun, sample_run


def report_of(run: SampleRun, policy: FailurePolicy = "floor") -> Report:
    record = run.folder.read_run()
    assert record is not None
    return build_report(run.folder, record, policy)


def attempt(run: SampleRun, like: TrialRecord, number: int, outcome: Outcome, cost: float | None) -> None:
    """A trial like the first one, timed likewise, though not to the last digit."""
    first, key = (TrialKey(like.task_id, like.agent, each) for each in (1, number))
    assert like.ratios is not None
    rows = [row.model_copy(update={"ratio": (row.ratio or 1.0) + 1e-10 * number}) for row in like.ratios.workloads]
    ratios = like.ratios.model_copy(update={"workloads": tuple(rows)})
    own = {"attempt": number, "outcome": outcome, "cost_usd": cost, "ratios": ratios, "wall_s": like.wall_s + number}
    record = like.model_copy(update=own)
    write_record(run.folder.trial(key) / "trial.json", record)
    theirs = read_measurements(run.folder.trial(first) / "measurements.jsonl")
    mine = [replace(launch, arm=agent_arm(key.label)) for launch in theirs]
    write_measurements(run.folder.trial(key) / "measurements.jsonl", mine)


def test_an_agent_is_summed_up_over_its_tasks(tmp_path: Path) -> None:
    """Means over tasks, outcomes counted, agents in the order of the configuration."""
    report = report_of(sample_run(tmp_path / "r"))
    assert [agent.agent for agent in report.agents] == ["command-good", "command-breaks", "command-nothing"]
    good, breaks, nothing = report.agents
    assert good.means.speedup.value == pytest.approx((1.5 * 1.8) ** (1 / 3), rel=0.01)
    assert good.means.expert_speedup.value == pytest.approx((2.0 + 1.3) / 2, rel=0.01)
    assert breaks.outcomes == {"measured": 1, "failed_tests": 1}
    assert nothing.means.speedup.value == pytest.approx(1.0, abs=0.01)
    assert (report.n_expected, report.n_complete) == (6, 6)


def test_the_policy_decides_what_a_failure_counts(tmp_path: Path) -> None:
    """Excluded it is missing; by the others it stands at unchanged code, and a table says which."""
    run = sample_run(tmp_path / "r")
    breaks = {policy: report_of(run, policy).agents[1] for policy in POLICIES}
    assert breaks["exclude"].n_scored == 1
    assert breaks["floor"].n_scored == breaks["baseline"].n_scored == 2
    assert breaks["floor"].means == breaks["baseline"].means
    failed = next(row for row in report_of(run).trials if row.record.outcome == "failed_tests")
    assert failed.score is not None
    assert failed.score.speedup == 1.0


def test_a_failed_trials_rounds_are_those_that_it_is_scored_with(tmp_path: Path) -> None:
    """Its own where it is slower than base; unchanged code's where it is faster, and where it gave no time."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1"], ["slow"])
    session = run.session("acme_fast_1", {"m.time_a": 4.0, "m.time_b": 2.0, "m.time_c": 1.0})
    run.trial(session, "command-slow", "failed_outputs", {"m.time_a": 2.0, "m.time_b": 0.5})
    report = report_of(run)
    (row,) = report.trials
    assert row.score is not None
    assert row.score.n_valid == 3
    assert row.score.speedup == pytest.approx(0.5 ** (1 / 3), rel=0.01)
    rounds = {each.workload: each.agent for each in Rounds(run.folder, "floor").of(row)}
    assert rounds == {"m.time_a": (0.0,) * 12, "m.time_b": rounds["m.time_b"], "m.time_c": (0.0,) * 12}
    assert rounds["m.time_b"] == pytest.approx([math.log(0.5)] * 12, abs=0.1)
    (agent,) = report.agents
    assert agent.intervals.speedup is not None
    assert agent.intervals.speedup.holds(row.score.speedup or 0.0)


@pytest.mark.parametrize("outcome", ["infra_error", "invalid_measurement"])
@pytest.mark.parametrize("policy", POLICIES)
def test_an_outage_is_never_a_number(tmp_path: Path, outcome: str, policy: FailurePolicy) -> None:
    """Under no policy: it is counted and left out."""
    run = sample_run(tmp_path / "r")
    key = TrialKey("acme_fast_2", "command-breaks", 1)
    record = run.folder.read_trial(key)
    assert record is not None
    write_record(run.folder.trial(key) / "trial.json", record.model_copy(update={"outcome": outcome}))
    breaks = report_of(run, policy).agents[1]
    assert breaks.n_scored == 1
    assert breaks.outcomes == {"measured": 1, outcome: 1}


def test_intervals_hold_the_means(tmp_path: Path) -> None:
    """And the agent that does nothing has an interval that holds 1."""
    report = report_of(sample_run(tmp_path / "r"))
    for agent in report.agents:
        overall, speedup = agent.intervals.at("overall"), agent.intervals.speedup
        assert overall is not None
        assert speedup is not None
        assert agent.means.advantage.value is not None
        assert overall.holds(agent.means.advantage.value)
    nothing = report.agents[2].intervals.speedup
    assert nothing is not None
    assert nothing.holds(1.0)


def test_the_same_folder_gives_the_same_report(tmp_path: Path) -> None:
    """To the last digit: nothing but the folder goes in."""
    run = sample_run(tmp_path / "r")
    page = tmp_path / "page"
    first, second = (json.dumps(as_json(report_of(run), page)) for _ in range(2))
    assert first == second


def test_the_control_arm_is_counted(tmp_path: Path) -> None:
    """Each base2 workload once, and how many of them were called changed."""
    run = sample_run(tmp_path / "r")
    control = report_of(run).control
    assert (control.workloads, control.false_positives) == (6, 0)
    assert control.said == "0 of 6 workloads (0.0 %)"
    assert ControlReport(0, 0, None).said == "not tested: nothing was measured"
    assert ControlReport(20, 0, 0.02, 3).said == "0 of 20 workloads (0.0 %); 3 more had too few rounds"
    assert ControlReport(0, 0, 0.02).said.startswith("not tested: too few rounds")
    assert control.half_width == pytest.approx(0.02, abs=0.001)


def test_ranks_ties_and_copies_stand_in_the_report(tmp_path: Path) -> None:
    """Best first; on two tasks all share a letter; the page and JSON have both; no agent is a copy."""
    run = sample_run(tmp_path / "r")
    report = report_of(run)
    ranked = report.board.ranked
    assert [agent.agent for agent in ranked] == ["command-good", "command-breaks", "command-nothing"]
    assert [agent.rank for agent in ranked] == [1, 2, 3]
    good, _, nothing = ranked
    assert {good.tie_group, nothing.tie_group} == {"a"}
    assert (good.span, good.heaviest, report.board.duplicates) == ((1, 1), 1.0, ())
    found = as_json(report, tmp_path)
    assert found["agreement"] == 1.0
    assert found["duplicates"] == []
    assert found["agents"][0]["tie_group"] == good.tie_group  # type: ignore[index, call-overload]


@pytest.mark.parametrize(("count", "letters"), [(5, {"a"}), (6, {"a", "b"})])
def test_of_few_tasks_nobody_is_told_apart(tmp_path: Path, count: int, letters: set[str]) -> None:
    """However far one is ahead: five tasks all agree in one of sixteen cases by chance alone."""
    tasks = [f"acme_fast_{number}" for number in range(count)]
    run = SampleRun(tmp_path / "r", tasks, ["good", "nothing"])
    for task in tasks:
        session = run.session(task, {"m.time_a": 2.0})
        for agent, ratio in (("command-good", 2.0), ("command-nothing", 1.0)):
            run.trial(session, agent, "measured", {"m.time_a": ratio})
    assert {agent.tie_group for agent in report_of(run).agents} == letters


def test_attempts_give_pass_at_k(tmp_path: Path) -> None:
    """Two attempts of which one is faster beyond its interval: pass@2 is 1, and with one attempt none is told."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1"], ["good"], n_attempts=2)
    session = run.session("acme_fast_1", {"m.time_a": 2.0})
    first = run.trial(session, "command-good", "measured", {"m.time_a": 1.5})
    assert report_of(run).agents[0].pass_at == {}
    second = first.model_copy(update={"attempt": 2, "outcome": "failed_tests"})
    write_record(run.folder.trial(TrialKey("acme_fast_1", "command-good", 2)) / "trial.json", second)
    (found,) = report_of(run).agents
    assert {k: (mean.value, mean.n) for k, mean in found.pass_at.items()} == {2: (1.0, 1)}
    assert found.pass_intervals == {2: None}


def test_an_outage_is_no_attempt(tmp_path: Path) -> None:
    """It is not complete, no failure among k attempts, and what it cost is not missing from the rest."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1"], ["good"], n_attempts=4)
    session = run.session("acme_fast_1", {"m.time_a": 2.0})
    first = run.trial(session, "command-good", "measured", {"m.time_a": 1.5})
    others: list[tuple[Outcome, float | None]] = [
        ("measured", 2.0),
        ("infra_error", None),
        ("invalid_measurement", 1.0),
    ]
    for number, (outcome, cost) in enumerate([("measured", 1.0), *others], 1):
        attempt(run, first, number, outcome, cost)
    report = report_of(run)
    (agent,) = report.agents
    assert report.n_complete == 3
    assert {k: (mean.value, mean.n) for k, mean in agent.pass_at.items()} == {2: (1.0, 1)}
    assert agent.cost_usd == 4.0
    assert agent.cost.mean_usd == pytest.approx(4.0 / 3.0)


@pytest.mark.parametrize("outage", [None, 0.01])
def test_what_an_outage_cost_is_no_price_of_an_attempt(tmp_path: Path, outage: float | None) -> None:
    """It is in what was spent; the mean, what a dollar buys and the Pareto front know attempts alone."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1"], ["dear", "cheap"], n_attempts=2)
    session = run.session("acme_fast_1", {"m.time_a": 1.2})
    trials: tuple[tuple[str, float, tuple[tuple[Outcome, float | None], ...]], ...] = (
        ("command-dear", 1.4, (("measured", 10.0), ("infra_error", outage))),
        ("command-cheap", 1.5, (("measured", 6.0), ("measured", 6.0))),
    )
    for agent, speed, attempts in trials:
        record = run.trial(session, agent, "measured", {"m.time_a": speed})
        for number, (outcome, cost) in enumerate(attempts, 1):
            attempt(run, record, number, outcome, cost)
    dear, cheap = report_of(run).agents
    assert dear.cost_usd == 10.0 + (outage or 0.0)
    assert dear.cost.mean_usd == 10.0
    assert dear.means.advantage.value is not None
    assert dear.cost.weighted == pytest.approx(dear.means.advantage.value / 10.0)
    assert (dear.cost.pareto, cheap.cost.pareto) == (False, True)


def test_the_pareto_front_is_of_the_attempts_that_have_a_score(tmp_path: Path) -> None:
    """Money for a task that could not be measured makes nobody dearer than who was measured nowhere else."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1", "acme_fast_2"], ["good", "worse"])
    for task, outcome, costs in (
        ("acme_fast_1", "measured", {"command-good": 1.0, "command-worse": 2.0}),
        ("acme_fast_2", "invalid_measurement", {"command-good": 9.0, "command-worse": 2.0}),
    ):
        session = run.session(task, {"m.time_a": 1.2})
        for agent, speed in (("command-good", 1.5), ("command-worse", 1.1)):
            record = run.trial(session, agent, "measured", {"m.time_a": speed})
            paid = record.model_copy(update={"outcome": outcome, "cost_usd": costs[agent]})
            write_record(run.folder.trial(TrialKey(task, agent, 1)) / "trial.json", paid)
    good, worse = report_of(run).agents
    assert (good.cost.mean_usd, worse.cost.mean_usd) == (5.0, 2.0)
    assert (good.cost.pareto, worse.cost.pareto) == (True, False)


def test_cost_and_advantage_are_of_the_same_tasks(tmp_path: Path) -> None:
    """A dear task without a score is in the mean cost, and not below an advantage that it has no part in."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1", "acme_fast_2"], ["good"])
    for task, outcome, cost in (("acme_fast_1", "measured", 1.0), ("acme_fast_2", "invalid_measurement", 9.0)):
        session = run.session(task, {"m.time_a": 1.2, "m.time_b": 1.2})
        record = run.trial(session, "command-good", "measured", {"m.time_a": 1.4, "m.time_b": 1.3})
        changed = record.model_copy(update={"outcome": outcome, "cost_usd": cost})
        write_record(run.folder.trial(TrialKey(task, "command-good", 1)) / "trial.json", changed)
    (agent,) = report_of(run).agents
    assert agent.cost.mean_usd == 5.0
    assert agent.cost.weighted == pytest.approx(agent.means.advantage.value)
    assert agent.cost.weighted_interval is not None
    assert agent.cost.weighted_interval.holds(agent.cost.weighted or 0.0)


@pytest.mark.parametrize("name", ["session.json", "measurements.jsonl"])
def test_a_score_without_its_session_is_an_error(tmp_path: Path, name: str) -> None:
    """It is neither left out nor given an interval that its mean has no part in; the line names what is missing."""
    run = sample_run(tmp_path / "r")
    (run.folder.session("acme_fast_1", 1) / name).unlink()
    with pytest.raises(TrialError, match=rf"acme_fast_1/.*{name}.* (is missing|lacks what the score rests on)"):
        report_of(run)


def test_a_score_without_its_own_launches_is_an_error(tmp_path: Path) -> None:
    """Those of one workload alone are enough."""
    run = sample_run(tmp_path / "r")
    path = run.folder.trial(TrialKey("acme_fast_1", "command-good", 1)) / "measurements.jsonl"
    write_measurements(path, [one for one in read_measurements(path) if one.workload != "bench_data.time_read"])
    with pytest.raises(TrialError, match=r"rests on: bench_data\.time_read in agent:command-good#1"):
        report_of(run)


def test_what_was_measured_again_has_cost_too(tmp_path: Path) -> None:
    """Two sessions of one task, of which the trial names the second."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1"], ["good"])
    session = run.session("acme_fast_1", {"m.time_a": 2.0})
    record = run.trial(session, "command-good", "measured", {"m.time_a": 1.5})
    shutil.copytree(run.folder.session("acme_fast_1", 1), run.folder.session("acme_fast_1", 2))
    again = session.model_copy(update={"session": 2})
    write_record(run.folder.session("acme_fast_1", 2) / "session.json", again)
    key = TrialKey("acme_fast_1", "command-good", 1)
    write_record(run.folder.trial(key) / "trial.json", record.model_copy(update={"session": 2}))
    report = report_of(run)
    assert (report.cost.wall_s, report.cost.launches) == (180.0, 84)
    assert report.sessions == (again,)


def test_trials_of_other_configurations_are_told_and_left_out(tmp_path: Path) -> None:
    """An agent, a task and an attempt that run.json does not know: in no table, on no plot, and named."""
    run = sample_run(tmp_path / "r")
    before = as_json(report_of(run), tmp_path)
    key = TrialKey("acme_fast_1", "command-good", 1)
    others = [replace(key, agent="command-new"), replace(key, task_id="acme_fast_9"), replace(key, attempt=2)]
    for other in others:
        shutil.copytree(run.folder.trial(key), run.folder.trial(other))
        record = run.folder.read_trial(other)
        assert record is not None
        write_record(run.folder.trial(other) / "trial.json", record.model_copy(update=asdict(other)))
    report = report_of(run)
    named = ["acme_fast_1 command-good#2", "acme_fast_1 command-new#1", "acme_fast_9 command-good#1"]
    assert as_json(report, tmp_path) == before | {"left_out": named}
    words = f"left out, as run.json does not ask for it: 3 trials: {', '.join(named)}"
    assert report.left_out == words
    assert words.replace("'", "&#39;") in render(report, NOW)


def test_trials_that_were_not_measured_are_told_with_a_way_out(tmp_path: Path) -> None:
    """An outage of the machine is no answer: the reader is told which, and what to do."""
    run = sample_run(tmp_path / "r")
    assert report_of(run).unmeasured is None
    path = run.folder.trial(TrialKey("acme_fast_1", "command-good", 1))
    record = run.folder.read_trial(TrialKey("acme_fast_1", "command-good", 1))
    assert record is not None
    noisy = {"outcome": "invalid_measurement", "reason": "5 of 6 workloads were disturbed"}
    write_record(path / "trial.json", record.model_copy(update=noisy))
    words = "not measured, and in no score: 1 trial: acme_fast_1 command-good#1; run their tasks again"
    report = report_of(run)
    assert (report.unmeasured or "").startswith(words) and words in render(report, NOW)
    assert report.progress == (
        "6 of 6 trials complete, that is over: 1 failed_tests, 1 invalid_measurement, 4 measured"
    )
    assert "1 invalid measurement, 4 measured." in render(report, NOW)


def test_an_unfinished_run_has_a_report(tmp_path: Path) -> None:
    """Of what is complete; missing values are null in JSON."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1"], ["good"])
    found = as_json(report_of(run), tmp_path)
    assert (found["n_complete"], found["n_expected"]) == (0, 1)
    assert report_of(run).progress == "0 of 1 trials complete"
    agents = found["agents"]
    assert isinstance(agents, list)
    assert isinstance(agents[0], dict)
    assert agents[0]["advantage"] is None
    assert agents[0]["speedup_interval"] is None


def test_a_run_by_the_references_definitions(tmp_path: Path) -> None:
    """Ratios of medians over all samples, failed trials at 1.0, levels by number; asv's test beside ours."""
    run = sample_run(tmp_path / "r")
    good, breaks, nothing = reference_report(run.folder, report_of(run))
    assert (good.agent, good.n, good.workloads) == ("command-good", 2, 6)
    assert good.speedup == pytest.approx((1.5 * 1.8) ** (1 / 3), rel=0.01)
    assert good.levels["L4"] == pytest.approx(report_of(run).agents[0].means.advantage.value, abs=0.02)
    assert good.levels["L1"] == pytest.approx(report_of(run).agents[0].means.by_level["module"].value, abs=0.02)
    assert breaks.speedup == pytest.approx((1 + (0.8 * 3.0 * 1.1) ** (1 / 3)) / 2, rel=0.01)
    assert (good.asv_changed, good.changed) == (4, 4)
    assert (nothing.asv_changed, nothing.changed) == (0, 0)
    assert good.cost_weighted is None
    found = json.loads(json.dumps(reference_as_json([good])))
    assert found[0]["levels"].keys() == {"L1", "L2", "L3", "L4"}


def test_an_agent_that_was_never_measured_has_no_figures_of_the_reference(tmp_path: Path) -> None:
    """An outage, or no trial at all, is neither as fast as base nor on a par with the expert."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1"], ["out", "absent"])
    session = run.session("acme_fast_1", {"m.time_a": 2.0})
    run.trial(session, "command-out", "infra_error")
    for agent in reference_report(run.folder, report_of(run)):
        (found,) = json.loads(json.dumps(reference_as_json([agent])))
        assert set(found.pop("levels").values()) == {None}
        counts = {name: found.pop(name) for name in ("n", "workloads", "changed", "asv_changed")}
        assert set(counts.values()) == {0}
        assert found == {"agent": agent.agent} | dict.fromkeys(("speedup", "geometric_advantage", "cost_weighted"))


def test_asv_is_asked_of_the_workloads_that_have_a_ratio(tmp_path: Path) -> None:
    """One has samples enough for asv's test, but no ratio: it is none of those that are counted."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1"], ["good"])
    session = run.session("acme_fast_1", dict.fromkeys(["m.time_a", "m.time_b"], 2.0))
    record = run.trial(session, "command-good", "measured", dict.fromkeys(["m.time_a", "m.time_b"], 1.5))
    assert record.ratios is not None
    first, second = record.ratios.workloads
    disturbed = second.model_copy(update={"ratio": None, "changed": False, "reason": "invalid_measurement"})
    one = {"speedup": first.ratio, "low": first.low, "high": first.high}
    ratios = record.ratios.model_copy(update={"workloads": (first, disturbed), **one})
    place = run.folder.trial(TrialKey("acme_fast_1", "command-good", 1))
    write_record(place / "trial.json", record.model_copy(update={"ratios": ratios}))
    (good,) = reference_report(run.folder, report_of(run))
    assert (good.asv_changed, good.changed, good.workloads) == (1, 1, 1)


def test_an_agent_chooses_no_rounds_for_the_reference_either(tmp_path: Path) -> None:
    """Its slow launches are disturbed, those of merged code are not: it did that itself, and they count."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1"], ["good"])
    run.trial(run.session("acme_fast_1", {"m.time_a": 2.0}), "command-good", "measured", {"m.time_a": 4.0})
    (quick,) = reference_report(run.folder, report_of(run))
    place = run.folder.trial(TrialKey("acme_fast_1", "command-good", 1)) / "measurements.jsonl"
    launches = read_measurements(place)
    slow = [replace(each, samples=tuple(4 * sample for sample in each.samples), noisy=True) for each in launches]
    write_measurements(place, [each for pair in zip(slow, launches, strict=True) for each in pair])
    (found,) = reference_report(run.folder, report_of(run))
    assert quick.speedup == pytest.approx(4.0, rel=0.02)
    assert found.speedup == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize(("n", "differs"), [(0, False), (1, False), (5, True), (6, False), (7, True)])
def test_asvs_test_is_asvs_own(n: int, differs: bool) -> None:
    """Five samples that are apart differ by their intervals, six never do (asv's own slip), seven by the test."""
    first = [1.0 + 0.001 * number for number in range(n)]
    assert asv_differs(first, [2 * sample for sample in first]) is differs
