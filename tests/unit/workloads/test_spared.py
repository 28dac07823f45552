"""Whose claim is settled on other inputs is spared the audit, and gains nothing by it, whatever it does."""

import json
import math
import random
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from datasmith.docker.engine import ExecResult
from datasmith.evaluation.outcome import after_timing
from datasmith.workloads.base import (
    AUDIT_ROUNDS,
    BASE,
    CONTROL,
    EMPTY_ROUND,
    EXPERT,
    FULL_ROUND,
    Measurement,
    Workload,
    agent_arm,
)
from datasmith.workloads.clocked import CLOCKED_ROUND
from datasmith.workloads.fresh import FRESH_ROUND
from datasmith.workloads.measure import Measured, measure
from datasmith.workloads.plan import MeasurePlan
from datasmith.workloads.summary import by_workload, is_settled, know_expert, summarise

from .simulated import Request, SimulatedContainer
from .test_fresh import AGENT, about, run, stored

TRULY_S, SHOWN_S = 3e-3, 1.02e-3
"""What the second workload's calls take an arm that says that they take as long as base's."""
OTHER = agent_arm("other#1")


def made(measured: Measured, arm: str, *, audits: bool) -> int:
    """How often an arm was launched to check its clock: in the rounds' way, or between marks."""
    rounds = [launch.round for launch in measured.measurements if launch.arm == arm]
    return sum(number in AUDIT_ROUNDS if audits else number <= CLOCKED_ROUND for number in rounds)


def test_what_was_stored_is_asked_between_marks_alone() -> None:
    """It counts as base, by a clock that ours agrees with: what it says in the rounds is no matter."""
    measured = run(stored())
    assert measured.summaries[AGENT].workloads[0].ratio == pytest.approx(1, rel=0.05)
    assert (made(measured, AGENT, audits=False), made(measured, AGENT, audits=True)) == (2, 0)


def test_half_of_a_claim_that_was_stored_is_asked_for_both() -> None:
    """What is left of it counts."""
    measured = run(SimulatedContainer(about(1e-4, 4), fresh=about(5e-4, 54)))
    assert measured.summaries[AGENT].workloads[0].ratio == pytest.approx(2, rel=0.05)
    assert made(measured, AGENT, audits=False) >= 2 and made(measured, AGENT, audits=True) >= 8


def test_the_clock_of_what_computes_something_else_is_not_audited() -> None:
    """It has failed, wherever else it is faster."""
    wrong = run(SimulatedContainer(about(1e-4, 4), clocked=lambda: 2.0))
    assert made(wrong, AGENT, audits=True) == 0


@dataclass
class Two(SimulatedContainer):
    """Two workloads, each of which behaves in its own way."""

    by_name: dict[str, SimulatedContainer] = field(default_factory=dict)

    def exec(self, argv: Any, **given: Any) -> ExecResult:
        """See Container."""
        return self.by_name[json.loads(given["stdin"])["name"]].exec(argv, **given)


@dataclass
class Sleepy(SimulatedContainer):
    """Some launches of the rounds sleep outside their calls, so that others seem to scatter as much as they lack."""

    launches: int = 0

    def exec(self, argv: Any, **given: Any) -> ExecResult:
        """See Container."""
        request, done = json.loads(given["stdin"]), super().exec(argv, **given)
        self.launches += bool(request["number"] and not request["fresh"])
        is_sleepy = request["number"] and not request["fresh"] and self.launches % 6 == 3
        return replace(done, wall_s=done.wall_s + 12.0) if is_sleepy else done


def two(first_s: float, second: float | SimulatedContainer, seed: int) -> Two:
    other = second if isinstance(second, SimulatedContainer) else SimulatedContainer(about(second, seed + 100))
    first = SimulatedContainer(about(first_s, seed))
    return Two(about(first_s, seed), by_name={"m.time_a": first, "m.time_b": other})


@pytest.mark.parametrize("claimed_s", [1e-4, 1e-3])
@pytest.mark.parametrize("kind", [SimulatedContainer, Sleepy])
def test_to_count_as_base_is_no_way_out_for_what_is_slower(kind: type[SimulatedContainer], claimed_s: float) -> None:
    """Twice as fast in one workload, at three times the price in another, whose clock tells of none."""

    def shown(request: Request) -> float | None:
        return about(SHOWN_S, 9)(request) if request["fresh"] else None

    lying = kind(about(TRULY_S, 4), claims=claimed_s / TRULY_S, fresh=shown, hidden_s=TRULY_S - SHOWN_S)
    arms = {
        BASE: two(1e-3, 1e-3, 1),
        CONTROL: two(1e-3, 1e-3, 2),
        EXPERT: two(5e-4, 7e-4, 3),
        AGENT: two(5e-4, lying, 5),
    }
    workloads = [Workload("m.time_a", "time"), Workload("m.time_b", "time")]
    measured = measure(
        arms, workloads, MeasurePlan(seed=1), benchmark_dir="b", sink=lambda _: None, outputs=True,
        lottery=random.Random(1),
    )  # fmt: skip
    summaries = measured.summaries
    ending = after_timing(summaries[AGENT], summaries[EXPERT], summaries[CONTROL])
    assert ending.outcome in {"tampered_or_unreliable", "invalid_measurement"}
    assert "claimed" in (ending.reason or "")


@pytest.mark.parametrize("claims", [1.0, 0.5])
def test_what_is_slower_between_marks_counts_so(claims: float) -> None:
    """A cache in the rounds, as base where single calls are looked at, and three times as slow where nobody looks."""

    def takes(request: Request) -> float | None:
        if not isinstance(request["fresh"], dict):
            return None
        return about(TRULY_S if request["fresh"]["kind"] == "clocked" else SHOWN_S, 9)(request)

    measured = run(SimulatedContainer(about(1e-4, 4), claims=claims, fresh=takes))
    (row,) = measured.summaries[AGENT].workloads
    assert (row.ratio or 0.0) < 0.5, row
    assert row.ratio or (row.reason or "").startswith("tampered_or_unreliable")


def test_more_samples_than_were_asked_for_are_no_reply() -> None:
    """As many calls in all, but most of the samples: what is a median of all of them would be theirs to choose."""

    def many(request: Request) -> ExecResult | None:
        if not request["number"] or request["fresh"]:
            return None
        calls = int(str(request["number"])) * int(str(request["repeat"]))
        said = {"samples": [1e-4] * calls, "number": 1, "run_s": 1e-4 * calls, "setup_s": 0.0}
        own = {"number": 0, "repeat": 0, "warmup_time": -1}
        output = json.dumps({**said, "own": own}).encode()
        return ExecResult(0, output, b"", 0.15 + 1e-4 * calls, 0.14, timed_out=False)

    (row,) = run(SimulatedContainer(about(1e-4, 4), reply=many)).summaries[AGENT].workloads
    assert row.ratio is None and (row.reason or "").startswith("tampered_or_unreliable: 10 samples of ")


def test_a_claim_that_is_no_longer_refuted_does_not_count_unchecked() -> None:
    """The audit of another arm shows that this one disturbs itself: other rounds of it count, and claim less.

    What is left then is not refuted any more; nobody has checked its clock.
    """
    ended = [settled_and_again(seed) for seed in range(60)]
    later = [reason for was_settled, ratio, reason in ended if was_settled and ratio is None]
    assert later and all((reason or "").startswith("invalid_measurement: the arm's clock") for reason in later)
    assert all(ratio is None or ratio < 1.05 for was_settled, ratio, _ in ended if was_settled)


def settled_and_again(seed: int) -> tuple[bool, float | None, str | None]:
    """Whether a claim is settled when other inputs were tried, and what counts when another arm was audited."""
    source = np.random.default_rng(seed)
    launches: list[Measurement] = []

    def add(arm: str, number: int, seconds: float, *, noisy: bool = False) -> None:
        sample = seconds * math.exp(source.normal(0, 0.04)) if number != EMPTY_ROUND else seconds
        launches.append(Measurement("m.time_x", arm, number, (sample,), 1, 0.3, 0.3, 0, noisy))

    for number in range(-1, 12):
        for arm, seconds in ((BASE, 1e-3), (CONTROL, 1e-3), (EXPERT, 7e-4), (OTHER, 5e-4)):
            add(arm, number, seconds)
        is_disturbed = number in {0, 2, 4, 7, 9, 10}
        if is_disturbed:
            add(AGENT, number, 1e-3 / 1.15, noisy=True)
        add(AGENT, number, 1e-3 / 1.15 if number in {1, 3} else 1e-4)
    for number in range(6):
        for arm, seconds in ((BASE, 1e-3), (EXPERT, 7e-4), (AGENT, 1.03e-3)):
            add(arm, FRESH_ROUND - number, seconds)
    for _ in range(2):
        add(CONTROL, 12, 1e-3, noisy=True)
    known = by_workload(launches)
    know_expert(known)
    was_settled = is_settled(known["m.time_x"], AGENT)
    for _ in range(8):
        for arm in (BASE, OTHER):
            add(arm, FULL_ROUND, 1e-3)
            add(arm, EMPTY_ROUND, 1e-8)
    (row,) = summarise(launches, seed=1)[AGENT].workloads
    return was_settled, row.ratio, row.reason


def test_who_is_spared_has_a_clock_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settled by launches whose own clock nobody could check, it is audited like anybody."""
    monkeypatch.setattr("datasmith.workloads.clocked.FEWEST", 1000)
    monkeypatch.setattr("datasmith.workloads.clocked.ENOUGH", 1000)
    lying = SimulatedContainer(about(1e-4, 4), fresh=about(1e-3, 54), hidden_s=2e-4)
    measured = run(lying)
    assert made(measured, AGENT, audits=True) >= 8
