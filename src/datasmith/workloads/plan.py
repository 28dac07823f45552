"""How precisely, how long and where to measure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from datasmith.errors import ConfigError
from datasmith.stats.multiple import rounds_needed
from datasmith.workloads.calibrate import LONG_FACTOR, LONG_S, LONGEST_S, OVERHEAD_FACTOR
from datasmith.workloads.summary import FALSE_DISCOVERY_RATE


@dataclass(frozen=True, slots=True)
class MeasurePlan:
    """What a measurement keeps to; a workload may be over before its end.

    target_half_width: stop a workload when half of every ratio's interval is expected to be below this share of it.
    cpu: the core every launch is pinned to (None: not pinned, and then not guarded either). retries: how often a launch
    that the host guard calls disturbed is made again in its round. per_overhead, longest_s: how long a launch times
    calls, see `launch_size`. earlier_floors: noise floors of workloads in earlier runs of the image here, see
    `summarise`.
    """

    min_rounds: int = 8
    max_rounds: int = 24
    target_half_width: float = 0.02
    confidence: float = 0.95
    seed: int = 0
    cpu: int | None = None
    retries: int = 2
    per_overhead: float = OVERHEAD_FACTOR
    longest_s: float = LONGEST_S
    earlier_floors: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 2 <= self.min_rounds <= self.max_rounds:
            raise ConfigError(f"min_rounds {self.min_rounds}, max_rounds {self.max_rounds}: needs 2 <= min <= max")

    def precise(self) -> Self:
        """The same within +-1 % and 96 rounds."""
        return replace(self, max_rounds=96, target_half_width=0.01)

    def long_launches(self) -> Self:
        """The same with launches that time calls for longer than they take to start.

        The round stays the unit: there are as many rounds, each a little less uncertain. In the same wall time many
        short launches would do better; where few workloads are left of a suite, that time is there.
        """
        return replace(self, per_overhead=LONG_FACTOR, longest_s=LONG_S)

    def at_most(self, rounds: int) -> Self:
        """The same within `rounds` rounds."""
        return replace(self, min_rounds=min(self.min_rounds, rounds), max_rounds=rounds)

    @property
    def most_rounds(self) -> int:
        """With those that are played because the host disturbed others: half as many again."""
        return self.max_rounds + (self.max_rounds + 1) // 2

    def first_stop(self, workloads: int) -> int:
        """The first round after which a workload may stop: one effect among all of them must be able to show."""
        return min(self.max_rounds, max(self.min_rounds, rounds_needed(workloads, FALSE_DISCOVERY_RATE)))

    def check(self, workloads: int) -> None:
        """Raises ConfigError where the rounds are too few for one effect among so many workloads to show."""
        needed = rounds_needed(workloads, FALSE_DISCOVERY_RATE)
        if self.max_rounds < needed:
            raise ConfigError(
                f"--max-rounds {self.max_rounds}: no effect could be told from chance among {workloads} workloads"
                f" in less than {needed} rounds (example: --max-rounds {needed})"
            )
