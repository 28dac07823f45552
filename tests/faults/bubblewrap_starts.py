"""Kills processes while they start a command in a sandbox, and tells how often something of it lived on."""

import os
import random
import signal
import sys
import time
from pathlib import Path

from datasmith.docker.engine import Container
from tests.faults.bubblewrap_child import build, shown_in_processes

LATEST_S = 0.05
"""A start takes about 25 ms; where two cores are busy, more."""
PATIENCE_S = 2.0


def killed(container: Container, mark: str, after_s: float) -> list[int]:
    """What is left of a start that is killed so late; all of it bears the mark, and is killed then."""
    child = os.fork()
    if child == 0:
        container.exec(["sh", "-c", "sleep 30; true", mark], timeout=60)
        os._exit(0)
    time.sleep(after_s)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    deadline = time.monotonic() + PATIENCE_S
    while (left := shown_in_processes(mark)) and time.monotonic() < deadline:
        time.sleep(0.01)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return left


def main() -> None:
    """Build, then start and kill so many times."""
    cache, starts = Path(sys.argv[1]), int(sys.argv[2])
    engine, image = build(cache)
    rng = random.Random(3)
    marks = [f"mark-{os.getpid()}-{number}" for number in range(starts)]
    with engine.start(image) as container:
        left = sum(bool(killed(container, mark, rng.uniform(0, LATEST_S))) for mark in marks)
    print(f"left {left} of {starts}")


if __name__ == "__main__":
    main()
