"""How the same measurement does on a quiet machine and beside two busy processes: intervals, and what is flagged.

Run: `python -m benchmarks.neighbours [--budget 1800] [--rounds 12] [--settings ...]`. Neighbours run on the cores that
are not measured on, then free, then on the one that is.
Truth is known: base2 is base, and the patched arm does exactly `--slower` more work in half of the workloads.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import planted_work
from benchmarks.aa_rate import told
from benchmarks.subjects import Run, repeated, seeded

from datasmith.workloads.base import CONTROL, EXPERT
from datasmith.workloads.plan import MeasurePlan
from datasmith.workloads.summary import INVALID, aa_false_positives, summarise

BUSY = "x = 1\nwhile True:\n    x = (x * 48271) % 2147483647\n"
NEIGHBOURS = 2
SETTINGS = ("quiet", "other cores", "anywhere", "same core")


@contextmanager
def neighbours(where: str, core: int) -> Iterator[None]:
    """Two processes that never rest; none where it is to be quiet."""
    cores = {"same core": {core}, "other cores": os.sched_getaffinity(0) - {core}}.get(where, set[int]())
    pinned = ["taskset", "-c", ",".join(map(str, sorted(cores)))] if cores else []
    words = [*pinned, sys.executable, "-c", BUSY]
    busy = [subprocess.Popen(words) for _ in range(0 if where == "quiet" else NEIGHBOURS)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@dataclass
class Seen:
    """What measurements in one setting showed."""

    launches: int = 0
    noisy: int = 0
    called: int = 0
    testable: int = 0
    invalid: int = 0
    workloads: int = 0
    held: dict[str, list[bool]] = field(default_factory=lambda: {"same code": [], "planted": []})
    widths: list[float] = field(default_factory=list)

    def add(self, run: Run, seed: int, truth: float) -> None:
        """Count one measurement; `truth` is the ratio of what is planted."""
        counted = [launch for launch in run if launch.round >= 0]
        self.launches += len(counted)
        self.noisy += sum(launch.noisy for launch in counted)
        found = summarise(run, seed=seed)
        changed, testable = aa_false_positives(found[CONTROL])
        self.called, self.testable = self.called + changed, self.testable + testable
        for arm in (CONTROL, EXPERT):
            for row in found[arm].workloads:
                self.workloads += 1
                if row.low is None or row.high is None:
                    self.invalid += (row.reason or "").startswith(INVALID)
                    continue
                planted = arm == EXPERT and planted_work.is_planted(row.workload)
                expected = truth if planted else 1.0
                self.held["planted" if planted else "same code"].append(row.low <= expected <= row.high)
                self.widths.append((row.high - row.low) / 2)

    def show(self, name: str) -> None:
        """Print."""
        if not self.launches:
            return
        print(f"{name}: {self.noisy} of {self.launches} launches flagged ({self.noisy / self.launches:.1%}), ", end="")
        print(f"{self.invalid} of {self.workloads} workloads without a ratio because of it")
        for kind, held in self.held.items():
            if held:
                print(f"  intervals that hold the truth, {kind}: {told(sum(held), len(held))}")
        if self.widths:
            print(f"  half-width of intervals: median +-{sorted(self.widths)[len(self.widths) // 2]:.2%}")
        if self.testable:
            print(f"  A/A called changed: {told(self.called, self.testable)}")


def main() -> None:
    """Measure in every setting in turn while the budget lasts, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=1800.0, help="seconds after which nothing further is begun")
    parser.add_argument("--repeats", type=int, default=100, help="measurements in each setting")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--slower", type=float, default=0.10, help="share of more work in what is planted")
    parser.add_argument("--settings", nargs="*", default=SETTINGS, choices=SETTINGS)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="core to pin to")
    chosen = parser.parse_args()
    plan = MeasurePlan(min_rounds=chosen.rounds, max_rounds=chosen.rounds, cpu=chosen.cpu)
    seen = {setting: Seen() for setting in chosen.settings}
    with tempfile.TemporaryDirectory() as place:
        subject = planted_work.subject(Path(place))

        def once(number: int) -> None:
            for setting, counts in seen.items():
                with neighbours(setting, chosen.cpu):
                    run = subject.measured(seeded(plan, number), {EXPERT: planted_work.patch(chosen.slower)})
                counts.add(run, number, 1.0 / (1.0 + chosen.slower))

        repeated(chosen.budget, chosen.repeats, once)
    for setting, counts in seen.items():
        counts.show(setting)


if __name__ == "__main__":
    main()
