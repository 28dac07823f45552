"""The certificate: what was measured, on which machine, and whether the task counts as valid there."""

from datetime import datetime
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from datasmith.tasks.quantities import CallSeconds, Count, Ratio, Seconds, Share, in_order
from datasmith.tasks.suite import SuiteRecord

CertificateStatus = Literal["valid", "fragile", "withdrawn", "refused"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Machine(_Frozen):
    """The machine class a measurement was taken on; memory is MiB."""

    cpu_model: str
    cpu_flags_sha256: str
    cores: int
    memory_mb: int
    kernel: str
    virtualised: bool | None


class WorkloadRatio(_Frozen):
    """One workload in one arm against base: ratio > 1 is faster. Without a reason all numbers are set.

    ratio, low, high: estimate and 95 % interval of t_base / t_arm. p: paired permutation test. q: its
    Benjamini-Hochberg value over the workloads of the arm. floor: noise floor as |ln ratio|. changed: q < 0.05 and
    |ln ratio| > floor. base_s, arm_s: median seconds per call. repeated: the ratio on the suite's own inputs, where it
    is gone on other ones; ratio then is that on other ones.
    """

    workload: str
    ratio: Ratio | None
    low: Ratio | None
    high: Ratio | None
    p: Share | None
    q: Share | None
    floor: float | None = Field(ge=0)
    changed: bool
    rounds: Count
    base_s: CallSeconds | None
    arm_s: CallSeconds | None
    reason: str | None = None
    repeated: Ratio | None = None

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        in_order(low=self.low, ratio=self.ratio, high=self.high)
        return self


class ArmSummary(_Frozen):
    """One arm against base over all workloads: geometric mean of the valid ratios with its 95 % interval.

    Of an agent's arm beside an expert's: over the workloads that are valid in both, those that its score is over.
    """

    arm: str
    speedup: Ratio | None
    low: Ratio | None
    high: Ratio | None
    workloads: tuple[WorkloadRatio, ...]

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        """What `low` and `high` are from does not promise to hold the mean: of several skewed workloads it need not."""
        in_order(low=self.low, high=self.high)
        ratios = [row.ratio for row in self.workloads if row.ratio is not None]
        in_order(least_ratio=min(ratios, default=None), speedup=self.speedup, largest_ratio=max(ratios, default=None))
        return self

    @property
    def changed(self) -> tuple[WorkloadRatio, ...]:
        """The workloads whose speed differs from base beyond noise."""
        return tuple(row for row in self.workloads if row.changed)

    @property
    def valid(self) -> tuple[WorkloadRatio, ...]:
        """The workloads that have a ratio."""
        return tuple(row for row in self.workloads if row.ratio is not None)


class Cost(_Frozen):
    """What a measurement cost: launches, seconds, and the share of wall time that was not inside a timed call."""

    launches: Count
    wall_s: Seconds
    cpu_s: Seconds
    timed_s: Seconds

    @property
    def overhead_share(self) -> float:
        """1 - timed / wall; 1.0 where nothing was timed."""
        return 1.0 - self.timed_s / self.wall_s if self.wall_s > 0 else 1.0


class HostFacts(_Frozen):
    """What the host was like while a measurement ran; None where its kernel does not tell.

    `steady_clock` is False for a clock source that is slow to read, or coarse (hpet, acpi_pm, jiffies). load_*: the
    load average of a minute. steal_s, throttles: of the pinned core. held_s: what quotas of cpu time made processes of
    our control groups wait, summed over cores. `noisy_launches` of `launches` were disturbed.
    """

    clock_source: str | None
    steady_clock: bool | None
    load_before: float | None
    load_after: float | None
    steal_s: float | None
    throttles: int | None
    held_s: float | None = None
    launches: int
    noisy_launches: int

    @property
    def said(self) -> str:
        """One line for people."""
        clock = f"clock {self.clock_source or 'not known'}" + (" (NOT STEADY)" if self.steady_clock is False else "")
        parts = [clock, f"{self.noisy_launches} of {self.launches} launches disturbed"]
        parts += [] if self.steal_s is None else [f"{self.steal_s:.2f} s stolen"]
        parts += [] if self.throttles is None else [f"throttled {self.throttles} times"]
        parts += [f"{self.held_s:.2f} s held back by a quota of cpu time"] if self.held_s else []
        parts += [] if self.load_before is None else [f"load {self.load_before:.1f} to {self.load_after or 0.0:.1f}"]
        return ", ".join(parts)


class Certificate(_Frozen):
    """certificate.json of a task: see docs/reference/certificate.md for the rule behind `status`."""

    task_id: str
    image_digest: str
    issued_at: datetime
    machine: Machine
    engine: str
    asv_runner_version: str
    rounds: int
    seed: int
    expert: ArmSummary
    control: ArmSummary
    changed_speedup: Ratio | None
    changed_low: Ratio | None
    changed_high: Ratio | None
    tests_passed_base: Count
    tests_passed_expert: Count
    sealed: bool | None
    """None where nothing of the fix was found, and something of it could not be looked for: `not_looked_for`."""
    cost: Cost
    status: CertificateStatus
    reason: str
    suite: SuiteRecord | None = None
    """Which suite was measured, where that is not base's own."""
    not_impacted: int = 0
    """Workloads of the suite that are no part of the task, and were not measured."""
    screened_out: int = 0
    """... and those that a screening alone looked at."""
    rebuilt_from: str | None = None
    """The digest of the task's image, where it was built again for this and came out with another one."""
    host: HostFacts | None = None
    not_looked_for: tuple[str, ...] = ()
    """What of the fix the seal could not look for, and why."""
