"""What a launch on other inputs spends beside its calls, and how much of that is the arm's own work.

Work is moved out of a call when it is done while the benchmark is set up, or put off until somebody looks at a result.
So what an arm spends there beyond base counts as part of the call, where it is more than memory and luck explain.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

SLOWER_BESIDE = 1.25
"""Looking and setting up may take an arm so much longer than base with no work moved there: memory lies elsewhere.

Where they take longer than that, all that they take beyond base counts: else so much of a call could hide there.
"""
COLDER = 0.5
"""By so much of a later call may the first of short ones be slower than base's, because code is colder.

Code that does its work anew whenever there was a pause looks as if it was as cold as that is long.
"""


@dataclass(frozen=True, slots=True)
class Beside:
    """Seconds that base spends beside a call on fresh inputs.

    On setting it up, on first looks at what came of it beyond later ones, and on these; `luck_s`: so much more may an
    arm spend on first looks, which scatter by themselves.

    Of short calls, in the place of looks: what the first call on an input takes beyond the first one after it was set
    up once more, and beyond a later one. How long setting up takes scatters by more than all of such a call, and is not
    held against anyone. `teardown_s`: on tearing down, between marks.
    """

    setup_s: float = math.inf
    first_s: float = math.inf
    again_s: float = math.inf
    luck_s: float = 0.0
    teardown_s: float = math.inf

    def beyond(self, setup_s: float, first_s: float, again_s: float) -> float:
        """What an arm spends beyond base, on each of the three, where it is more than it may."""
        parts = ((setup_s, self.setup_s, 0.0), (first_s, self.first_s, self.luck_s), (again_s, self.again_s, 0.0))
        return sum(spent - usual for spent, usual, luck_s in parts if spent > max(0.0, SLOWER_BESIDE * usual + luck_s))


@dataclass(frozen=True, slots=True)
class FreshTimes:
    """Seconds of a launch on fresh inputs, an entry for each.

    The call with looks at it, the call alone, setting it up, and looks at the same once more; of short calls the first
    one, a later one, setting up, and what the first one takes beyond that where the same input is set up once more.
    """

    looked: Sequence[float]
    calls: Sequence[float]
    setups: Sequence[float]
    again: Sequence[float]

    @property
    def is_whole(self) -> bool:
        """True where the launch told all four of each input."""
        return bool(self.calls) and len(self.looked) == len(self.calls) == len(self.setups) == len(self.again)

    @property
    def _beyond_later(self) -> list[float]:
        return [first - later for first, later in zip(self.looked, self.calls, strict=True)]

    @property
    def _first(self) -> list[float]:
        """What first looks took beyond later ones, where work is done that was put off."""
        return [looked - call - again for looked, call, again in zip(self.looked, self.calls, self.again, strict=True)]

    def beside(self, *, short: bool) -> Beside:
        """What is spent beside calls where this is a launch of base."""
        if short:
            return Beside(first_s=max(0.0, median(self._first)), again_s=max(0.0, median(self._beyond_later)))
        again_s = median(self.again)
        luck_s = (SLOWER_BESIDE - 1.0) * again_s
        return Beside(median(self.setups), max(0.0, median(self._first)), again_s, luck_s=luck_s)

    def samples(self, base: Beside | None) -> tuple[float, ...]:
        """Seconds per call: the call, and what looking and setting up take beyond base, where that is too much.

        That is where work is done that was put off, or done beforehand. `base`: None for a launch of base itself.
        """
        if base is None:
            return tuple(self.calls)
        return tuple(
            call + base.beyond(setup, first, again)
            for call, setup, first, again in zip(self.calls, self.setups, self._first, self.again, strict=True)
        )

    def short_samples(self, base: Beside | None) -> tuple[float, ...]:
        """Seconds per short call: a later one, and what the first one takes beyond it, where that is work.

        It is not as far as it is there once more when the same input is set up anew: code is cold then. Work that is
        done anew at each setting up looks just so, and is more than base's code is cold, and `COLDER`. `base`: None for
        a launch of base itself.
        """
        if base is None:
            return tuple(self.calls)
        stored = [
            beyond - min(again, base.again_s + COLDER * call)
            for beyond, again, call in zip(self._beyond_later, self.again, self.calls, strict=True)
        ]
        return tuple(call + max(0.0, kept - base.first_s) for call, kept in zip(self.calls, stored, strict=True))
