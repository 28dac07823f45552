"""Launches to compute figures from: files that runs left, or an A/A measurement of the integration tests' suite."""

import argparse
import json
import os
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from tests.integration.planted import planted_image

from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.workloads.arms import prepare, start_arm
from datasmith.workloads.base import BASE, CONTROL, SCORED_KINDS, Measurement, Workload
from datasmith.workloads.discover import discover
from datasmith.workloads.measure import MeasurePlan, measure
from datasmith.workloads.mounts import inside_mounts

Run = list[Measurement]


def runs(description: str) -> list[Run]:
    """One list of launches per measurement, as the command line asks for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("files", nargs="*", type=Path, help="measurements/*.jsonl of fc-data; none: measure here")
    parser.add_argument("--repeats", type=int, default=3, help="A/A measurements of the suite to make")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="core to pin to; -1: none")
    chosen = parser.parse_args()
    if chosen.files:
        return [read(path) for path in chosen.files]
    plan = MeasurePlan(min_rounds=chosen.rounds, max_rounds=chosen.rounds, cpu=chosen.cpu if chosen.cpu >= 0 else None)
    return measured_here(plan, chosen.repeats)


def read(path: Path) -> Run:
    """The launches of one file of JSON lines."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [Measurement(**{**row, "samples": tuple(row["samples"])}) for row in rows]


def measured_here(plan: MeasurePlan, repeats: int) -> list[Run]:
    """A/A measurements: base and base2 of the small suite, each time in fresh containers."""
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        engine = BubblewrapEngine(Path(place) / "cache")
        image = planted_image(engine, Path(place))
        with engine.start(image, mounts=inside_mounts()) as container:
            found = discover(container, "benchmarks").workloads
        workloads = [workload for workload in found if usable(workload)]
        made: list[Run] = []
        for repeat in range(repeats):
            arms = {}
            for arm in (BASE, CONTROL):
                started = start_arm(
                    engine, image, patch="", rebuild_script=None, build_args={}, limits=None, timeout=60
                )
                arms[arm] = stack.enter_context(prepare(started, workloads, "benchmarks"))
            kept: Run = []
            measure(arms, workloads, replace(plan, seed=repeat), benchmark_dir="benchmarks", sink=kept.append)
            made.append(kept)
        return made


def usable(workload: Workload) -> bool:
    """Scored, and not one of those that are there to fail or to choose too few calls."""
    return workload.kind in SCORED_KINDS and not workload.benchmark.startswith(("faulty.", "plain.Told"))
