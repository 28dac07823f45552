"""Launch a claimed speed-up on inputs that nobody knew: time it there, and see that it computes what base does."""

import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from types import MappingProxyType
from typing import Protocol, get_args

from datasmith.workloads.base import BASE, EXPERT, Measurement
from datasmith.workloads.beside import Beside, FreshTimes
from datasmith.workloads.captured import NOT_LAUNCHED, Capture, Merged, outputs_unlike, unlike
from datasmith.workloads.clocked import CLOCKED_ROUND, MOST_CLOCKED, between_marks, finding, teardown_seconds
from datasmith.workloads.fresh import (
    FRESH_LAUNCHES,
    FRESH_ROUND,
    MOST_FRESH,
    MOST_PAIRS,
    SHORT_ROUND,
    are_short,
    is_open,
    may_be_unsaved,
    takes_as_long,
)
from datasmith.workloads.launch import Fresh, Kind, Launched, Moved
from datasmith.workloads.outputs import Difference

MOST_TWIST = 2**63
"""Nobody can try out so many numbers to find the one that the next inputs follow from."""
MOST_FAILURES = 2
"""So often anybody may tell nothing: an arm in all its launches; base, before it was called between marks once."""
FIRST_ROUNDS: Mapping[Kind, int] = MappingProxyType(
    {"looked": FRESH_ROUND, "short": SHORT_ROUND, "clocked": CLOCKED_ROUND}
)
"""The round of each kind's first launch; the next inputs have the next lower number."""


class Launcher(Protocol):
    """Makes one launch of an arm on fresh inputs; it is kept where it gave times."""

    def __call__(self, arm: str, fresh: Fresh, beside: Beside | None) -> Launched:
        """`beside`: what base spends beside its calls on these inputs; None: this is base."""


class FreshCheck:
    """Checks one workload. Nothing is said of it where base or the expert cannot run on other inputs.

    Where they run and never compute the same, times are compared, and what set-up made, and values are not.
    """

    def __init__(
        self,
        launch: Launcher,
        seen: Callable[[], Sequence[Measurement]],
        is_settled: Callable[[str], bool],
        lottery: random.Random,
    ) -> None:
        self._launch = launch
        self._seen = seen
        self._is_settled = is_settled
        """Whether an arm's claim counts as none, by what was seen."""
        self._lottery = lottery
        self._cold_s: list[float] = []
        """What base's first short calls took beyond later ones, in each launch."""
        self._failures: Counter[str] = Counter()
        """How often an arm told nothing where base did."""
        self._asked = 0
        """So often base was called between marks, and told all."""

    def run(self, claimed: Mapping[str, float]) -> Mapping[str, Difference]:
        """Launch the arms that claim these ln ratios; what each of them computes of fresh inputs and base does not.

        Where a claim does not show at once there are more launches, so that the decision does not rest on one; also
        where base's launch was not as quick as in the rounds: beside one that was disturbed anything looks fast.
        """
        found = self._inputs()
        if found is None:
            return {}
        fresh, base = found
        what, unlike = fresh.what, self._unlike(claimed, base, fresh)
        disturbed = not are_short(self._seen()) and not takes_as_long(self._seen())

        def standing() -> Mapping[str, float]:
            return {arm: claim for arm, claim in claimed.items() if arm not in unlike}

        # Where code is cold for as long as base's calls take, one launch on a core of two speeds is lucky too often.
        least = FRESH_LAUNCHES - 1 if are_short(self._seen()) else 1
        brief = {arm: claim for arm, claim in standing().items() if are_short(self._seen(), claim)}
        unlike |= self._until_told(brief, what, "short", least=least)
        unlike |= self._until_told(standing(), what, "looked", least=FRESH_LAUNCHES - 1 if disturbed else 0)
        unlike |= self._until_told(standing(), what, "short")
        unlike |= self._clocked(standing(), what)
        unlike |= self._until_told(standing(), what, "looked")
        # What was told between marks is asked of single calls, of which there are more now.
        unlike |= self._clocked([arm for arm in standing() if self._may_be_unsaved(arm)], what)
        return unlike

    def _may_be_unsaved(self, arm: str) -> bool:
        """True where it is open what is saved between marks, and something was claimed that may be left."""
        return may_be_unsaved(self._seen(), arm) and not self._is_settled(arm)

    def _inputs(self) -> tuple[Fresh, "_Base"] | None:
        """Inputs that base and the expert can run on; such as they compute the same of are looked for first.

        None where they can run on none that take base about as long.
        """
        unlike: tuple[Fresh, _Base] | None = None
        for what in get_args(Moved):
            fresh = self._fresh(what)
            base = self._pair(fresh)
            if base is None or base.expert.reason:
                continue
            is_agreed = outputs_unlike(base.told, base.expert) is None
            if is_agreed and what == "letters" and are_short(self._seen()):
                self._launch(BASE, self._fresh(what, "short"), None)
            if is_agreed and (what != "letters" or takes_as_long(self._seen())):
                return fresh, base
            if not is_agreed and unlike is None and takes_as_long(self._seen()):
                unlike = fresh, base
        return unlike

    def _until_told(
        self, claimed: Mapping[str, float], what: Moved, kind: Kind, *, least: int = 0
    ) -> Mapping[str, Difference]:
        """Launch arms until it is told whether these claims of theirs are kept, and each so many times at least."""
        unlike: dict[str, Difference] = {}
        short = kind == "short"
        for number in range(MOST_FRESH):
            seen, standing = self._seen(), [arm for arm in claimed if arm not in unlike]
            left = [arm for arm in standing if number < least or is_open(seen, arm, claimed[arm], short=short)]
            if not left:
                break
            unlike |= self._more(left, what, kind)
        return unlike

    def _clocked(self, standing: Collection[str], what: Moved) -> Mapping[str, Difference]:
        """Ask our own clock of each arm that computes what base does; one that gives nothing to ask of is refuted.

        Also where a claim was not kept so far: what is left of it is what a clock said that nobody checked.

        Where single calls save more than what passes there, both are asked again. Of short calls nothing is asked: they
        are as long as what is done between them.
        """
        left = [] if are_short(self._seen()) else list(standing)
        unlike: dict[str, Difference] = {}
        failures = 0
        while left and self._asked < MOST_PAIRS and failures < (MOST_PAIRS if self._asked else MOST_FAILURES):
            fresh = self._fresh(what, "clocked")
            base = _clocked_base(self._launch(BASE, fresh, None))
            if base is None:
                failures += 1
                continue
            self._asked += 1
            for arm in left:
                differs = self._unlike_between_marks(arm, base, fresh)
                if differs:
                    unlike[arm] = differs
            left = [arm for arm in left if arm not in unlike]
            unsaved = [arm for arm in left if self._may_be_unsaved(arm)]
            unlike |= self._more(unsaved, what, "looked")
            if self._asked >= MOST_CLOCKED and not unsaved:
                break
            ticking = [arm for arm in left if self._is_open(arm)]
            left = [arm for arm in left if arm not in unlike and arm in (*unsaved, *ticking)]
        return unlike

    def _is_open(self, arm: str) -> bool:
        found = finding(self._seen(), arm)
        return found is None or found.finding == "undecided"

    def _unlike_between_marks(self, arm: str, base: "_Base", fresh: Fresh) -> Difference | None:
        """What an arm computed between marks that base and the expert did not, or why it told nothing there."""
        like = base.like(fresh)
        launched, is_told = self._told_by(arm, like, base.beside)
        if not is_told:
            is_stable = _clocked_base(self._launch(BASE, like, None)) is not None
            return Difference("other inputs", "times", _reason(launched)) if is_stable else None
        told = _capture(launched)
        if unlike(base.told, told, Merged()) is None:
            return None
        again = _capture(self._launch(BASE, like, None))
        return unlike(base.told, told, Merged((again,), _capture(self._launch(EXPERT, like, base.beside))))

    def _more(self, suspects: Collection[str], what: Moved, kind: Kind) -> Mapping[str, Difference]:
        """Launch suspects once more; an arm that fails, or differs, where base and the expert agree, is refuted."""
        if not suspects:
            return {}
        fresh = self._fresh(what, kind)
        base = self._pair(fresh)
        return {} if base is None else self._unlike(suspects, base, fresh)

    def _fresh(self, what: Moved, kind: Kind = "looked") -> Fresh:
        late = self._lottery.randrange(MOST_TWIST) if kind == "clocked" else 0
        return Fresh(self._lottery.randrange(MOST_TWIST), what, kind=kind, late=late)

    def _pair(self, fresh: Fresh) -> "_Base | None":
        """A launch of base, and the expert's beside it; None where base told not all."""
        launched = self._launch(BASE, fresh, None)
        told, times = _told(launched), fresh_times(launched)
        if told.reason or times is None:
            return None
        beside = times.beside(short=fresh.kind == "short")
        if fresh.kind == "short":
            self._cold_s.append(beside.again_s)
            beside = replace(beside, again_s=median(self._cold_s))
        base = _Base(told, beside, len(times.calls))
        return replace(base, expert=_told(self._launch(EXPERT, base.like(fresh), base.beside)))

    def _unlike(self, arms: Collection[str], base: "_Base", fresh: Fresh) -> dict[str, Difference]:
        """What arms compute, or set up, that base and the expert do not, each time; or why they told nothing."""
        found: dict[str, Difference] = {}
        for arm in arms:
            launched, is_told = self._told_by(arm, base.like(fresh), base.beside)
            told = _capture(launched) if is_told else Capture(reason=_reason(launched))
            differs = unlike(base.told, told, Merged(expert=base.expert))
            if differs:
                again = _told(self._launch(BASE, base.like(fresh), None))
                differs = unlike(base.told, told, Merged((again,), base.expert))
            if differs:
                found[arm] = replace(differs, path=differs.path or "other inputs")
        return found

    def _told_by(self, arm: str, fresh: Fresh, beside: Beside) -> tuple[Launched, bool]:
        """A launch of an arm, and whether it told all: the second one, where that does and the first did not.

        Once on the same inputs, and MOST_FAILURES times in all, that may be anybody's fault. Who tells something only
        where the core is fast would choose the launches that count.
        """
        launched = self._launch(arm, fresh, beside)
        if _tells(launched, fresh, beside):
            return launched, True
        self._failures[arm] += 1
        again = self._launch(arm, fresh, beside)
        is_told = self._failures[arm] <= MOST_FAILURES and _tells(again, fresh, beside)
        return (again if is_told else launched), is_told


@dataclass(frozen=True, slots=True)
class _Base:
    """What base computes of fresh inputs, and of what follows them; and what it spends beside its calls.

    `expert`: what the expert's patch computes of them.
    """

    told: Capture
    beside: Beside
    inputs: int
    expert: Capture = NOT_LAUNCHED

    def like(self, fresh: Fresh) -> Fresh:
        """The same with what base had time for: a faster arm would have time for more."""
        told = self.told.values if isinstance(self.told.values, list) else []
        return replace(fresh, inputs=self.inputs, later=len(told) > self.inputs)


def _clocked_base(launched: Launched) -> _Base | None:
    """What a launch of base between marks shows; None where it did not tell all of it."""
    if launched.reply is None or launched.told is None:
        return None
    beside = Beside(teardown_s=teardown_seconds(launched))
    return _Base(launched.told, beside, len(launched.reply.samples))


def _capture(launched: Launched) -> Capture:
    """What a launch told, or why it did not."""
    return launched.told or Capture(reason=_reason(launched))


def _reason(launched: Launched) -> str:
    return (launched.capture.reason if launched.capture else "") or launched.measurement.reason or "nothing"


def kept(launched: Launched, fresh: Fresh, beside: Beside | None) -> Measurement | None:
    """What is written down of a launch; None where it does not tell all of its times. `beside`: see `Launcher`."""
    if fresh.kind == "clocked":
        return between_marks(launched, beside.teardown_s if beside else None)
    times = fresh_times(launched)
    if times is None:
        return None
    samples = times.short_samples(beside) if fresh.kind == "short" else times.samples(beside)
    return replace(launched.measurement, samples=samples)


def _tells(launched: Launched, fresh: Fresh, beside: Beside) -> bool:
    return launched.told is not None and kept(launched, fresh, beside) is not None


def fresh_times(launched: Launched) -> FreshTimes | None:
    """The seconds of a launch on fresh inputs; None where it does not tell all of them."""
    if launched.reply is None or launched.capture is None:
        return None
    told = launched.capture
    times = FreshTimes(launched.reply.samples, told.calls, told.setups, told.again)
    return times if times.is_whole else None


def _told(launched: Launched) -> Capture:
    """What a launch told beside all of its times, or why it did not."""
    return _capture(launched) if fresh_times(launched) else Capture(reason=_reason(launched))
