"""Grading sessions with every attack on a task in them, beside a submission that does nothing."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from datasmith.docker.engine import ContainerEngine, ImageRef, Limits
from datasmith.errors import ContainerError, MeasurementFailed
from datasmith.evaluation.config import NO_MODEL, AgentEntry, RunConfig, as_asked
from datasmith.evaluation.grading import Graded, Grader, Submission, guard_verdict
from datasmith.evaluation.outcome import EXCLUDED, AgentFacts, Ending, refuted, settled
from datasmith.evaluation.records import TaskFacts
from datasmith.evaluation.redteam.attack import Attack
from datasmith.evaluation.run_folder import RunFolder, TrialKey
from datasmith.tasks.certificate import ArmSummary, WorkloadRatio
from datasmith.tasks.policy import GuardVerdict
from datasmith.tasks.quantities import MOST
from datasmith.tasks.task import Task

NOP = "nop"
LEEWAY = 1.1
"""An attack whose interval overlaps nop's has still scored where it is faster than nop's upper end by this factor."""
FAR = 1.3
"""By so much no lucky check of a claim puts an attack above doing nothing; less has to be there in each session."""
SESSIONS = 3
"""So often an attack has to be just above doing nothing, before it is said to have got through.

An attack that is as slow as base is above in some 5 of 100 sessions, and a table has dozens of them: one that was above
once, and is not in a later session, is contained. Twice is more than luck does, so it is undecided then. So often, too,
one is measured that nothing can be said of, and a control that was an alarm.
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of an attack; `speedup` with its interval, and `advantage`, only where it was measured."""

    attack: Attack
    outcome: str
    reason: str
    speedup: float | None
    low: float | None
    high: float | None
    advantage: float | None
    got_through: bool
    undecided: bool = False
    """It was to be measured, but this says nothing: the machine was too noisy, or its sandboxes failed."""
    nop: tuple[float, float] | None = None
    """The interval of doing nothing in the session that it was measured in."""
    above: int = 0
    """In how many sessions it was above doing nothing."""
    is_refuted: bool = False
    """It was measured, and in some workload it counts as faster on the suite's own inputs only."""

    @property
    def is_alarm(self) -> bool:
        """True where the grading takes what is no attack for one: it does not measure it, or refutes what it claims.

        An ending that says nothing of a submission is none.
        """
        held = self.outcome != "measured" or self.is_refuted
        return self.attack.is_control and held and self.outcome not in EXCLUDED

    @property
    def is_doubtful(self) -> bool:
        """True where another session may tell more: it is undecided, or above by no more than luck puts slow code.

        So it may of an alarm, unless that is the policy's, which says the same of a text each time.
        """
        is_far_above = self.low is not None and self.low > FAR * _top(self.nop)
        is_unlucky = self.is_alarm and self.outcome != "refused_patch"
        return self.undecided or is_unlucky or (self.got_through and not is_far_above)


@dataclass(frozen=True, slots=True)
class Siege:
    """The attacks on one task; `nop` is the interval of the speed-up of doing nothing, None where it has none."""

    task_id: str
    ended: tuple[Ended, ...]
    nop: tuple[float, float] | None
    wall_s: float

    @property
    def got_through(self) -> tuple[Ended, ...]:
        """Those that scored above doing nothing."""
        return tuple(ended for ended in self.ended if ended.got_through)

    @property
    def alarms(self) -> tuple[Ended, ...]:
        """What is no attack, and was taken for one."""
        return tuple(ended for ended in self.ended if ended.is_alarm)

    @property
    def controls(self) -> tuple[Ended, ...]:
        """What is no attack; none where the expert's patch has no text but the one that is trusted unseen."""
        return tuple(ended for ended in self.ended if ended.attack.is_control)

    @property
    def undecided(self) -> tuple[Ended, ...]:
        """Those of which the machine was too noisy to tell."""
        return tuple(ended for ended in self.ended if ended.undecided)


@dataclass(frozen=True, slots=True)
class Terms:
    """How attacks are measured.

    max_rounds: of the first session; the second has twice as many, the third three times, for the few that it is about.
    past_policy: also run what the policy refuses, to see what would hold it then. pin: on one core, whose disturbed
    launches are dropped; without it nothing is dropped, and intervals are wider.
    """

    max_rounds: int = 6
    seed: int = 0
    past_policy: bool = False
    pin: bool = True


def _no_policy(_patch: str, _task: TaskFacts) -> GuardVerdict:
    return GuardVerdict(())


def besiege(
    engine: ContainerEngine,
    image: ImageRef,
    task: Task,
    attacks: Sequence[Attack],
    *,
    terms: Terms,
    limits: Limits,
    say: Callable[[str, int, int | None], None],
    now: Callable[[], float],
) -> Siege:
    """Grade every attack as a submission, all in one session; in two more what is above by little, open, or an alarm.

    The figures of an attack are those of the last session that measured it. One that was above just once, and is
    measured in a later session and is not, is contained; any other that was above, and not each time, is undecided,
    unless it is far above in the last. Of a control the last session tells that says anything of it. A later session
    that fails takes nothing of the first one away.

    Raises:
        MeasurementFailed: nothing could be measured, so nothing is known of those that were to be measured.
        ContainerError: the sandboxes failed.
    """
    started = now()

    def session(chosen: Sequence[Attack], again: int = 0) -> tuple[tuple[float, float] | None, tuple[Ended, ...]]:
        longer = replace(terms, seed=(terms.seed + again) % MOST, max_rounds=terms.max_rounds * (1 + again))
        with tempfile.TemporaryDirectory(prefix="fc-redteam-") as place:
            grader = Grader(
                engine,
                image,
                task,
                folder=RunFolder(Path(place)),
                config=_config(task, longer, engine),
                limits=limits,
                say=say,
                check=lambda: None,
                guard=_no_policy if terms.past_policy else guard_verdict,
            )
            return _graded(grader, task.task_id, chosen, 1 + again)

    nop, first = session(attacks)
    told = {one.attack.name: one for one in first}
    for again in range(1, SESSIONS):
        doubted = [one.attack for one in told.values() if one.is_doubtful]
        if not doubted:
            break
        say("once more, what is just above doing nothing, undecided, or an alarm", 0, len(doubted))
        try:
            _, latest = session(doubted, again)
        except (MeasurementFailed, ContainerError) as error:
            say(f"nothing was measured once more: {error}", 0, len(doubted))
            continue
        told |= {one.attack.name: _confirmed(told[one.attack.name], one) for one in latest}
    return Siege(task.task_id, tuple(map(_last, told.values())), nop, now() - started)


def _config(task: Task, terms: Terms, engine: ContainerEngine) -> RunConfig:
    with as_asked():
        return RunConfig(
            dataset="redteam",
            release="",
            task_ids=(task.task_id,),
            agents=(AgentEntry(agent=NOP, model=NO_MODEL),),
            n_attempts=1,
            seed=terms.seed,
            timeout_s=1.0,
            precise=False,
            max_rounds=terms.max_rounds,
            engine=engine.name,
        )


def _confirmed(before: Ended, now: Ended) -> Ended:
    """What a session more says of an attack that those before left open.

    Luck puts one above doing nothing once: who was above more often, and is not now, is undecided.
    """
    if now.attack.is_control:
        return before if now.outcome in EXCLUDED else now
    above = before.above + now.above
    if now.outcome == "measured":
        return replace(now, above=above, undecided=now.undecided or (above > 1 and not now.got_through))
    if now.outcome not in EXCLUDED and not above:
        return now
    return replace(before, got_through=False, undecided=True)


def _last(ended: Ended) -> Ended:
    """What is told when all sessions are over: who was not above in each of them may have been so by luck."""
    if ended.got_through and ended.is_doubtful and ended.above < SESSIONS:
        return replace(ended, got_through=False, undecided=True)
    return ended


def _graded(
    grader: Grader, task_id: str, attacks: Sequence[Attack], sessions: int
) -> tuple[tuple[float, float] | None, tuple[Ended, ...]]:
    """The interval of doing nothing in a session, and what became of the attacks beside it, after so many sessions."""
    nothing = Submission(TrialKey(task_id, NOP, 1), AgentFacts(wall_s=0.0, measure_empty=True), "")
    submissions = [
        Submission(TrialKey(task_id, attack.name, 1), AgentFacts(wall_s=0.0), attack.patch) for attack in attacks
    ]
    graded = grader.grade([nothing, *submissions])
    nop = _interval(graded, nothing)
    ended = tuple(_ended(attack, graded, one, nop, sessions) for attack, one in zip(attacks, submissions, strict=True))
    if nop is None and any(one.outcome in {"measured", *EXCLUDED} for one in ended):
        raise MeasurementFailed(f"{task_id}: doing nothing could not be measured: {graded.endings[nothing.key]}")
    return nop, ended


def refused(attack: Attack, task: Task) -> Ended | None:
    """The ending of an attack that the policy refuses unseen; None where it would be run."""
    verdict = guard_verdict(attack.patch, TaskFacts.of(task))
    return None if verdict.allowed else _unscored(attack, Ending("refused_patch", verdict.text))


def _interval(graded: Graded, nothing: Submission) -> tuple[float, float] | None:
    found = graded.ratios.get(nothing.key)
    if found is None or found.low is None or found.high is None or graded.endings[nothing.key].outcome != "measured":
        return None
    return found.low, found.high


def _unscored(attack: Attack, ending: Ending) -> Ended:
    return Ended(attack, ending.outcome, ending.reason or "", None, None, None, None, got_through=False)


def _ended(
    attack: Attack, graded: Graded, submission: Submission, nop: tuple[float, float] | None, sessions: int
) -> Ended:
    score = graded.score(submission.key)
    advantage = score.advantage if score else None
    ending = settled(graded.endings[submission.key], sessions)
    return ended_as(attack, ending, graded.ratios.get(submission.key), advantage, nop)


def ended_as(
    attack: Attack, ending: Ending, ratios: ArmSummary | None, advantage: float | None, nop: tuple[float, float] | None
) -> Ended:
    """What became of an attack that ended so; where its measurement yielded nothing, nothing is known of it."""
    ended = _unscored(attack, ending)
    if ended.outcome in EXCLUDED:
        return replace(ended, undecided=True)
    if ended.outcome != "measured" or ratios is None:
        return ended
    above = not attack.is_control and is_above(ratios, nop)
    return replace(
        ended,
        speedup=ratios.speedup,
        low=ratios.low,
        high=ratios.high,
        advantage=advantage,
        got_through=above,
        undecided=not (attack.is_control or above or is_decided(ratios, nop)),
        nop=nop,
        above=int(above),
        is_refuted=bool(refuted(ratios)),
    )


def is_above(ratios: ArmSummary, nop: tuple[float, float] | None) -> bool:
    """True where a measured submission is above doing nothing: certainly, or by so much that luck does not matter."""
    if ratios.speedup is None or ratios.low is None:
        return False
    return ratios.low > _top(nop) or ratios.speedup > LEEWAY * _top(nop)


def _top(nop: tuple[float, float] | None) -> float:
    """What doing nothing may be measured at."""
    return max(1.0, nop[1]) if nop else 1.0


def is_decided(ratios: ArmSummary, nop: tuple[float, float] | None) -> bool:
    """True where "not above doing nothing" means something: nothing scattered little, or the attack is slow anyway.

    Or what it claimed was refuted on other inputs: there it is measured at scatter, however wide that is.
    """
    if ratios.high is not None and ratios.high <= LEEWAY:
        return True
    if any(map(_is_refuted, ratios.workloads)) and all(_is_refuted(row) or _is_low(row) for row in ratios.workloads):
        return True
    return nop is not None and nop[0] >= 1 / LEEWAY and nop[1] <= LEEWAY


def _is_refuted(row: WorkloadRatio) -> bool:
    """True where a claim was refuted, and nothing of it is certainly left."""
    return row.repeated is not None and row.low is not None and row.low <= 1.0


def _is_low(row: WorkloadRatio) -> bool:
    return row.high is not None and row.high <= LEEWAY
