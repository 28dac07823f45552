"""Half-width of a ratio's interval after 12 rounds, beside the spread of sequential asv at equal cpu time."""

from statistics import median

import numpy as np
from benchmarks.launches import runs
from benchmarks.subjects import Run

from datasmith.stats.paired import interval
from datasmith.workloads.base import BASE, CONTROL
from datasmith.workloads.summary import Launches, by_workload, log_ratios

ROUNDS = 12
HALVES = 400
TWO_SIDED = 1.96


def paired_half_width(launches: Launches) -> float | None:
    """Of the first twelve rounds; None where there are fewer."""
    rounds = log_ratios(launches, CONTROL)[:ROUNDS]
    if len(rounds) < ROUNDS:
        return None
    low, high = interval(rounds)
    return (high - low) / 2


def sequential_half_width(launches: Launches) -> float | None:
    """1.96 times the scatter of ln(t_base / t_base2) where each side is two launches in a row at some moment.

    That is asv's way (two processes per commit, one commit after the other); the estimate is then scaled by
    sqrt(2 / 12) to the cpu time of twelve launches per side, as if its errors were independent: in asv's favour.
    """
    base, other = launches.usable(BASE), launches.usable(CONTROL)
    rounds = sorted(base.keys() & other.keys())[:ROUNDS]
    if len(rounds) < ROUNDS:
        return None
    source = np.random.default_rng(0)
    found = []
    for _ in range(HALVES):
        first, second = source.integers(0, ROUNDS - 1, size=2)
        ours = [sample for at in (first, first + 1) for sample in base[rounds[at]].samples]
        theirs = [sample for at in (second, second + 1) for sample in other[rounds[at]].samples]
        found.append(np.log(median(ours) / median(theirs)))
    return float(TWO_SIDED * np.std(found) * np.sqrt(2 / ROUNDS))


def widths(made: list[Run]) -> tuple[list[float], list[float]]:
    """Half-widths of all workloads of all runs, by both ways."""
    every = [launches for run in made for launches in by_workload(run).values()]
    paired = [width for width in map(paired_half_width, every) if width is not None]
    sequential = [width for width in map(sequential_half_width, every) if width is not None]
    return paired, sequential


def main() -> None:
    """Print the medians and their ratio."""
    paired, sequential = widths(runs(__doc__ or ""))
    if not paired:
        raise SystemExit("no workload has 12 undisturbed rounds: is the machine busy? (try --cpu -1)")
    low, high = np.quantile(paired, [0.1, 0.9])
    print(f"paired, {ROUNDS} rounds: median +-{median(paired):.2%} (80 % of {len(paired)}: {low:.2%} to {high:.2%})")
    print(f"one arm after the other, equal cpu time: median +-{median(sequential):.2%}")
    print(f"ratio: {median(sequential) / median(paired):.2f} (target 2)")


if __name__ == "__main__":
    main()
