"""How a trial ended: exactly one outcome, decided from recorded evidence by a pure function."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict

from datasmith.agents.coding.trajectory import TrajectoryStep
from datasmith.counted import counted
from datasmith.tasks.certificate import ArmSummary, WorkloadRatio
from datasmith.tasks.policy import GuardVerdict
from datasmith.tasks.quantities import Count, Dollars, Seconds
from datasmith.workloads.launch import TAMPERED
from datasmith.workloads.summary import INVALID, OWN_NOISE, UNCHECKED
from datasmith.workloads.watch import OutputRow, OutputState

Outcome = Literal[
    "measured",
    "failed_tests",
    "failed_outputs",
    "no_patch",
    "agent_timeout",
    "agent_error",
    "refused_patch",
    "tampered_or_unreliable",
    "invalid_measurement",
    "infra_error",
]
EXCLUDED: frozenset[Outcome] = frozenset({"infra_error", "invalid_measurement"})
"""Says nothing about the agent: retried, then left out under every policy, and counted."""
ENOUGH_SESSIONS = 2
"""Who cannot be checked in so many, the last time for noise of its own, is unreliable."""
SHOWN = 5
"""At most this many tests or workloads are named in a reason."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class AgentFacts(_Frozen):
    """trajectory.json: what is known of an agent's work. Unknown usage is None.

    `stopped_by` is the budget that ended the work, which counts as far as it went; `outage` is what was wrong with the
    model where that ended it.
    """

    wall_s: Seconds
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost_usd: Dollars | None = None
    failure: str | None = None
    timed_out: bool = False
    measure_empty: bool = False
    """The empty patch is this agent's answer, to be measured; any other agent's empty patch is a failure."""
    stopped_by: str | None = None
    outage: str | None = None
    steps: tuple[TrajectoryStep, ...] = ()

    def after(self, earlier: Self | None) -> Self:
        """The same with what an earlier try of the same work has used, which an outage ended: it was paid for."""
        if earlier is None or not (earlier.steps or earlier.cost_usd or earlier.input_tokens):
            return self
        names = ("input_tokens", "output_tokens", "cost_usd")
        both = {name: (getattr(self, name), getattr(earlier, name)) for name in names}
        return self.model_copy(update={name: None if None in each else sum(each) for name, each in both.items()})


class TestFacts(_Frozen):
    """tests.json: what the host saw of the patched tree. `failed` are the expected tests that did not pass.

    `built` is False where the patch did not apply or the patched tree did not build; `problem` says which, and why.
    `broken` counts tests that the host made fail in a run of its own; `forged` are those that were reported as passed.
    """

    __test__ = False

    built: bool
    expected: Count
    failed: tuple[str, ...] = ()
    timed_out: bool = False
    problem: str | None = None
    broken: Count = 0
    forged: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True where the patched tree may be measured."""
        return self.built and not self.failed and not self.timed_out and not self.forged and self.expected > 0


class OutputFacts(_Frozen):
    """outputs.json: of each workload, whether the patched tree computes what base does."""

    workloads: tuple[OutputRow, ...]

    @property
    def counts(self) -> Mapping[OutputState, int]:
        """Workloads by state."""
        return Counter(row.state for row in self.workloads)


@dataclass(frozen=True, slots=True)
class Ending:
    """An outcome and, unless it is simply `measured`, why."""

    outcome: Outcome
    reason: str | None = None


def with_budget(ending: Ending, facts: AgentFacts | None) -> Ending:
    """The ending, and where a budget stopped the agent its reason says so first."""
    if facts is None or facts.stopped_by is None:
        return ending
    said = f"stopped by {facts.stopped_by}"
    return Ending(ending.outcome, f"{said}; {ending.reason}" if ending.reason else said)


def before_tests(facts: AgentFacts, patch: str, guard: GuardVerdict) -> Ending | None:
    """How the trial ended where its patch is not even applied; None where it is to be tested."""
    if facts.outage:
        return Ending("infra_error", facts.outage)
    if facts.timed_out:
        return Ending("agent_timeout", f"still at work after {facts.wall_s:.0f} s")
    if facts.failure:
        return Ending("agent_error", facts.failure)
    if not patch.strip():
        return None if facts.measure_empty else Ending("no_patch", "nothing was changed")
    return None if guard.allowed else Ending("refused_patch", guard.text)


def before_timing(tests: TestFacts) -> Ending | None:
    """How the trial ended where its tree is not timed; None where it is."""
    if not tests.built:
        return Ending("failed_tests", tests.problem or "the patched tree does not build")
    if tests.timed_out:
        return Ending("failed_tests", tests.problem or "the tests ran into their time limit")
    if tests.ok:
        return None
    if tests.forged:
        lie = f"of {tests.broken} tests that the host broke are reported as passed: {named(tests.forged)}"
        return Ending("tampered_or_unreliable", f"{len(tests.forged)} {lie}")
    if tests.expected == 0:
        return Ending("infra_error", "the task expects no test to pass")
    return Ending("failed_tests", f"{len(tests.failed)} of {tests.expected}: {named(tests.failed)}")


def after_outputs(outputs: OutputFacts) -> Ending | None:
    """How the trial ended where it computes something else than base; None where it does not, so far as was seen."""
    unlike = [row for row in outputs.workloads if row.state == "differs"]
    if not unlike:
        return None
    first = unlike[0]
    where = f" at {first.path}" if first.path else ""
    names = named([row.workload for row in unlike])
    return Ending(
        "failed_outputs",
        f"{len(unlike)} of {len(outputs.workloads)} workloads compute something else: {names}:"
        f" {first.found}{where} instead of {first.expected}",
    )


def after_timing(agent: ArmSummary, expert: ArmSummary, control: ArmSummary) -> Ending:
    """The outcome of a trial that was timed.

    A workload that yields a time in base, base2 and expert, and none after the patch, is broken by the patch: were it
    left out, breaking the slow ones would pay. One that only noise took away is left out; where noise took most of
    them, nothing can be said. Nor can it where a clock could not be checked: a patch can make noise of its own in the
    workloads that it would rather not show.
    """
    reasons = {row.workload: row.reason or "no usable rounds" for row in agent.workloads if row.ratio is None}
    tampered = [name for name, reason in reasons.items() if reason.startswith(TAMPERED)]
    if tampered:
        return Ending("tampered_or_unreliable", f"{named(tampered)}: {reasons[tampered[0]]}")
    unchecked = [name for name, reason in reasons.items() if reason.startswith(UNCHECKED)]
    unchecked.sort(key=lambda name: not reasons[name].startswith(OWN_NOISE))
    if unchecked:
        return Ending("invalid_measurement", f"{named(unchecked)}: {reasons[unchecked[0]]}")
    healthy = {row.workload for row in expert.valid} & {row.workload for row in control.valid}
    if not healthy:
        return Ending(
            "invalid_measurement", f"no workload has a time in all of base, base2 and expert{_first(expert, control)}"
        )
    disturbed = {
        row.workload
        for arm in (agent, expert, control)
        for row in arm.workloads
        if (row.reason or "").startswith(INVALID)
    }
    lost = sorted(healthy - {row.workload for row in agent.valid})
    broken = [name for name in lost if not reasons.get(name, "").startswith(INVALID)]
    if broken:
        why = reasons.get(broken[0], "not launched")
        return Ending(
            "failed_outputs", f"{len(broken)} of {len(healthy)} workloads give no time: {named(broken)}: {why}"
        )
    if 2 * len(disturbed) > len(healthy | disturbed):
        return Ending("invalid_measurement", f"{len(disturbed)} of {len(healthy | disturbed)} workloads were disturbed")
    stored = refuted(agent)
    if stored:
        first = stored[0]
        names = named([row.workload for row in stored])
        fell = f"{first.repeated:.2f} on the suite's inputs, {first.ratio:.2f} on others"
        return Ending(
            "measured", f"{counted(len(stored), 'workload')} faster only on inputs of the suite: {names}: {fell}"
        )
    return Ending("measured")


def refuted(agent: ArmSummary) -> list[WorkloadRatio]:
    """The workloads that an arm is faster in only on the suite's own inputs: it is gone on others."""
    return [row for row in agent.valid if row.repeated is not None]


def is_own_noise(ending: Ending) -> bool:
    """True where a patch could not be decided as its own code scatters: it is timed in another session."""
    return ending.outcome == "invalid_measurement" and OWN_NOISE in (ending.reason or "")


def settled(ending: Ending, sessions: int) -> Ending:
    """The ending of a trial that was timed in so many sessions, the last of which ended so.

    Code may scatter by chance, and is measured again for that. Were it left out for good, a patch that makes noise
    would never be worse than one that does nothing.
    """
    if is_own_noise(ending) and sessions >= ENOUGH_SESSIONS:
        return Ending("tampered_or_unreliable", f"{ending.reason}, in {sessions} sessions")
    return ending


def _first(*arms: ArmSummary) -> str:
    """The first reason among workloads without a ratio, to be put behind a sentence."""
    rows = [row for arm in arms for row in arm.workloads if row.reason]
    return f": {rows[0].workload}: {(rows[0].reason or '').removeprefix(f'{INVALID}: ')}" if rows else ""


def named(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
