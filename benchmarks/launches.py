"""Launches to compute figures from: what runs left behind, or A/A measurements made here, of a suite or a clone's."""

import argparse
import dataclasses
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.subjects import Run, Subject, of_clone, of_tests, repeated, seeded

from datasmith.workloads.base import Measurement
from datasmith.workloads.plan import MeasurePlan

LAUNCHES = "*.jsonl"


def runs(description: str) -> list[Run]:
    """One list of launches per measurement, as the command line asks for."""
    return chosen_runs(options(description).parse_args())


def chosen_runs(chosen: argparse.Namespace) -> list[Run]:
    """Read the launches that the options name, or make them."""
    if chosen.files:
        return [run for run in map(read, files(chosen.files)) if run]
    plan = MeasurePlan(min_rounds=chosen.rounds, max_rounds=chosen.rounds, cpu=chosen.cpu if chosen.cpu >= 0 else None)
    with tempfile.TemporaryDirectory() as place:
        there, clone = Path(place), chosen.clone
        subject = of_clone(clone, there, needs=chosen.needs, skip=chosen.skip) if clone else of_tests(there)
        return made_here(subject, plan, chosen)


def options(description: str) -> argparse.ArgumentParser:
    """The options that all figures of launches share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "files", nargs="*", type=Path, help="files of launches, run folders, data directories; none: measure here"
    )
    parser.add_argument("--clone", type=Path, help="measure the suite of this clone's newest state")
    parser.add_argument("--needs", nargs="*", default=[], help="packages that the clone's suite imports")
    parser.add_argument("--skip", nargs="*", default=[], help="beginnings of names of benchmarks to leave out")
    parser.add_argument("--repeats", type=int, default=3, help="A/A measurements of the suite to make")
    parser.add_argument("--budget", type=float, default=600.0, help="seconds after which no further one is begun")
    parser.add_argument("--out", type=Path, help="directory to keep the launches in, one file a measurement")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="core to pin to; -1: none")
    return parser


def files(places: Iterable[Path]) -> Iterator[Path]:
    """The files of launches at or below some places; of a run folder the shared arms' (agents are no A/A)."""
    for place in places:
        if place.is_file():
            yield place
            continue
        kept = {*place.rglob(f"measurements/{LAUNCHES}"), *place.rglob(f"_arms/*/{LAUNCHES}")}
        found = kept or {*place.glob(LAUNCHES)}
        if not found:
            raise SystemExit(f"{place}: no launches there")
        yield from sorted(found)


def read(path: Path) -> Run:
    """The launches of one file of JSON lines."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [Measurement(**{**row, "samples": tuple(row["samples"])}) for row in rows]


def write(path: Path, run: Run) -> None:
    """Keep launches as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(dataclasses.asdict(launch)) + "\n" for launch in run), encoding="utf-8")


def made_here(subject: Subject, plan: MeasurePlan, chosen: argparse.Namespace) -> list[Run]:
    """A/A measurements: base and base2, each time in fresh containers."""
    made: list[Run] = []

    def once(number: int) -> None:
        made.append(subject.measured(seeded(plan, number)))
        if chosen.out:
            write(chosen.out / f"{os.getpid()}-{number}.jsonl", made[-1])
        print(
            f"measurement {number + 1}: {len(subject.workloads)} workloads, {len(made[-1])} launches", file=sys.stderr
        )

    repeated(chosen.budget, chosen.repeats, once)
    return made
