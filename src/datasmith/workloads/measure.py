"""Measure arms against base: paired rounds, launched, clocked and stopped by the host."""

import random
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from datasmith.docker.engine import Container
from datasmith.errors import ConfigError
from datasmith.tasks.certificate import ArmSummary, Cost, HostFacts
from datasmith.workloads import audit
from datasmith.workloads.base import (
    AUDIT_ROUNDS,
    BASE,
    CONTROL,
    EMPTY_ROUND,
    EXPERT,
    FULL_ROUND,
    MERGED_ARMS,
    SCORED_KINDS,
    WARM_UP_ROUND,
    Measurement,
    Workload,
)
from datasmith.workloads.beside import Beside
from datasmith.workloads.calibrate import CALIBRATING, LaunchSize, Pace, launch_size, slowed_down
from datasmith.workloads.fresh_check import FIRST_ROUNDS, FreshCheck, kept
from datasmith.workloads.guard import host_facts, read_host
from datasmith.workloads.launch import Fresh, Kind, Launched, Order, launch
from datasmith.workloads.plan import MeasurePlan
from datasmith.workloads.summary import generator, know_expert, log_ratios, noise_floors, summarise
from datasmith.workloads.track import Track
from datasmith.workloads.watch import OutputRow, OutputWatch

MOST_SEED = 2**63


_STEPS = {WARM_UP_ROUND: "warm-up", **dict.fromkeys(AUDIT_ROUNDS, "audit of the clocks")}


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a measurement is: planned launches made, and how many there are if nothing stops early from here on.

    What is launched again because the host disturbed it is not counted twice. After the rounds nothing is planned:
    then `expected` is None, and `done` counts the launches since.
    """

    done: int
    expected: int | None
    round: int
    workload: str
    most_rounds: int | None = None
    """In a round beyond the planned ones, which replace disturbed ones: the last there may be."""

    @property
    def step(self) -> str:
        """What the launch belongs to, in words; rounds count from 1."""
        if self.most_rounds is not None:
            return f"extra round {self.round + 1} of at most {self.most_rounds}: others were disturbed"
        if self.round >= 0:
            return f"round {self.round + 1}"
        return _STEPS.get(self.round, "other inputs")


@dataclass(frozen=True, slots=True)
class Measured:
    """Every launch, in order; each arm but base against base; what it cost; and whether outputs were the same."""

    measurements: tuple[Measurement, ...]
    summaries: Mapping[str, ArmSummary]
    cost: Cost
    outputs: Mapping[str, tuple[OutputRow, ...]] = field(default_factory=dict)
    """Arm -> its workloads; empty where outputs were not asked for."""
    host: HostFacts | None = None


def measure(
    arms: Mapping[str, Container],
    workloads: Sequence[Workload],
    plan: MeasurePlan,
    *,
    benchmark_dir: str,
    sink: Callable[[Measurement], None],
    progress: Callable[[Progress], None] | None = None,
    outputs: bool = False,
    trusted: Collection[str] = (),
    lottery: random.Random | None = None,
) -> Measured:
    """Time the scored workloads in every arm; the arms are frozen containers, `BASE` among them.

    Rounds go over all workloads before the next begins: a workload's rounds are spread over the whole run, so that a
    slow quarter of an hour widens every interval a little and spoils none; drift within a round cancels in the pair.
    `sink` gets each launch as soon as it ended. A workload that fails in base is not launched in other arms, an arm
    that fails a workload is not launched with it again; both have their reason.

    With `outputs`, the warm-up launches also say what a call computes. A submission that computes something else than
    base in some workload is not launched any more, in any. What claims a speed-up is launched on inputs that `lottery`
    draws (default: nothing that can be known beforehand), see `fresh.py`; it also draws which elements of long outputs
    are compared.

    `trusted` names arms that are merged code like the expert's: neither their clocks nor their outputs are in doubt.

    Raises:
        ConfigError: there is no base arm, or nothing to compare it with.
        EngineUnavailable: the engine is gone; what reached `sink` stays valid.
    """
    if BASE not in arms or len(arms) < 2:
        raise ConfigError(f"arms: needs {BASE!r} and at least one other, got {', '.join(arms) or 'none'}")
    started = time.monotonic()
    doubted = [arm for arm in arms if arm not in MERGED_ARMS and arm not in trusted]
    lottery = lottery or random.SystemRandom()
    bench = _Bench(arms, plan, benchmark_dir, sink, progress, lottery=lottery if outputs else None, doubted=doubted)
    tracks = [Track(workload, tuple(arms)) for workload in workloads if workload.kind in SCORED_KINDS]
    bench.expect(tracks, plan.max_rounds + 1)
    for track in tracks:
        bench.warm_up(track)
    bench.compare_outputs(tracks)
    for number in range(plan.most_rounds):
        active = [track for track in tracks if not track.finished(plan, number, len(tracks))]
        if not active:
            break
        bench.expect(active, (plan.max_rounds if number < plan.max_rounds else plan.most_rounds) - number)
        for track in active:
            bench.play(track, number)
    bench.note_expert(tracks)
    claimed = bench.claimed(tracks)
    for track in tracks if outputs else ():
        bench.check_fresh(track, claimed, lottery)
    failing = bench.failing(tracks)
    for track in tracks:
        bench.audit(track, claimed, failing)
    return bench.result(time.monotonic() - started)


class _Bench:
    """Makes launches and keeps the books."""

    def __init__(
        self,
        arms: Mapping[str, Container],
        plan: MeasurePlan,
        benchmark_dir: str,
        sink: Callable[[Measurement], None],
        progress: Callable[[Progress], None] | None,
        *,
        lottery: random.Random | None,
        doubted: Sequence[str],
    ) -> None:
        self._watch = OutputWatch() if lottery else None
        self._capture_seed = lottery.randrange(MOST_SEED) if lottery else None
        self._submissions = [arm for arm in arms if arm not in MERGED_ARMS]
        self._doubted = doubted
        self._arms = arms
        self._plan = plan
        self._benchmark_dir = benchmark_dir
        self._sink = sink
        self._progress = progress
        self._order = generator(plan.seed, "order of arms")
        self._made: list[Measurement] = []
        self._planned: set[tuple[str, str, int]] = set()
        self._expected = 0
        self._unplanned = 0
        self._confirmed: set[str] = set()
        self._host = read_host(plan.cpu)

    def expect(self, tracks: Iterable[Track], rounds: int) -> None:
        """Say how many launches there will be if no workload stops early."""
        self._expected = len(self._planned) + rounds * sum(len(track.arms) for track in tracks)

    def warm_up(self, track: Track) -> None:
        """One discarded launch of each arm, base first; base's pace decides how many calls every arm makes."""
        pace = self._pace(track, BASE)
        if pace is None:
            return
        size = launch_size(track.workload, pace, per_overhead=self._plan.per_overhead, longest_s=self._plan.longest_s)
        track.sizes[BASE] = size
        track.number_is_fixed = bool(pace.own_number)
        for arm in [arm for arm in track.arms if arm != BASE]:
            seen = self._pace(track, arm)
            if seen is not None:
                track.sizes[arm] = slowed_down(size, pace.call_s, seen.call_s, track.workload.timeout_s)

    def _pace(self, track: Track, arm: str) -> Pace | None:
        """What a warm-up launch shows; an arm that shows nothing, however often it is tried, leaves the track."""
        for _ in range(1 + self._plan.retries):
            launched = self._launch(track, arm, CALIBRATING, WARM_UP_ROUND, capture=self._watch is not None)
            if launched.reply is not None or not launched.measurement.noisy:
                break
        if launched.reply is None:
            track.give_up(arm)
        return launched.pace(track.workload)

    def compare_outputs(self, tracks: Sequence[Track]) -> None:
        """Take away the submissions that compute something else than base.

        Where one seems to, base and the expert are captured once more: what they do not repeat themselves is held
        against nobody.
        """
        if self._watch is None:
            return
        by_name = {track.workload.id: track for track in tracks if BASE in track.arms}
        while again := set(self._watch.failing(self._submissions, by_name).values()) - self._confirmed:
            for name in sorted(again):
                for arm in (BASE, EXPERT) if EXPERT in by_name[name].arms else (BASE,):
                    self._launch(by_name[name], arm, CALIBRATING, WARM_UP_ROUND, capture=True)
            self._confirmed |= again
        for arm in self._watch.failing(self._submissions, by_name):
            for track in tracks:
                track.give_up(arm)

    def play(self, track: Track, number: int) -> None:
        """One round: every arm once, back to back, in an order drawn at random."""
        for at in self._order.permutation(len(self._arms)):
            arm = list(self._arms)[at]
            if arm not in track.arms or not track.compares:
                continue
            for _ in range(1 + self._plan.retries):
                if not self._launch(track, arm, track.sizes[arm], number).measurement.noisy:
                    break

    def note_expert(self, tracks: Iterable[Track]) -> None:
        """Note of each workload whether the expert's patch changes it: what it loses is asked of nobody."""
        know_expert({track.workload.id: track.launches for track in tracks}, confidence=self._plan.confidence)

    def claimed(self, tracks: Iterable[Track]) -> frozenset[tuple[str, str]]:
        """(arm, workload) of each speed-up that a submission claims."""
        if not self._doubted:
            return frozenset()
        standing = [track for track in tracks if BASE in track.arms]
        floors = noise_floors({track.workload.id: track.launches for track in standing})
        found: set[tuple[str, str]] = set()
        for arm in self._doubted:
            rounds = {track.workload.id: log_ratios(track.launches, arm) for track in standing if arm in track.arms}
            faster = audit.claims(rounds, floors, generator(self._plan.seed, arm, "claims"))
            found |= {(arm, workload) for workload in faster}
        return frozenset(found)

    def failing(self, tracks: Iterable[Track]) -> Collection[str]:
        """The submissions that compute something else than base somewhere."""
        names = [track.workload.id for track in tracks]
        return self._watch.failing(self._submissions, names) if self._watch else ()

    def audit(self, track: Track, claimed: Collection[tuple[str, str]], failing: Collection[str]) -> None:
        """Launch the arms whose clock has to be checked, and base beside them, with and without their calls.

        That is: what claims a speed-up that counts, and what looks odd; not those that have failed anyway.
        """
        standing = track.arms if BASE in track.arms else []
        doubted = [arm for arm in standing if arm in self._doubted and arm not in failing]
        claims = {arm for arm in doubted if (arm, track.workload.id) in claimed and not track.is_spared(arm)}
        suspects = [arm for arm in doubted if arm in claims or track.looks_odd(arm)]
        for number in range(audit.MOST_AUDIT_LAUNCHES):
            enough = number >= audit.AUDIT_LAUNCHES
            suspects = [arm for arm in suspects if arm in track.arms and (not enough or track.undecided(arm))]
            if not suspects:
                return
            for arm in (BASE, *suspects):
                size = track.audit_size(arm)
                self._launch(track, arm, size, FULL_ROUND)
                self._launch(track, arm, size, EMPTY_ROUND, call=False)

    def check_fresh(self, track: Track, claimed: Collection[tuple[str, str]], lottery: random.Random) -> None:
        """Launch what claims a speed-up on other inputs than the suite's, where base and the expert can run on them."""
        claims = {arm: track.claim(arm) for arm in track.arms if (arm, track.workload.id) in claimed}
        if not claims or not {BASE, EXPERT} <= set(track.arms) or self._watch is None:
            return

        rounds: dict[tuple[int, Kind], int] = {}

        def made(arm: str, fresh: Fresh, beside: Beside | None) -> Launched:
            number = rounds.setdefault((fresh.twist, fresh.kind), FIRST_ROUNDS[fresh.kind] - len(rounds))
            order = Order(self._benchmark_dir, arm, number, self._plan.cpu, fresh=fresh)
            for _ in range(1 + self._plan.retries):
                launched = launch(self._arms[arm], track.workload, CALIBRATING, order)
                if not launched.measurement.noisy:
                    break
            measurement = kept(launched, fresh, beside)
            if measurement:
                self._keep(track, measurement)
            return launched

        check = FreshCheck(made, track.launches.everything, track.is_settled, lottery)
        for arm, unlike in check.run(claims).items():
            self._watch.refute(track.workload.id, arm, unlike)

    def result(self, wall_s: float) -> Measured:
        """Everything that was seen, summed up."""
        timed = [launch for launch in self._made if launch.round >= 0 and not launch.noisy]
        cost = Cost(
            launches=len(self._made),
            wall_s=wall_s,
            cpu_s=sum(launch.cpu_s or 0.0 for launch in self._made),
            timed_s=sum(audit.timed_seconds(launch) for launch in timed),
        )
        plan, arms = self._plan, tuple(self._arms)
        summaries = summarise(
            self._made, seed=plan.seed, confidence=plan.confidence, arms=arms, earlier=plan.earlier_floors
        )
        host = host_facts(self._host, read_host(plan.cpu), (launch.noisy for launch in self._made))
        return Measured(tuple(self._made), summaries, cost, self._outputs(), host)

    def _outputs(self) -> dict[str, tuple[OutputRow, ...]]:
        if self._watch is None:
            return {}
        names = list(dict.fromkeys(launch.workload for launch in self._made))
        return {arm: self._watch.rows(arm, names) for arm in self._arms if arm not in (BASE, CONTROL)}

    def _launch(
        self, track: Track, arm: str, size: LaunchSize, number: int, *, call: bool = True, capture: bool = False
    ) -> Launched:
        seed = self._capture_seed if capture else None
        order = Order(self._benchmark_dir, arm, number, self._plan.cpu, call, seed)
        launched = launch(self._arms[arm], track.workload, size, order)
        if self._watch is not None:
            self._watch.add(track.workload.id, arm, launched.capture)
        self._keep(track, launched.measurement)
        return launched

    def _keep(self, track: Track, measurement: Measurement) -> None:
        track.add(measurement)
        self._made.append(measurement)
        self._sink(measurement)
        if measurement.round >= WARM_UP_ROUND:
            self._planned.add((measurement.workload, measurement.arm, measurement.round))
        else:
            self._unplanned += 1
        if self._progress:
            self._progress(self._so_far(measurement))

    def _so_far(self, last: Measurement) -> Progress:
        if last.round < WARM_UP_ROUND:
            return Progress(self._unplanned, None, last.round, last.workload)
        most = self._plan.most_rounds if last.round >= self._plan.max_rounds else None
        return Progress(len(self._planned), self._expected, last.round, last.workload, most)
