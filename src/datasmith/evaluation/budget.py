"""--max-cost: no trial is begun once the trials whose cost is known have cost so much."""

import threading
from collections.abc import Sequence

from datasmith.evaluation.run_folder import RunFolder, TrialKey


class CostLimit:
    """Adds up what agents' work has cost, in USD, as the run folder tells; what is not known is counted, not guessed.

    So all threads, processes and machines of a run keep one limit. Trials that are under way when it is reached go on:
    it may be passed by what they cost.
    """

    def __init__(self, limit_usd: float | None, folder: RunFolder, everything: Sequence[TrialKey]) -> None:
        """`everything` are all trials of the run; without a limit each may begin."""
        self.limit_usd = limit_usd
        self._folder = folder
        self._ahead = set(everything)
        self._known: dict[TrialKey, float | None] = {}
        self._lock = threading.Lock()

    def allows(self) -> bool:
        """Whether another trial may begin."""
        return self.limit_usd is None or self._spent() < self.limit_usd

    def _spent(self) -> float:
        with self._lock:
            for key in tuple(self._ahead):
                facts = self._folder.read_facts(key)
                if facts is None:
                    continue
                self._known[key] = facts.cost_usd
                if not facts.outage:  # what an outage ended is done again
                    self._ahead.discard(key)
            return sum(cost for cost in self._costs if cost is not None)

    @property
    def _costs(self) -> list[float | None]:
        return list(self._known.values())

    @property
    def told(self) -> str:
        """Why trials were not begun, or not again after an outage, in one line; empty where all were."""
        if self.limit_usd is None or self.allows() or not self._ahead:
            return ""
        spent, unknown = self._spent(), sum(cost is None for cost in self._costs)
        doubt = f", and {unknown} of unknown cost" if unknown else ""
        again = len(self._ahead & self._known.keys())
        counts = {"were not begun": len(self._ahead) - again, "ended in an outage and were not begun again": again}
        left = " and ".join(f"{count} {what}" for what, count in counts.items() if count)
        return (
            f"--max-cost {self.limit_usd:g}: trials for ${spent:.2f}{doubt}; {left} "
            f"(to go on: --max-cost {max(2 * self.limit_usd, spent + 1.0):g})"
        )

    @property
    def doubt(self) -> str:
        """How many trials the limit could not count, in one line; empty where it saw all, or is none."""
        if self.limit_usd is None:
            return ""
        spent = self._spent()
        unknown = sum(cost is None for cost in self._costs)
        if not unknown:
            return ""
        return (
            f"--max-cost {self.limit_usd:g}: {unknown} of {len(self._costs)} trials are of unknown cost and were not "
            f"counted; the others cost ${spent:.2f}"
        )
