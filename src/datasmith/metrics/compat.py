"""The reference evaluation's definitions, for comparing with its figures; ours are in the modules beside this one.

`fc-eval report --compat` shows scores, levels, means and costs. Blocks, rows by model, pairs of launches, changes and
distances are in no table of ours: they are here for whoever compares a figure by hand.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from datasmith.errors import ConfigError
from datasmith.metrics.advantage import stratified_advantage
from datasmith.metrics.levels import Level, split_name
from datasmith.metrics.score import as_unchanged
from datasmith.metrics.speedup import Pair, agent_speedup, geometric_mean, is_ratio, valid_pairs

NUMBERED: Mapping[str, Level] = {"L1": "module", "L2": "class", "L3": "function", "L4": "overall"}
"""The reference's numbers of the levels; other parts of it number them in other ways."""
LEGACY_PASS_SHARE = 0.5
DOUBLING = math.log(1.08)
"""The shaped reward rises by 2.5 for each 8 % over the human, twice at most."""
LEAST_PAIRS = 2


@dataclass(frozen=True, slots=True)
class ReferenceScore:
    """One task as the reference scores it: where nothing is valid, 0 and 1 stand for what is not known."""

    task_speedup: float
    levels: Mapping[str, float]
    valid: int
    total: int


def reference_score(pairs: Sequence[Pair], *, passed: bool = True) -> ReferenceScore:
    """Score the ratios of a task; those of a failed trial count 1.0 each.

    The reference itself leaves task_speedup of a failed trial at what was measured: a defect, not repeated here.
    """
    valid = valid_pairs(pairs if passed else as_unchanged(pairs))
    levels = {number: stratified_advantage(valid, level) or 0.0 for number, level in NUMBERED.items()}
    speedup = agent_speedup(valid)
    return ReferenceScore(1.0 if speedup is None else speedup, levels, len(valid), len(pairs))


def pairs_from_samples(
    base: Mapping[str, Sequence[float]], expert: Mapping[str, Sequence[float]], agent: Mapping[str, Sequence[float]]
) -> tuple[Pair, ...]:
    """Speedups from asv's samples, workload -> seconds per call: ratios of medians, NaN left out.

    Workloads of other kinds than time are listed, as the reference counts them, and have no speedup.
    """
    return tuple(
        Pair(name, _ratio(base, agent, name), _ratio(base, expert, name)) if _is_timed(name) else Pair(name, None, None)
        for name in base
    )


def _is_timed(workload: str) -> bool:
    return (split_name(workload).function or "").startswith("time")


def _ratio(base: Mapping[str, Sequence[float]], arm: Mapping[str, Sequence[float]], name: str) -> float | None:
    before, after = median_sample(base.get(name, ())), median_sample(arm.get(name, ()))
    if before is None or after is None or not (is_ratio(before) and is_ratio(after)):
        return None
    return before / after


def median_sample(samples: Sequence[float]) -> float | None:
    """The median of the samples that are numbers."""
    there = [sample for sample in samples if not math.isnan(sample)]
    return statistics.median(there) if there else None


@dataclass(frozen=True, slots=True)
class LegacyVerdict:
    """What a block of asv's comparison lines says: which benchmarks count, whether it passes, and its speed-up."""

    kept: tuple[str, ...]
    passed: bool
    speedup: float


def legacy_block(lines: Mapping[str, tuple[float, str]]) -> LegacyVerdict:
    """Read benchmark -> (relative change of its time, asv's mark): only `+` (slower) and `-` (faster) count.

    It passes where half of them or more are not slower; the speed-up is the mean change with its sign turned round.
    """
    kept = {name: (change, mark) for name, (change, mark) in lines.items() if mark in {"+", "-"}}
    if not kept:
        return LegacyVerdict((), False, 0.0)
    share = sum(mark != "+" for _, mark in kept.values()) / len(kept)
    return LegacyVerdict(
        tuple(kept), share >= LEGACY_PASS_SHARE, -statistics.fmean(change for change, _ in kept.values())
    )


def run_advantage(advantages: Sequence[float]) -> float:
    """Geometric mean of 1 + advantage, less 1; the arithmetic mean where one of them is -1 or below; 0 for none."""
    if not advantages:
        return 0.0
    if min(advantages) <= -1.0:
        return statistics.fmean(advantages)
    return (geometric_mean([1.0 + value for value in advantages]) or 1.0) - 1.0


def mean_speedup(speedups: Sequence[float]) -> float:
    """The arithmetic mean that the published board calls "Speedup (geomean)"; 1 for none."""
    return statistics.fmean(speedups) if speedups else 1.0


def cost_weighted(advantages: Sequence[float], costs: Sequence[float]) -> float:
    """Mean advantage / mean cost; 0 where the cost is 0 (ours says nothing there)."""
    cost = statistics.fmean(costs) if costs else 0.0
    return statistics.fmean(advantages) / cost if advantages and cost > 0.0 else 0.0


def row_of(rows: Sequence[str], wanted: str) -> str:
    """The row `agent:model` that is wanted; `openai/gpt-5` is found as `openai-gpt-5` or `gpt-5`, and nothing else.

    The reference answers with the first row of the agent where the model's name holds a slash: a defect.

    Raises:
        ConfigError: there is no such row; names those that are there.
    """
    agent, _, model = wanted.partition(":")
    for name in (model, model.replace("/", "-"), model.rpartition("/")[2]):
        if f"{agent}:{name}" in rows:
            return f"{agent}:{name}"
    raise ConfigError(f"{wanted}: no row of this agent and model (known: {', '.join(rows)})")


def paired_speedup(pairs: Sequence[tuple[float, float]], rounds: int) -> float | None:
    """exp(median ln(base / patched)) of the usable pairs; None where fewer than half of the rounds, or 2, are."""
    usable = [(base, patched) for base, patched in pairs if is_ratio(base) and is_ratio(patched)]
    if len(usable) < max(LEAST_PAIRS, math.ceil(rounds / 2)):
        return None
    return math.exp(statistics.median(math.log(base / patched) for base, patched in usable))


def shaped_reward(speedup: float, human: float = 1.0, *, passed: bool = True, oracle: bool = False) -> float:
    """The reward for training: -1 failed; up to 1 for what is slower than the human; 2.5 more per 8 %, 6 at most.

    Below the human only two points of the reference are known (0.5 gives 0.625, 1 gives 1): a line is drawn.
    """
    if not passed:
        return -1.0
    if oracle:
        return speedup
    ahead = speedup / human
    if ahead < 1.0:
        return 0.25 + 0.75 * ahead
    steps = math.log(ahead) / DOUBLING
    # What is two steps ahead as it is written, 1.08 squared, is no bit less as a logarithm.
    return 1.0 + 2.5 * (2.0 if math.isclose(steps, 2.0, rel_tol=1e-12) else min(2.0, steps))


def relative_advantage(oracle_s: float, agent_s: float) -> float:
    """The older definition, t_oracle / t_agent - 1: without base, so not comparable with the difference of speedups."""
    return oracle_s / agent_s - 1.0


def relative_change(before_s: float, after_s: float) -> float:
    """What tools beside asv print as a delta: t_after / t_before - 1, so -0.5 is twice as fast."""
    return after_s / before_s - 1.0


def distance(agent: float, oracle: float) -> float:
    """The site's signed distance of (oracle, agent) from the line where both are as fast."""
    return (agent - oracle) / math.sqrt(2.0)
