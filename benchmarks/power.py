"""How often a planted slow-down of 2 % is found within 60 s per workload, beside sequential asv at equal cpu time.

Run: `python -m benchmarks.power [--budget 5400] [--slower 0.02] [--seconds 60] [--ways ...]`. Ways: pairs, what a
certificate is made of; those of `fc-eval confirm`, the fastest of short samples and instructions per call; and asv, in
the cpu time that pairs used, and again in the seconds that the fastest samples took on the core, with all that they do
beside timing. One session of all takes some 170 s for each of ten workloads (28 minutes), of `--ways fastest asv` 50 to
100 s (8 to 17 minutes); sessions are repeated while the budget lasts.
Ten workloads of one suite: five do 2 % more work under the patch, five do not, so that false alarms show, too.
"""

import argparse
import math
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from statistics import median

from benchmarks import planted_work
from benchmarks.aa_rate import ASV_LEVEL, told
from benchmarks.subjects import Run, Subject, repeated, seeded
from scipy.stats import mannwhitneyu  # type: ignore[import-untyped]

from datasmith.counted import counted
from datasmith.docker.engine import Container
from datasmith.workloads.base import BASE, EXPERT, Measurement, Workload
from datasmith.workloads.calibrate import LaunchSize
from datasmith.workloads.fastest import MOST_SECONDS, SECONDS, Fastest, fastest
from datasmith.workloads.instructions import FLOOR, counter_in, per_call
from datasmith.workloads.launch import Order, launch
from datasmith.workloads.measure import measure
from datasmith.workloads.plan import MeasurePlan
from datasmith.workloads.summary import by_workload, summarise

MOST_ROUNDS = 400
CUTS = (0.25, 0.5, 1.0)
"""Shares of the seconds at which the same launches are looked at."""
INSTRUCTIONS = "instructions per call"
FASTEST = f"fastest samples, {SECONDS:g} to {MOST_SECONDS:g} s"
WAYS = ("pairs", "asv", "fastest", "instructions")
SIZING_ROUNDS = 2
"""Rounds that tell how long a launch is, where no pairs are asked for."""
COUNTED_CALLS = 50
ASV_FACTOR = 1.1
"""`asv compare` and `asv continuous` call nothing a change that is smaller, unless they are told to."""


@dataclass
class Counts:
    """(found, workloads) by whether the slow-down was planted, half the width of each interval of ln ratio, seconds."""

    found: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    total: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    widths: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, workload: str, found: bool, half_width: float | None = None) -> None:
        """Count one workload."""
        planted = planted_work.is_planted(workload)
        self.found[planted] += found
        self.total[planted] += 1
        self.widths += [] if half_width is None else [half_width]

    def show(self, name: str) -> None:
        """Print power and false alarms."""
        if not all(self.total.values()):
            print(f"{name}: too few undisturbed launches: is the machine busy? (try --cpu -1)")
        else:
            power, wrong = (told(self.found[planted], self.total[planted]) for planted in (True, False))
            width = f"; intervals of ±{median(self.widths):.1%}" if self.widths else ""
            longest = f"; at most {max(self.seconds):.1f} s per workload" if self.seconds else ""
            print(f"{name}: power {power}; false alarms {wrong}{width}{longest}")


def cut(run: Run, seconds: float) -> Run:
    """The launches of each workload up to so many seconds of wall time, warm-ups and disturbed ones included."""
    kept: Run = []
    for launches in by_workload(run).values():
        rows = sorted((row for arm in launches.by_arm.values() for row in arm), key=lambda row: row.round)
        kept += [row for row, used in zip(rows, accumulate(row.wall_s for row in rows), strict=True) if used <= seconds]
    return kept


def found(run: Run, seed: int) -> dict[str, tuple[bool, float]]:
    """Workload -> whether the patched arm is called changed, rightly or not, and half its interval's width."""
    rows = summarise(run, seed=seed)[EXPERT].workloads
    return {row.workload: (row.changed, math.log(row.high / row.low) / 2) for row in rows if row.low and row.high}


def one_after_the_other(
    arms: Mapping[str, Container], workloads: Sequence[Workload], paired: Run, plan: MeasurePlan, seconds: float
) -> dict[str, tuple[list[float], list[float]]]:
    """Asv's way: all launches of base, then all of the patched arm, of the same sizes; samples by workload.

    The paired rounds of a workload cost the cpu time of three arms; here it goes to two.
    """
    samples: dict[str, tuple[list[float], list[float]]] = {workload.id: ([], []) for workload in workloads}
    usual = by_workload(paired)
    for at, arm in enumerate((BASE, EXPERT)):
        for workload in workloads:
            seen = list(usual[workload.id].usable(BASE).values())
            if not seen:
                continue
            size = LaunchSize(seen[0].number, len(seen[0].samples), 0.0)
            cpu_s = median(row.cpu_s or row.wall_s for row in seen)
            for number in range(max(2, round(seconds / 2 / cpu_s))):
                made: Measurement = launch(
                    arms[arm], workload, size, Order("benchmarks", arm, number, plan.cpu)
                ).measurement
                samples[workload.id][at].extend(made.samples)
    return samples


def cpu_seconds(run: Run, workload: str) -> float:
    """What the launches of one workload used."""
    return sum(row.cpu_s or row.wall_s for row in run if row.workload == workload)


def count(arms: Mapping[str, Container], subject: Subject, tally: Counts) -> None:
    """The second channel: instructions of one call in both arms; more than its noise apart is a change."""
    counter = counter_in(arms[BASE])
    for workload in subject.workloads:
        started = time.monotonic()
        calls = [per_call(counter, arms[arm], workload, COUNTED_CALLS, subject.benchmark_dir) for arm in (BASE, EXPERT)]
        told = [one for one in calls if isinstance(one, str)]
        if told:
            raise SystemExit(f"{workload.id}: {told[0]}")
        base, other = map(float, calls)
        tally.add(workload.id, abs(math.log(base / other)) > FLOOR)
        tally.seconds.append(time.monotonic() - started)


def short_samples(
    arms: Mapping[str, Container], subject: Subject, plan: MeasurePlan, tallies: Mapping[str, Counts]
) -> list[float]:
    """The other channel by the clock: the fastest of many short samples; gives the seconds of each, on one core."""
    spent = list[float]()
    for workload in subject.workloads:
        started = time.monotonic()
        seen: Fastest = fastest(
            arms[BASE], arms[EXPERT], workload, benchmark_dir=subject.benchmark_dir, cpu=plan.cpu, seed=plan.seed
        )
        if seen.low is None or seen.high is None:
            print(f"{workload.id}: {seen.reason}")
            tallies[FASTEST].add(workload.id, found=False)
            continue
        tallies[FASTEST].add(workload.id, seen.changed, math.log(seen.high / seen.low) / 2)
        spent.append(time.monotonic() - started)
    tallies[FASTEST].seconds += spent
    return spent


def count_asv(
    samples: Mapping[str, tuple[list[float], list[float]]], tallies: Mapping[str, Counts], beside: str
) -> None:
    """Count what asv finds in samples that took the cpu time of another way."""
    for workload, (base, other) in samples.items():
        if base and other:
            different = bool(mannwhitneyu(base, other).pvalue < ASV_LEVEL)
            factor = max(median(base) / median(other), median(other) / median(base))
            test, decision = asv_names(beside)
            tallies[test].add(workload, different)
            tallies[decision].add(workload, different and factor >= ASV_FACTOR)


def asv_names(beside: str) -> tuple[str, str]:
    """What asv's two counts are called that had the cpu time of another way."""
    return f"asv, its test alone, in the time of {beside}", f"asv, as `asv compare` decides, in the time of {beside}"


def session(subject: Subject, plan: MeasurePlan, chosen: argparse.Namespace, tallies: Mapping[str, Counts]) -> None:
    """Count; asv has the time of each way that was asked for beside it. Pairs are cut at several times."""
    with ExitStack() as stack:
        arms = stack.enter_context(subject.arms({EXPERT: planted_work.patch(chosen.slower)}))
        if "instructions" in chosen.ways:
            count(arms, subject, tallies[INSTRUCTIONS])
        if "fastest" in chosen.ways:
            spent = short_samples(arms, subject, plan, tallies)
            if "asv" in chosen.ways and spent:
                few = replace(plan, min_rounds=SIZING_ROUNDS, max_rounds=SIZING_ROUNDS)
                sizes: Run = []
                measure(arms, subject.workloads, few, benchmark_dir="benchmarks", sink=sizes.append)
                count_asv(one_after_the_other(arms, subject.workloads, sizes, plan, median(spent)), tallies, "fastest")
        if "pairs" not in chosen.ways:
            return
        run: Run = []
        measure(arms, subject.workloads, plan, benchmark_dir="benchmarks", sink=run.append)
        for share in CUTS:
            for workload, (changed, half_width) in found(cut(run, share * chosen.seconds), plan.seed).items():
                tallies[f"paired, {share * chosen.seconds:g} s"].add(workload, changed, half_width)
        if "asv" not in chosen.ways:
            return
        whole = cut(run, chosen.seconds)
        budget = median(cpu_seconds(whole, workload.id) for workload in subject.workloads)
        count_asv(one_after_the_other(arms, subject.workloads, whole, plan, budget), tallies, "pairs")


def rounds_for(seconds: float) -> int:
    """Rounds that certainly fill the seconds: three launches of at least a tenth of a second each."""
    return min(MOST_ROUNDS, max(20, round(seconds / 0.45)))


def main() -> None:
    """Repeat sessions while the budget lasts, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=5400.0, help="seconds after which no further session is begun")
    parser.add_argument("--seconds", type=float, default=60.0, help="wall seconds per workload, all arms together")
    parser.add_argument("--slower", type=float, default=0.02, help="share of more work")
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="all by default; asv needs another")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="core to pin to; -1: none")
    chosen = parser.parse_args()
    timed = [way for way in ("pairs", "fastest") if way in chosen.ways]
    if "asv" in chosen.ways and not timed:
        parser.error("--ways asv: it gets the cpu time that another way used (example: --ways fastest asv)")
    named = {
        "pairs": tuple(f"paired, {share * chosen.seconds:g} s" for share in CUTS),
        "asv": tuple(name for way in timed for name in asv_names(way)),
        "fastest": (FASTEST,),
        "instructions": (INSTRUCTIONS,),
    }
    tallies = {name: Counts() for way, names in named.items() if way in chosen.ways for name in names}
    rounds = rounds_for(chosen.seconds)
    plan = MeasurePlan(
        min_rounds=rounds, max_rounds=rounds, target_half_width=1e-6, cpu=chosen.cpu if chosen.cpu >= 0 else None
    )
    print(f"{chosen.slower:.1%} more work, {chosen.seconds:g} s of wall time per workload (target: power 0.9)")
    with tempfile.TemporaryDirectory() as place:
        subject = planted_work.subject(Path(place))

        def once(at: int) -> None:
            """A session, and what all so far have shown: they take long, and may be stopped at any time."""
            session(subject, seeded(plan, at), chosen, tallies)
            print(f"after {counted(at + 1, 'session')}:", flush=True)
            for name, counts in tallies.items():
                counts.show(name)

        repeated(chosen.budget, chosen.sessions, once)


if __name__ == "__main__":
    main()
