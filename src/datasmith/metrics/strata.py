"""Classes of tasks that advantages are broken out by: strategy tags, popularity quintiles, bins around a cutoff."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, get_args

Tag = Literal[
    "use_better_algorithm",
    "use_better_data_structure_and_layout",
    "use_lower_level_system",
    "accept_less_precise_solution",
    "use_parallelization",
    "remove_or_reduce_work",
    "cache_and_reuse",
    "do_it_earlier_batch_throttle",
    "scale_platform",
    "database_and_storage_tuning",
    "micro_optimizations",
    "io_and_latency_hiding",
    "use_higher_level_system",
    "uncategorized",
]
"""What the expert did, one per task."""
TAGS: tuple[Tag, ...] = get_args(Tag)
QUINTILES = 5
THREE_MONTHS_DAYS = 3 * 365.2425 / 12
SECONDS_PER_DAY = 86_400.0

TemporalBin = Literal["6+ before", "3-6 before", "0-3 before", "0-3 after", "3-6 after", "6+ after"]
TEMPORAL_BINS: tuple[TemporalBin, ...] = (
    "6+ before",
    "3-6 before",
    "0-3 before",
    "0-3 after",
    "3-6 after",
    "6+ after",
)
"""Months between a model's knowledge cutoff and the merge, oldest first."""


def ntile(stars: Mapping[str, int], buckets: int = QUINTILES) -> dict[str, int]:
    """Task -> its bucket, 1 holding the least popular: SQL's NTILE over stars, equal stars in the order of ids.

    Buckets differ by one task at most, the first ones being the larger; a task without stars is not among `stars`.
    """
    order = sorted(stars, key=lambda task: (stars[task], task))
    size, larger = divmod(len(order), buckets)
    sizes = [size + (bucket < larger) for bucket in range(buckets)]
    numbers = [bucket + 1 for bucket, count in enumerate(sizes) for _ in range(count)]
    return dict(zip(order, numbers, strict=True))


def temporal_bin(merged_at: datetime, cutoff: datetime) -> TemporalBin:
    """The bin of merged_at - cutoff: each ends, inclusively, at -6, -3, 0, 3 and 6 months of 365.2425 / 12 days."""
    days = (merged_at - cutoff).total_seconds() / SECONDS_PER_DAY
    return TEMPORAL_BINS[sum(days > edge * THREE_MONTHS_DAYS for edge in (-2, -1, 0, 1, 2))]
