"""Launch a claimed speed-up on inputs that nobody knew: time it there, and see that it computes what base does."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from datasmith.workloads.base import BASE, EXPERT, Measurement
from datasmith.workloads.fresh import FRESH_LAUNCHES, looks_stored
from datasmith.workloads.launch import Fresh, Launched
from datasmith.workloads.outputs import Difference, difference
from datasmith.workloads.watch import Capture

MOST_TWIST = 1_000_000


class Launcher(Protocol):
    """Makes one launch of an arm on fresh inputs; it is kept where it gave times."""

    def __call__(self, arm: str, fresh: Fresh, told_s: float | None) -> Launched:
        """`told_s`: seconds that base takes to tell what it computes; None for base itself."""


class FreshCheck:
    """Checks one workload. Nothing is said of it where base or the expert cannot run on other inputs, or disagree."""

    def __init__(self, launch: Launcher, seen: Callable[[], Sequence[Measurement]], lottery: random.Random) -> None:
        self._launch = launch
        self._seen = seen
        self._lottery = lottery

    def run(self, claimed: Mapping[str, float]) -> Mapping[str, Difference]:
        """Launch the arms that claim these ln ratios; what each of them computes of fresh inputs and base does not.

        Where a claim does not show at once there are more launches, so that the decision does not rest on one.
        """
        for seeds_only in (False, True):
            fresh = self._fresh(seeds_only)
            base, expert = self._pair(fresh)
            if base and expert and difference(base.values, expert.values) is None:
                break
        else:
            return {}
        unlike = {}
        for arm in claimed:
            found = self._launch(arm, fresh, base.seconds)
            differs = _unlike(base, found)
            if differs and self._is_stable(base, fresh):
                unlike[arm] = differs
        suspects = [arm for arm in claimed if arm not in unlike and looks_stored(self._seen(), arm, claimed[arm])]
        self._more(suspects, seeds_only)
        return unlike

    def _more(self, suspects: Collection[str], seeds_only: bool) -> None:
        for _ in range(FRESH_LAUNCHES - 1 if suspects else 0):
            fresh = self._fresh(seeds_only)
            base, _expert = self._pair(fresh)
            if base is None:
                continue
            for arm in suspects:
                self._launch(arm, fresh, base.seconds)

    def _fresh(self, seeds_only: bool) -> Fresh:
        return Fresh(self._lottery.randrange(MOST_TWIST), seeds_only)

    def _pair(self, fresh: Fresh) -> tuple[Capture | None, Capture | None]:
        base = _told(self._launch(BASE, fresh, None))
        return base, _told(self._launch(EXPERT, fresh, base.seconds)) if base else None

    def _is_stable(self, base: Capture, fresh: Fresh) -> bool:
        again = _told(self._launch(BASE, fresh, None))
        return again is not None and difference(base.values, again.values) is None


def _told(launched: Launched) -> Capture | None:
    capture = launched.capture
    return capture if launched.reply and capture and not capture.reason else None


def _unlike(base: Capture, launched: Launched) -> Difference | None:
    told = _told(launched)
    if told is None:
        reason = launched.capture.reason if launched.capture else launched.measurement.reason
        return Difference("other inputs", "values", reason or "nothing")
    return difference(base.values, told.values)
