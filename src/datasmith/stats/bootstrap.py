"""The task's speedup: a geometric mean over workloads, with an interval that comes from their rounds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datasmith.errors import ConfigError
from datasmith.stats.paired import RESAMPLES, checked, interval, middle, resampled_medians


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A geometric mean of ratios and its interval, over n workloads."""

    value: float
    low: float
    high: float
    n: int


def hierarchical(
    log_ratios: Sequence[NDArray[np.float64]],
    *,
    confidence: float = 0.95,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> MeanEstimate:
    """exp(mean over workloads of the median over rounds), rounds being resampled inside each workload.

    `log_ratios` holds one array per workload; their lengths may differ. The workloads themselves are not resampled:
    they are the task, not a draw from more of its kind. A resample of n rounds scatters by sqrt((n - 1) / n)
    too little: each workload's scatter is widened by as much. Of one workload alone the interval is its own.

    Raises:
        ConfigError: no workload, a workload with fewer than two rounds, or a value that is not finite.
    """
    if not log_ratios:
        raise ConfigError("log_ratios: needs at least one workload")
    if not 0.0 < confidence < 1.0:
        raise ConfigError(f"confidence: {confidence} must lie between 0 and 1 (example: 0.95)")
    workloads = [checked(rounds) for rounds in log_ratios]
    medians = [middle(rounds) for rounds in workloads]
    centre = float(np.mean(medians))
    if len(workloads) == 1:
        return MeanEstimate(float(np.exp(centre)), *interval(workloads[0], confidence=confidence), 1)
    off = np.zeros(resamples)
    for rounds, median in zip(workloads, medians, strict=True):
        widening = math.sqrt(len(rounds) / (len(rounds) - 1))
        off += (resampled_medians(rounds, rng, resamples) - median) * widening
    tails = [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0]
    low, high = centre + np.quantile(off / len(workloads), tails)
    return MeanEstimate(float(np.exp(centre)), float(np.exp(low)), float(np.exp(high)), len(workloads))
