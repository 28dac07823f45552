"""The nouns of measuring: a workload, a launch of it, and what a launch yields."""

from dataclasses import dataclass
from typing import Literal

from datasmith.tasks.quantities import CallSeconds, Count, Seconds

WorkloadKind = Literal["time", "timeraw", "peakmem", "mem", "track"]
SCORED_KINDS: tuple[WorkloadKind, ...] = ("time", "timeraw")

BASE = "base"
CONTROL = "base2"
EXPERT = "expert"
MERGED_ARMS = frozenset({BASE, CONTROL, EXPERT})
"""Merged code; every other arm is a submission."""

WARM_UP_ROUND = -1
FULL_ROUND = -2
"""Round of an audit launch that makes its calls (see `audit.py`)."""
EMPTY_ROUND = -3
"""Round of an audit launch that leaves its calls out."""
AUDIT_ROUNDS = frozenset({FULL_ROUND, EMPTY_ROUND})
"""In these each arm has several launches; elsewhere another one in the same round is a repetition."""


def agent_arm(label: str) -> str:
    """The arm's name for an agent's patch."""
    return f"agent:{label}"


@dataclass(frozen=True, slots=True)
class Workload:
    """One asv benchmark with one combination of its parameters.

    `params` are asv's own representations; `index` is the position in the parameter product (None: no parameters).
    `number`, `repeat` 0 mean "choose"; times are seconds. `skipped` is asv's reason where setup refuses it.
    """

    benchmark: str
    kind: WorkloadKind
    params: tuple[str, ...] = ()
    index: int | None = None
    unit: str = "seconds"
    timeout_s: float = 60.0
    setup_cache_key: str | None = None
    number: int = 0
    repeat: int = 0
    warmup_s: float = -1.0
    sample_time_s: float = 0.01

    @property
    def id(self) -> str:
        """`mod.Cls.time_x(1, 'a')`; without parameters just the benchmark's name."""
        return f"{self.benchmark}({', '.join(self.params)})" if self.params else self.benchmark


@dataclass(frozen=True, slots=True)
class Measurement:
    """One launch: a fresh process that ran one workload in one arm.

    `samples` are seconds per call; `number` is calls per sample; `wall_s` and `cpu_s` (None: unknown) were taken
    outside the sandbox. No samples means `reason` says why. `noisy`: the host guard saw a disturbance; such a
    launch is kept for the record and not used. Round -1 is the warm-up launch, never used either; others below zero
    are those of the audit and of other inputs (`audit.py`, `fresh.py`, `clocked.py`: there `wall_s` is what passed
    between two marks).
    """

    workload: str
    arm: str
    round: int
    samples: tuple[CallSeconds, ...]
    number: Count
    wall_s: Seconds
    cpu_s: Seconds | None
    cpu_id: int | None
    noisy: bool = False
    reason: str | None = None
