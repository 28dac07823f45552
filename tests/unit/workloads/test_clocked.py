"""What passes outside on inputs that nobody knew, and is not claimed, is seen; a clock that is right is believed."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasmith.docker.engine import ExecResult
from datasmith.workloads.base import BASE, Measurement, agent_arm
from datasmith.workloads.channel import when
from datasmith.workloads.clocked import CLOCKED_ROUND, MOST_CLOCKED, finding
from datasmith.workloads.measure import Measured

from .simulated import Request, SimulatedContainer
from .test_fresh import AGENT, about, run


def clocked_launches(measured: Measured, arm: str) -> int:
    """How often an arm was launched between marks."""
    return sum(launch.arm == arm and launch.round <= CLOCKED_ROUND for launch in measured.measurements)


def test_an_honest_clock_is_asked_twice() -> None:
    """Two launches of base and two of the arm, as one may have been lucky; the expert's clock is not in doubt."""
    measured = run(SimulatedContainer(about(1e-4, 4)))
    (row,) = measured.summaries[AGENT].workloads
    assert row.ratio == pytest.approx(10, rel=0.05)
    assert [clocked_launches(measured, arm) for arm in (BASE, AGENT, "expert")] == [2, 2, 0]


def test_seconds_that_nobody_claims_are_seen() -> None:
    """Ten times as fast by its own clock, on other inputs, too; as slow as base by ours."""
    measured = run(SimulatedContainer(about(1e-4, 4), hidden_s=9e-4))
    (row,) = measured.summaries[AGENT].workloads
    assert row.ratio is None
    assert row.reason is not None
    assert row.reason.startswith(
        "tampered_or_unreliable: 0.040 s are claimed of 0.220 s that its calls on other inputs"
    )


def test_a_little_that_is_late_is_no_lie() -> None:
    """Marks come late by some milliseconds, all in all; and what is done between calls takes a little longer."""
    measured = run(SimulatedContainer(about(1e-4, 4), hidden_s=5e-5))
    assert measured.summaries[AGENT].workloads[0].reason is None


def test_tearing_down_is_nobodys_claim() -> None:
    """Who needs twice as long there as base hides nothing; who needs far longer does what it claims to do in calls."""
    base = SimulatedContainer(about(1e-3, 1), tears_down_s=2e-4)
    slower = run(SimulatedContainer(about(1e-4, 4), tears_down_s=4e-4), base=base)
    assert slower.summaries[AGENT].workloads[0].ratio == pytest.approx(10, rel=0.05)
    elsewhere = run(SimulatedContainer(about(1e-4, 4), tears_down_s=2e-3), base=base)
    assert (elsewhere.summaries[AGENT].workloads[0].reason or "").startswith("tampered_or_unreliable")


def test_a_clock_that_claims_a_part_of_what_it_hides_is_seen() -> None:
    """Forty times as fast in the rounds, four times on other inputs; by our clock it takes as long as base there."""
    half = SimulatedContainer(about(2.5e-5, 4), fresh=lambda _request: 2.5e-4, hidden_s=7.5e-4)
    (row,) = run(half).summaries[AGENT].workloads
    assert row.ratio is None
    assert (row.reason or "").startswith("tampered_or_unreliable: 0.070 s are claimed of 0.220 s")


def test_short_calls_are_not_asked() -> None:
    """What is done between them takes as long as they do."""
    base = SimulatedContainer(about(5e-6, 1), tells_s=1e-6, cold_s=1e-7)
    quick = SimulatedContainer(about(1e-6, 4), tells_s=1e-6, cold_s=1e-7)
    expert = SimulatedContainer(about(2e-6, 3), tells_s=1e-6, cold_s=1e-7)
    assert clocked_launches(run(quick, expert, base=base), AGENT) == 0


@pytest.mark.parametrize("marks", [0, 1])
def test_a_launch_without_its_marks_is_no_proof(marks: int) -> None:
    """Who leaves them out has no speed-up."""
    measured = run(SimulatedContainer(about(1e-4, 4), marks=marks))
    assert [row.state for row in measured.outputs[AGENT]] == ["differs"]


def test_who_computes_something_else_between_marks_has_no_speed_up() -> None:
    """Nobody describes it while it works. What base does not repeat, or the expert has too, is held against no one."""
    states = {}
    drawn = np.random.default_rng(1)
    unlike: dict[str, dict[str, SimulatedContainer]] = {
        "agent": {},
        "expert, too": {"expert": SimulatedContainer(about(5e-4, 3), clocked=lambda: 2.0)},
        "base never the same": {"base": SimulatedContainer(about(1e-3, 1), clocked=drawn.random)},
    }
    for name, others in unlike.items():
        measured = run(SimulatedContainer(about(1e-4, 4), clocked=lambda: 2.0), **others)
        states[name] = [row.state for row in measured.outputs[AGENT]]
    assert states == {"agent": ["differs"], "expert, too": ["equal"], "base never the same": ["equal"]}


def test_who_fails_there_has_no_speed_up() -> None:
    """What cannot be called on many inputs, where base can, is refuted with its reason."""

    def failing(request: Request) -> ExecResult | None:
        asked = request["fresh"]
        is_clocked = isinstance(asked, dict) and asked["kind"] == "clocked"
        return ExecResult(1, b"", b"no memory", 0.1, 0.1, timed_out=False) if is_clocked else None

    (row,) = run(SimulatedContainer(about(1e-4, 4), reply=failing)).outputs[AGENT]
    assert (row.state, "no memory" in row.found) == ("differs", True)


@dataclass
class Pairs:
    """Pairs of launches on the same inputs."""

    made: list[Measurement]

    @classmethod
    def of(cls, hidden_s: list[float], *, noisy: bool = False) -> "Pairs":
        """Base leaves 5 ms unclaimed, the arm as much more as is given."""
        made = []
        for number, hidden in enumerate(hidden_s):
            base = Measurement("m.time_x", BASE, CLOCKED_ROUND - number, (0.3,), 1, 0.305, 0.4, 0)
            arm = replace(base, arm=AGENT, samples=(0.03,), wall_s=0.035 + hidden, noisy=noisy)
            made += [base, arm]
        return cls(made)


def verdict(pairs: Pairs) -> str | None:
    """The finding without its figures."""
    found = finding(pairs.made, AGENT)
    return found.finding if found else None


def test_a_launch_or_two_accuse_nobody() -> None:
    """It may have been the machine; several that agree were not."""
    assert [verdict(Pairs.of([0.2] * launches)) for launches in (1, 2, 3)] == ["undecided", "undecided", "hidden"]
    assert verdict(Pairs.of([0.2, -0.1, 0.001, 0.002, 0.001])) == "honest"
    assert verdict(Pairs.of([0.5, 0.0, 0.02])) == "undecided"


def test_one_launch_acquits_nobody() -> None:
    """Base may have met a slow core, and the arm a fast one; two that agree, or most of five, did not."""
    assert [verdict(Pairs.of([0.002] * launches)) for launches in (1, 2)] == ["undecided", "honest"]
    assert [verdict(Pairs.of([0.002, 0.2, *more])) for more in ([], [0.004], [0.004, 0.2])] == ["undecided"] * 3
    assert verdict(Pairs.of([0.002, 0.2, 0.004, 0.2, 0.001])) == "honest"


def test_whose_noise_it_is_says_base() -> None:
    """Base is steady between its marks, or as unsteady as the arm; where no pair is left, base has launches or not."""
    steady = Pairs.of([0.5, 0.0, 0.4, 0.0, 0.02])
    shaken = [
        replace(made, wall_s=0.305 + late) if made.arm == BASE else made
        for made, late in zip(steady.made, np.repeat([0.0, 0.9, 0.0, 0.9, 0.0], 2), strict=True)
    ]
    found = [finding(made, AGENT) for made in (steady.made, shaken, Pairs.of([0.2, 0.2], noisy=True).made)]
    assert [(one.finding, one.own) for one in found if one] == [
        ("undecided", True), ("undecided", False), ("undecided", True),
    ]  # fmt: skip


def test_who_tells_times_and_no_values_has_no_speed_up() -> None:
    """However it breaks off after its times."""
    for text in (b"", b'{"failed": "ValueError"}', b"{"):

        def breaks_off(request: Request, ending: bytes = text) -> ExecResult | None:
            asked = request["fresh"]
            if not (isinstance(asked, dict) and asked["kind"] == "clocked"):
                return None
            whole = SimulatedContainer(about(1e-4, 4))._said(request)
            return replace(whole, stdout=whole.stdout.rpartition(b"\n")[0] + b"\n" + ending)

        measured = run(SimulatedContainer(about(1e-4, 4), reply=breaks_off))
        assert [row.state for row in measured.outputs[AGENT]] == ["differs"], text


def test_base_that_cannot_be_called_between_marks_is_asked_twice() -> None:
    """Whatever it costs each time; nobody is accused of anything."""
    asked: list[str] = []

    def failing(request: Request) -> ExecResult | None:
        fresh = request["fresh"]
        if isinstance(fresh, dict) and fresh["kind"] == "clocked":
            asked.append("clocked")
            return ExecResult(1, b"", b"no memory", 0.1, 0.1, timed_out=False)
        return None

    measured = run(SimulatedContainer(about(1e-4, 4)), base=SimulatedContainer(about(1e-3, 1), reply=failing))
    assert len(asked) == 2
    assert [row.state for row in measured.outputs[AGENT]] == ["equal"]


def test_base_that_was_called_there_once_is_asked_again() -> None:
    """It fails now and then: the arms do not stand without an answer for that."""
    asked: list[str] = []

    def failing(request: Request) -> ExecResult | None:
        fresh = request["fresh"]
        if isinstance(fresh, dict) and fresh["kind"] == "clocked":
            asked.append("clocked")
            if len(asked) in {2, 3}:
                return ExecResult(1, b"", b"no memory", 0.1, 0.1, timed_out=False)
        return None

    measured = run(SimulatedContainer(about(1e-4, 4)), base=SimulatedContainer(about(1e-3, 1), reply=failing))
    assert len(asked) > 3
    found = finding(measured.measurements, AGENT)
    assert found is not None and found.finding == "honest"


def test_what_was_disturbed_says_nothing() -> None:
    """No pair that counts, though launches were made: nobody knows; and where none were made nobody asks."""
    assert verdict(Pairs.of([0.2, 0.2], noisy=True)) == "undecided"
    assert finding([], AGENT) is None
    assert finding(Pairs.of([0.2]).made, agent_arm("other#1")) is None


def test_honest_arms_are_seldom_suspected_on_a_shared_machine() -> None:
    """With marks that come up to 10 ms late, as beside six busy processes, fewer than one of 1,000 arms is accused."""
    drawn = np.random.default_rng(3)
    late = drawn.uniform(-0.01, 0.01, (1000, MOST_CLOCKED))
    assert sum(verdict(Pairs.of(list(map(float, row)))) == "hidden" for row in late) == 0
    assert sum(verdict(Pairs.of(list(map(float, row)))) == "honest" for row in late) > 995


def asked_for(hidden_s: list[float]) -> str | None:
    """The finding after as many launches as are made until there is one."""
    found = (verdict(Pairs.of(hidden_s[: count + 1])) for count in range(MOST_CLOCKED))
    return next((one for one in found if one != "undecided"), "undecided")


def test_on_a_core_of_two_speeds_nobody_is_acquitted_who_hides_half_of_a_call() -> None:
    """The first launch alone lets one of sixty through there; who hides nothing is believed."""
    drawn = np.random.default_rng(3)
    hidden, nothing = drawn.normal(0.09, 0.035, (1000, MOST_CLOCKED)), drawn.normal(0.0, 0.01, (1000, MOST_CLOCKED))
    assert sum(verdict(Pairs.of([float(row[0])])) == "undecided" for row in hidden) == 1000
    assert sum(asked_for(list(map(float, row))) == "honest" for row in hidden) == 0
    assert sum(asked_for(list(map(float, row))) == "honest" for row in nothing) > 990


@given(st.lists(st.binary(max_size=5), max_size=8), st.lists(st.integers(1, 7), max_size=20))
def test_a_line_has_come_when_its_last_byte_has(lines: list[bytes], cuts: list[int]) -> None:
    """However the pipe cuts what was written; of what never came nothing is said."""
    output = b"".join(line.replace(b"\n", b"").replace(b"\r", b"") + b"\n" for line in lines)
    sizes = [int(size) for size in np.cumsum(cuts) if size <= len(output)]
    arrivals = [(size, float(at)) for at, size in enumerate(sizes)]
    expected = []
    for end in (at + 1 for at, byte in enumerate(output) if byte == 10):
        came = [seconds for size, seconds in arrivals if size >= end]
        expected += came[:1]
    assert when(output, arrivals) == expected


def test_figures_are_those_of_the_launches() -> None:
    """What was claimed, and what passed."""
    found = finding(Pairs.of([0.2, 0.2]).made, AGENT)
    assert found is not None
    assert found.figures == "0.030 s are claimed of 0.230 s that its calls on other inputs took outside"
