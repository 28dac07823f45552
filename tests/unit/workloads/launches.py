"""Made-up launches whose truth is known."""

import numpy as np

from datasmith.workloads.base import BASE, CONTROL, EXPERT, Measurement


def launch(
    arm: str = BASE,
    at: int = 0,
    seconds: float = 0.001,
    workload: str = "m.time_x",
    *,
    samples: tuple[float, ...] | None = None,
    wall_s: float | None = None,
    cpu_s: float | None = 0.2,
    noisy: bool = False,
    reason: str | None = None,
) -> Measurement:
    """One launch in round `at`: ten samples of ten calls each, and 0.15 s of set-up."""
    taken = (seconds,) * 10 if samples is None else samples
    wall = 0.15 + 10 * sum(taken) if wall_s is None else wall_s
    return Measurement(workload, arm, at, taken, 10, wall, cpu_s, 0, noisy, reason)


def history(
    ratios: dict[str, float], *, rounds: int = 12, noise: float = 0.01, seed: int = 0, control: float = 1.0
) -> list[Measurement]:
    """Rounds of base, base2 and expert over workloads, the expert being faster by the given ratio."""
    source = np.random.default_rng(seed)
    made = []
    for number in range(rounds):
        for workload, ratio in ratios.items():
            for arm, factor in ((BASE, 1.0), (CONTROL, control), (EXPERT, ratio)):
                seconds = 0.001 / factor * float(np.exp(source.normal(0, noise)))
                made.append(launch(arm, number, seconds, workload))
    return made
