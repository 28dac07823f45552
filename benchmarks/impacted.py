"""Fast mode on real tasks: recall of the workloads that changed, the share left out, the overhead of both modes.

Run: `python -m benchmarks.impacted TASKS ... [--measure] [--budget 3600]`, where TASKS are directories of task folders
with certificates, and their images lie in FC_CACHE_DIR (or are built with --build). A minute per task for what the
workloads run; with --measure both modes are timed, too: some minutes per task.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from datasmith.docker.engine import Container, ContainerEngine, ImageRef
from datasmith.docker.engines import limits_of, open_engine
from datasmith.errors import DatasmithError
from datasmith.evaluation.images import build_again
from datasmith.evaluation.records import SelectionRecord
from datasmith.evaluation.selection import ALL, impacted
from datasmith.settings import Settings, load_settings
from datasmith.tasks.certificate import Cost
from datasmith.tasks.folder import read_task
from datasmith.tasks.task import Task
from datasmith.workloads.arms import prepare, start_arm, suite_print
from datasmith.workloads.base import BASE, CONTROL, EXPERT, SCORED_KINDS
from datasmith.workloads.discover import discover
from datasmith.workloads.measure import measure
from datasmith.workloads.plan import MeasurePlan
from datasmith.workloads.touched import Suite

TIMEOUT_S = 3600.0


@dataclass(frozen=True)
class Row:
    """One task: how many workloads it has, how many changed, and which of both were selected."""

    task_id: str
    workloads: int
    selected: int
    changed: int
    found: int
    reason: str
    seconds: float
    full: Cost | None = None
    fast: Cost | None = None

    def __str__(self) -> str:
        """A line of the table."""
        said = (
            f"{self.task_id}: {self.selected} of {self.workloads} selected, {self.found} of {self.changed} changed ones"
        )
        modes = [f"; {name}: {told(cost)}" for name, cost in (("full", self.full), ("fast", self.fast)) if cost]
        return f"{said} ({self.seconds:.0f} s; {self.reason}){''.join(modes)}"


def told(cost: Cost) -> str:
    """What a mode cost."""
    return f"{cost.launches} launches, {cost.wall_s:.0f} s, {cost.overhead_share:.0%} overhead"


def task_folders(places: Sequence[Path]) -> Iterator[Path]:
    """Folders of tasks at or below some places that have a certificate."""
    for place in places:
        yield from sorted(path.parent for path in place.rglob("certificate.json"))


class Bench:
    """Looks at one task after the other."""

    def __init__(self, settings: Settings, options: argparse.Namespace) -> None:
        self._settings = settings
        self._engine: ContainerEngine = open_engine(settings)
        self._options = options

    def row(self, folder: Path) -> Row:
        """What fast mode would do with the expert's patch of a task; with --measure also what both modes cost."""
        task = read_task(folder)
        certificate = task.certificate
        changed = {row.workload for row in certificate.expert.changed} if certificate else set()
        image = self._image(task, folder)
        with ExitStack() as stack:
            suite, arms = self._arms(task, image, stack)
            started = time.monotonic()
            kept_in = self._settings.cache_dir / "coverage"
            record = impacted(arms[BASE], suite, [task.expert_patch], earlier=(), kept_in=kept_in, say=lambda *_: None)
            took_s = time.monotonic() - started
            both = self._both(suite, arms, record) if self._options.measure else (None, None)
        reason = next(iter(record.selected.values()))
        return Row(
            task_id=task.task_id,
            workloads=len(suite.workloads),
            selected=0 if reason == ALL else len(record.selected),
            changed=len(changed),
            found=0 if reason == ALL else len(changed & record.selected.keys()),
            reason=reason,
            seconds=took_s,
            full=both[0],
            fast=both[1],
        )

    def _image(self, task: Task, folder: Path) -> ImageRef:
        image = self._engine.inspect(task.image_digest)
        if image is None and not self._options.build:
            raise DatasmithError(f"{task.task_id}: its image is not in {self._settings.cache_dir} (try --build)")
        with tempfile.TemporaryDirectory() as place:
            return image or build_again(self._engine, self._settings, task, folder, log=Path(place) / "build.log")

    def _arms(self, task: Task, image: ImageRef, stack: ExitStack) -> tuple[Suite, dict[str, Container]]:
        arms: dict[str, Container] = {}
        suite = Suite((), task.benchmark_dir, "", image.digest)
        patches = {BASE: "", CONTROL: "", EXPERT: task.expert_patch} if self._options.measure else {BASE: ""}
        for name, patch in patches.items():
            writable = start_arm(
                self._engine,
                image,
                patch=patch,
                rebuild_script=task.build.files.get("docker_build_pkg.sh") if task.compiled else None,
                build_args=task.build.build_args,
                limits=limits_of(self._settings),
                timeout=TIMEOUT_S,
                suite=task.suite_patch,
            )
            if name == BASE:
                found = discover(writable, task.benchmark_dir, default_timeout_s=task.benchmark_timeout_s).workloads
                wanted = [work for work in found if work.id in set(task.workloads) and work.kind in SCORED_KINDS]
                printed = suite_print(writable, task.benchmark_dir)
                suite = Suite(wanted, task.benchmark_dir, printed, image.digest)
            arms[name] = stack.enter_context(prepare(writable, suite.workloads, task.benchmark_dir, suite=suite.print))
        return suite, arms

    def _both(self, suite: Suite, arms: dict[str, Container], record: SelectionRecord) -> tuple[Cost, Cost]:
        plan = MeasurePlan(cpu=self._options.cpu if self._options.cpu >= 0 else None)
        chosen = [workload for workload in suite.workloads if workload.id in record.selected]
        modes = ((suite.workloads, plan), (chosen, plan.long_launches()))
        costs = [
            measure(arms, workloads, mode, benchmark_dir=suite.benchmark_dir, sink=lambda _: None).cost
            for workloads, mode in modes
        ]
        return costs[0], costs[1]


def show(rows: Sequence[Row]) -> None:
    """Print the sums."""
    changed, found = sum(row.changed for row in rows), sum(row.found for row in rows)
    workloads, selected = sum(row.workloads for row in rows), sum(row.selected for row in rows)
    if not workloads:
        raise SystemExit("no task could be looked at")
    recall = f"{found / changed:.1%}" if changed else "not known: none changed"
    print(f"{len(rows)} tasks: recall {recall} ({found} of {changed} changed workloads are selected)")
    print(f"left out: {1 - selected / workloads:.1%} of {workloads} workloads")
    for name, costs in (("full", [row.full for row in rows]), ("fast", [row.fast for row in rows])):
        made = [cost for cost in costs if cost is not None]
        if made:
            wall_s, timed_s = sum(cost.wall_s for cost in made), sum(cost.timed_s for cost in made)
            print(f"{name}: {wall_s:.0f} s, overhead {1 - timed_s / wall_s:.1%} (target of fast mode: 50 %)")


def main() -> None:
    """Look at tasks while the budget lasts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="+", type=Path, help="directories of task folders")
    parser.add_argument("--measure", action="store_true", help="time base, base2 and expert in both modes")
    parser.add_argument("--build", action="store_true", help="build images that are not here")
    parser.add_argument("--budget", type=float, default=3600.0, help="seconds after which no further task is begun")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="core to pin to; -1: none")
    chosen = parser.parse_args()
    bench, started = Bench(load_settings(), chosen), time.monotonic()
    rows = []
    for folder in task_folders(chosen.places):
        if time.monotonic() - started > chosen.budget:
            break
        try:
            rows.append(bench.row(folder))
        except DatasmithError as error:
            print(f"{folder.name}: not looked at: {error}")
        else:
            print(rows[-1], flush=True)
    show(rows)


if __name__ == "__main__":
    main()
