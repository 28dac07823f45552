"""Time the way of build contexts from task folders and back: from_directory, tar, to_directory, and there and back.

Run: `python benchmarks/contexts.py [TASKS] [--folders 1557]`. TASKS is a directory with task folders; without it as
many are written as asked for, each with its own lock of 40 pins. Target: 5,000 folders a second (the incumbent reads
860), for reading on one core, and for the way there and back on all cores of a machine that has two. Each round is told
by the wall clock and by this process' own cpu time, which a busy machine changes less; what all cores do is told by the
clock alone, so nothing else may run. The reference is the system calls alone: each file is opened, read, closed, made,
written and closed again, and nothing is looked at.
"""

import argparse
import itertools
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from datasmith.docker.context import DockerContext

TARGET = 5_000
INCUMBENT = 860
ROUNDS = 5


def written(place: Path, folders: int) -> list[Path]:
    """Directories like the environment/ of a task."""
    hashes = " ".join(f"--hash=sha256:{number:064x}" for number in range(2))
    made = []
    for number in range(folders):
        lock = "".join(f"package-{number}-{pin}==1.{pin} {hashes}\n" for pin in range(40))
        own = DockerContext.default(lock=lock)
        texts = {**own.texts, "build_args.sh": "FC_INSTALL_DIR=.\n"}
        made.append(DockerContext(texts).to_directory(place / str(number) / "environment"))
        (made[-1] / "repo.tar.gz").write_bytes(b"\x1f\x8b" + bytes(2000))
    return made


def rates(name: str, action: Callable[[], object], count: int) -> float:
    """Print folders per second by both clocks; gives the median by cpu time."""
    wall, cpu = [], []
    for _ in range(ROUNDS):
        began, used = time.perf_counter(), time.process_time()
        action()
        wall.append(count / (time.perf_counter() - began))
        cpu.append(count / (time.process_time() - used))
    middle = statistics.median(cpu)
    print(f"{name:24} {statistics.median(wall):8.0f} /s by the clock  {middle:8.0f} /s by cpu time")
    return middle


def write(contexts: list[DockerContext], target: Path) -> None:
    """All contexts into a new directory."""
    for number, context in enumerate(contexts):
        context.to_directory(target / str(number))


def round_trip(given: list[Path], target: Path) -> None:
    """Each directory read, and written to a new one."""
    for number, path in enumerate(given):
        DockerContext.from_directory(path).to_directory(target / str(number))


def all_cores(given: list[Path], target: Path) -> float:
    """Folders a second there and back, a process a core, which began before; each has an equal share."""
    cores = len(os.sched_getaffinity(0))
    shares = [given[at::cores] for at in range(cores)]
    found = []
    with multiprocessing.get_context("fork").Pool(cores) as pool:
        pool.starmap(round_trip, [(share[:50], target / f"first-{at}") for at, share in enumerate(shares)], 1)
        for number in range(ROUNDS):
            places = [target / f"{number}-{at}" for at in range(cores)]
            began = time.perf_counter()
            pool.starmap(round_trip, zip(shares, places, strict=True), 1)
            found.append(len(given) / (time.perf_counter() - began))
    middle = statistics.median(found)
    print(f"{f'there and back, {cores} cores':24} {middle:8.0f} /s by the clock")
    return middle


def copy(given: list[Path], names: list[list[str]], target: Path) -> None:
    """The same files as bytes, by system calls alone."""
    target.mkdir()
    for number, path in enumerate(given):
        place = f"{target}/{number}"
        os.mkdir(place)  # noqa: PTH102 - a Path costs more than it
        source, made = (os.open(folder, os.O_RDONLY | os.O_DIRECTORY) for folder in (path, place))
        for name in names[number]:
            old = os.open(name, os.O_RDONLY, dir_fd=source)
            data = os.read(old, 1 << 16)
            os.close(old)
            new = os.open(name, os.O_WRONLY | os.O_CREAT, 0o666, dir_fd=made)
            os.write(new, data)
            os.close(new)
        os.close(source)
        os.close(made)


def main() -> None:
    """Rates of reading, of tars, of writing and of the whole way; whether two runs give the same bytes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="?", type=Path)
    parser.add_argument("--folders", type=int, default=1557)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fc-contexts-") as name:
        place = Path(name)
        given = sorted(chosen.tasks.glob("*/environment")) if chosen.tasks else written(place / "tasks", chosen.folders)
        if not given:
            sys.exit(f"{chosen.tasks} holds no task folder (example: tasks)")
        contexts = [DockerContext.from_directory(path) for path in given]
        fresh = itertools.count()
        read = rates("from_directory", lambda: [DockerContext.from_directory(path) for path in given], len(given))
        rates("tar", lambda: [context.tar() for context in contexts], len(given))
        rates("to_directory", lambda: write(contexts, place / f"out-{next(fresh)}"), len(given))
        whole = rates("there and back", lambda: round_trip(given, place / f"out-{next(fresh)}"), len(given))
        names = [[file.name for file in path.iterdir() if file.suffix != ".gz"] for path in given]
        bare = rates("the system calls alone", lambda: copy(given, names, place / f"out-{next(fresh)}"), len(given))
        together = all_cores(given, place / "together")
        print(f"there and back takes {bare / whole:.2f} times as long as its system calls alone (cpu time)")
        target = place / "out-0"
        again = [DockerContext.from_directory(target / str(number)) for number in range(len(contexts))]
        same = all(one == other and one.tar() == other.tar() for one, other in zip(contexts, again, strict=True))
    print(f"{len(given)} contexts come back equal, with the same bytes as tar: {'yes' if same else 'NO'}")
    print(f"the incumbent reads {INCUMBENT} /s: {read / INCUMBENT:.1f} times as fast")
    met = min(read, together) >= TARGET
    print(f"target: {TARGET} /s, read on one core, there and back on all: {'met' if met else 'MISSED'}")
    sys.exit(not same or not met)


if __name__ == "__main__":
    main()
