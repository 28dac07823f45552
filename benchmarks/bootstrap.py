"""Seconds of the hierarchical bootstrap of a whole board: 8 configurations, 1,584 tasks of 265 workloads."""

import argparse
import time
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from datasmith.evaluation.intervals import QUANTITIES, Attempt, RoundRatios, TaskDraws
from datasmith.metrics.levels import LEVELS


class Spent:
    """Adds up wall and cpu seconds of the blocks that it is entered for."""

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0

    def __enter__(self) -> None:
        self.wall_s -= time.perf_counter()
        self.cpu_s -= time.process_time()

    def __exit__(self, *_error: object) -> None:
        self.wall_s += time.perf_counter()
        self.cpu_s += time.process_time()

    def __str__(self) -> str:
        return f"{self.wall_s:.1f} s wall, {self.cpu_s:.1f} s cpu"


def names(workloads: int) -> list[str]:
    """Workloads of a suite: parameters within functions within classes within modules."""
    return [f"m{at // 50}.C{at // 10}.time_{at // 3}({at})" for at in range(workloads)]


def board(args: argparse.Namespace) -> Iterator[tuple[str, dict[str, list[Attempt]]]]:
    """The tasks one after the other, each with an attempt of every configuration: 2 % noise around small gains."""
    rng = np.random.default_rng(0)
    workloads = names(args.workloads)
    for task in range(args.tasks):
        gains = rng.normal(0.05, 0.1, size=(args.configurations + 1, args.workloads, 1))
        logs = gains + rng.normal(0.0, 0.02, size=(args.configurations + 1, args.workloads, args.rounds))
        *agents, expert = logs.tolist()
        yield (
            f"task-{task}",
            {
                f"agent-{number}": [[RoundRatios(*cells) for cells in zip(workloads, agent, expert, strict=True)]]
                for number, agent in enumerate(agents)
            },
        )


def main() -> None:
    """Print the seconds of redrawing and of the intervals, and one interval."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("configurations", 8), ("tasks", 1584), ("workloads", 265), ("rounds", 12)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--resamples", type=int, default=1000)
    args = parser.parse_args()
    draws = TaskDraws(n_tasks=args.tasks, seed=0, resamples=args.resamples)
    drawing = Spent()
    for task, agents in board(args):
        with drawing:
            draws.add(task, agents)
    labels = [f"agent-{number}" for number in range(args.configurations)]
    ending = Spent()
    with ending:
        found = {label: draws.intervals(label) for label in labels}
        pairs = [draws.difference(*pair) for pair in combinations(labels, 2)]
    sizes = f"{args.tasks} tasks x {args.workloads} workloads x {args.rounds} rounds"
    print(f"{args.configurations} configurations x {sizes}, {args.resamples} resamples")
    print(f"redraws of tasks: {drawing}")
    print(f"{len(QUANTITIES)} intervals each ({len(LEVELS)} levels among them) and {len(pairs)} differences: {ending}")
    print(f"together: {drawing.wall_s + ending.wall_s:.1f} s wall (target 60)")
    print(f"for example, the advantage of {labels[0]}: {found[labels[0]].at('overall')}")


if __name__ == "__main__":
    main()
