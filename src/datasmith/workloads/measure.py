"""Measure arms against base: paired rounds, launched, clocked and stopped by the host."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from datasmith.docker.engine import Container
from datasmith.errors import ConfigError
from datasmith.stats.multiple import rounds_needed
from datasmith.stats.paired import interval
from datasmith.tasks.certificate import ArmSummary, Cost
from datasmith.workloads import audit
from datasmith.workloads.base import BASE, CONTROL, EXPERT, SCORED_KINDS, Measurement, Workload
from datasmith.workloads.calibrate import CALIBRATING, LaunchSize, Pace, launch_size, slowed_down
from datasmith.workloads.launch import START_ALLOWANCE_S, Launched, Order, launch
from datasmith.workloads.summary import (
    FALSE_DISCOVERY_RATE,
    Launches,
    generator,
    log_ratios,
    noise_floors,
    summarise,
)
from datasmith.workloads.watch import OutputRow, OutputWatch

WARM_UP_ROUND = -1
OUR_ARMS = frozenset({BASE, CONTROL, EXPERT})
"""Merged code; every other arm is a submission."""
HOPELESS_AFTER = 6
HOPELESS_SHARE = 0.34
"""After six rounds a workload is given up if fewer than a third of them were undisturbed in some arm."""


@dataclass(frozen=True, slots=True)
class MeasurePlan:
    """How precisely, how long and where to measure.

    target_half_width: stop a workload when half of every ratio's interval is below this share of it. cpu: the core
    every launch is pinned to (None: not pinned, and then not guarded either). retries: how often a launch that the
    host guard calls disturbed is made again in its round.
    """

    min_rounds: int = 8
    max_rounds: int = 24
    target_half_width: float = 0.02
    confidence: float = 0.95
    seed: int = 0
    cpu: int | None = None
    retries: int = 2

    def __post_init__(self) -> None:
        if not 2 <= self.min_rounds <= self.max_rounds:
            raise ConfigError(f"min_rounds {self.min_rounds}, max_rounds {self.max_rounds}: needs 2 <= min <= max")

    def precise(self) -> Self:
        """The same within +-1 % and 96 rounds."""
        return replace(self, max_rounds=96, target_half_width=0.01)

    def at_most(self, rounds: int) -> Self:
        """The same within `rounds` rounds."""
        return replace(self, min_rounds=min(self.min_rounds, rounds), max_rounds=rounds)

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


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a measurement is: launches made, and how many it takes if nothing stops early from here on."""

    done: int
    expected: int
    round: int
    workload: str

    @property
    def step(self) -> str:
        """What the launch belongs to, in words; rounds count from 1."""
        if self.round >= 0:
            return f"round {self.round + 1}"
        return "warm-up" if self.round == WARM_UP_ROUND else "audit of the clocks"


@dataclass(frozen=True, slots=True)
class Measured:
    """Every launch, in order; each arm but base against base; what it cost; and whether outputs were the same."""

    measurements: tuple[Measurement, ...]
    summaries: Mapping[str, ArmSummary]
    cost: Cost
    outputs: Mapping[str, tuple[OutputRow, ...]] = field(default_factory=dict)
    """Arm -> its workloads; empty where outputs were not asked for."""


def measure(
    arms: Mapping[str, Container],
    workloads: Sequence[Workload],
    plan: MeasurePlan,
    *,
    benchmark_dir: str,
    sink: Callable[[Measurement], None],
    progress: Callable[[Progress], None] | None = None,
    outputs: bool = False,
) -> Measured:
    """Time the scored workloads in every arm; the arms are frozen containers, `BASE` among them.

    Rounds go over all workloads before the next begins: a workload's rounds are spread over the whole run, so that a
    slow quarter of an hour widens every interval a little and spoils none; drift within a round cancels in the pair.
    `sink` gets each launch as soon as it ended. A workload that fails in base is not launched in other arms, an arm
    that fails a workload is not launched with it again; both have their reason.

    With `outputs`, the warm-up launches also say what a call computes. A submission that computes something else than
    base in some workload is not launched any more, in any.

    Raises:
        ConfigError: there is no base arm, or nothing to compare it with.
        EngineUnavailable: the engine is gone; what reached `sink` stays valid.
    """
    if BASE not in arms or len(arms) < 2:
        raise ConfigError(f"arms: needs {BASE!r} and at least one other, got {', '.join(arms) or 'none'}")
    started = time.monotonic()
    bench = _Bench(arms, plan, benchmark_dir, sink, progress, OutputWatch() if outputs else None)
    tracks = [_Track(workload, tuple(arms)) for workload in workloads if workload.kind in SCORED_KINDS]
    bench.expect(tracks, plan.max_rounds + 1)
    for track in tracks:
        bench.warm_up(track)
    bench.compare_outputs(tracks)
    for number in range(plan.max_rounds):
        active = [track for track in tracks if not track.finished(plan, number, len(tracks))]
        if not active:
            break
        bench.expect(active, plan.max_rounds - number)
        for track in active:
            bench.play(track, number)
    claimed = bench.claimed(tracks)
    for track in tracks:
        bench.audit(track, claimed)
    return bench.result(time.monotonic() - started)


class _Track:
    """One workload on its way through the rounds."""

    def __init__(self, workload: Workload, arms: tuple[str, ...]) -> None:
        self.workload = workload
        self.arms = list(arms)
        self.sizes: dict[str, LaunchSize] = {}
        self.number_is_fixed = False
        self.launches = Launches()

    def add(self, measurement: Measurement) -> None:
        """Keep a launch; an arm that gave a reason leaves the track, unless the host disturbed it meanwhile."""
        self.launches.by_arm.setdefault(measurement.arm, []).append(measurement)
        if measurement.reason is not None and not measurement.noisy:
            self.give_up(measurement.arm)

    def give_up(self, arm: str) -> None:
        """Launch an arm no more."""
        if arm in self.arms:
            self.arms.remove(arm)

    @property
    def compares(self) -> bool:
        """True while base still stands, and an arm whose result is wanted with it."""
        wanted = {arm for arm in self.launches.by_arm if arm not in {BASE, CONTROL}} or {CONTROL}
        return BASE in self.arms and any(arm in wanted for arm in self.arms)

    def finished(self, plan: MeasurePlan, played: int, workloads: int) -> bool:
        """True where nothing is left to learn: precise enough, or no arm left to compare. Never: significant."""
        if not self.compares or self._hopeless(played):
            return True
        if played < plan.first_stop(workloads):
            return False
        return all(self._precise(arm, plan) for arm in self.arms if arm != BASE)

    def looks_odd(self, arm: str) -> bool:
        """True where a submission spends more time than base outside its calls."""
        return arm not in OUR_ARMS and audit.is_suspect(self.launches.usable(BASE), self.launches.usable(arm))

    def audit_size(self, arm: str) -> LaunchSize:
        """The calls of one launch that checks an arm's clock."""
        usual = tuple(self.launches.usable(arm).values())
        limit_s = self.workload.timeout_s + START_ALLOWANCE_S
        return audit.audit_size(self.sizes[arm], usual, limit_s, number_is_fixed=self.number_is_fixed)

    def undecided(self, arm: str) -> bool:
        """True while an audited arm's launches scatter too much to tell."""
        everything = [launch for launches in self.launches.by_arm.values() for launch in launches]
        found = audit.finding(everything, arm)
        return found is not None and found[0] == "undecided"

    def _hopeless(self, played: int) -> bool:
        """True where the host disturbs so many launches that the workload will end as an invalid measurement."""
        good = min((len(self.launches.usable(arm)) for arm in self.arms), default=0)
        return played >= HOPELESS_AFTER and good < HOPELESS_SHARE * played

    def _precise(self, arm: str, plan: MeasurePlan) -> bool:
        rounds = log_ratios(self.launches, arm)
        if len(rounds) < plan.min_rounds:
            return False
        low, high = interval(rounds, confidence=plan.confidence)
        return (high - low) / 2.0 <= plan.target_half_width * float(np.exp(np.median(rounds)))


class _Bench:
    """Makes launches and keeps the books."""

    def __init__(
        self,
        arms: Mapping[str, Container],
        plan: MeasurePlan,
        benchmark_dir: str,
        sink: Callable[[Measurement], None],
        progress: Callable[[Progress], None] | None,
        watch: OutputWatch | None,
    ) -> None:
        self._watch = watch
        self._arms = arms
        self._plan = plan
        self._benchmark_dir = benchmark_dir
        self._sink = sink
        self._progress = progress
        self._order = generator(plan.seed, "order of arms")
        self._made: list[Measurement] = []
        self._expected = 0
        self._confirmed: set[str] = set()

    def expect(self, tracks: Iterable[_Track], rounds: int) -> None:
        """Say how many launches there will be if no workload stops early."""
        self._expected = len(self._made) + rounds * sum(len(track.arms) for track in tracks)

    def warm_up(self, track: _Track) -> None:
        """One discarded launch of each arm, base first; base's pace decides how many calls every arm makes."""
        pace = self._pace(track, BASE)
        if pace is None:
            return
        size = launch_size(track.workload, pace)
        track.sizes[BASE] = size
        track.number_is_fixed = bool(pace.own_number)
        for arm in [arm for arm in track.arms if arm != BASE]:
            seen = self._pace(track, arm)
            if seen is not None:
                track.sizes[arm] = slowed_down(size, pace.call_s, seen.call_s, track.workload.timeout_s)

    def _pace(self, track: _Track, arm: str) -> Pace | None:
        """What a warm-up launch shows; an arm that shows nothing, however often it is tried, leaves the track."""
        for _ in range(1 + self._plan.retries):
            launched = self._launch(track, arm, CALIBRATING, WARM_UP_ROUND, capture=self._watch is not None)
            if launched.reply is not None or not launched.measurement.noisy:
                break
        if launched.reply is None:
            track.give_up(arm)
        return launched.pace(track.workload)

    def compare_outputs(self, tracks: Sequence[_Track]) -> None:
        """Take away the submissions that compute something else than base.

        Where one seems to, base is captured once more: what base itself does not repeat is held against nobody.
        """
        if self._watch is None:
            return
        by_name = {track.workload.id: track for track in tracks if BASE in track.arms}
        submissions = [arm for arm in self._arms if arm not in OUR_ARMS]
        while again := set(self._watch.failing(submissions, by_name).values()) - self._confirmed:
            for name in sorted(again):
                self._launch(by_name[name], BASE, CALIBRATING, WARM_UP_ROUND, capture=True)
            self._confirmed |= again
        for arm in self._watch.failing(submissions, by_name):
            for track in tracks:
                track.give_up(arm)

    def play(self, track: _Track, number: int) -> None:
        """One round: every arm once, back to back, in an order drawn at random."""
        for at in self._order.permutation(len(self._arms)):
            arm = list(self._arms)[at]
            if arm not in track.arms or not track.compares:
                continue
            for _ in range(1 + self._plan.retries):
                if not self._launch(track, arm, track.sizes[arm], number).measurement.noisy:
                    break

    def claimed(self, tracks: Iterable[_Track]) -> frozenset[tuple[str, str]]:
        """(arm, workload) of each speed-up that a submission claims."""
        submissions = self._arms.keys() - OUR_ARMS
        if not submissions:
            return frozenset()
        standing = [track for track in tracks if BASE in track.arms]
        floors = noise_floors({track.workload.id: track.launches for track in standing})
        found: set[tuple[str, str]] = set()
        for arm in submissions:
            rounds = {track.workload.id: log_ratios(track.launches, arm) for track in standing if arm in track.arms}
            faster = audit.claims(rounds, floors, generator(self._plan.seed, arm, "claims"))
            found |= {(arm, workload) for workload in faster}
        return frozenset(found)

    def audit(self, track: _Track, claimed: Collection[tuple[str, str]]) -> None:
        """Launch the arms whose clock has to be checked, and base beside them, with and without their calls.

        That is: what claims a speed-up, and what looks odd.
        """
        standing = track.arms if BASE in track.arms else []
        suspects = [arm for arm in standing if (arm, track.workload.id) in claimed or track.looks_odd(arm)]
        for number in range(audit.MOST_AUDIT_LAUNCHES):
            enough = number >= audit.AUDIT_LAUNCHES
            suspects = [arm for arm in suspects if arm in track.arms and (not enough or track.undecided(arm))]
            if not suspects:
                return
            for arm in (BASE, *suspects):
                size = track.audit_size(arm)
                self._launch(track, arm, size, audit.FULL_ROUND)
                self._launch(track, arm, size, audit.EMPTY_ROUND, call=False)

    def result(self, wall_s: float) -> Measured:
        """Everything that was seen, summed up."""
        timed = [launch for launch in self._made if launch.round >= 0 and not launch.noisy]
        cost = Cost(
            launches=len(self._made),
            wall_s=wall_s,
            cpu_s=sum(launch.cpu_s or 0.0 for launch in self._made),
            timed_s=sum(audit.timed_seconds(launch) for launch in timed),
        )
        plan = self._plan
        summaries = summarise(self._made, seed=plan.seed, confidence=plan.confidence, arms=tuple(self._arms))
        return Measured(tuple(self._made), summaries, cost, self._outputs())

    def _outputs(self) -> dict[str, tuple[OutputRow, ...]]:
        if self._watch is None:
            return {}
        names = list(dict.fromkeys(launch.workload for launch in self._made))
        return {arm: self._watch.rows(arm, names) for arm in self._arms if arm not in (BASE, CONTROL)}

    def _launch(
        self, track: _Track, arm: str, size: LaunchSize, number: int, *, call: bool = True, capture: bool = False
    ) -> Launched:
        seed = self._plan.seed if capture else None
        order = Order(self._benchmark_dir, arm, number, self._plan.cpu, call, seed)
        launched = launch(self._arms[arm], track.workload, size, order)
        if self._watch is not None:
            self._watch.add(track.workload.id, arm, launched.capture)
        track.add(launched.measurement)
        self._made.append(launched.measurement)
        self._sink(launched.measurement)
        if self._progress:
            done = len(self._made)
            self._progress(Progress(done, max(done, self._expected), number, track.workload.id))
        return launched
