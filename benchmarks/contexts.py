"""Time the way of build contexts from task folders and back: from_directory, tar, to_directory.

Run: `python benchmarks/contexts.py [TASKS] [--folders 1557]`. TASKS is a directory with task folders; without it as
many are written as asked for, each with its own lock of 40 pins. Target: 5,000 folders a second (the incumbent reads
860). Each round is told by the wall clock and by this process' own cpu time, which a busy machine changes less.
"""

import argparse
import itertools
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
        target = place / "out-0"
        again = [DockerContext.from_directory(target / str(number)) for number in range(len(contexts))]
        same = all(one == other and one.tar() == other.tar() for one, other in zip(contexts, again, strict=True))
    print(f"{len(given)} contexts come back equal, with the same bytes as tar: {'yes' if same else 'NO'}")
    print(f"target: {TARGET} /s read; the incumbent reads {INCUMBENT} /s: {read / INCUMBENT:.1f} times as fast")
    sys.exit(not same or read < TARGET)


if __name__ == "__main__":
    main()
