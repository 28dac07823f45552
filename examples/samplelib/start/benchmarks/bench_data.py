"""Routines over one long list."""

import random

from samplelib import count_inversions, quantile


class LongList:
    """Two thousand numbers in random order, made once for all benchmarks."""

    repeat = 8
    sample_time = 0.005
    warmup_time = 0.01

    def setup_cache(self):
        source = random.Random(7)
        return [source.random() for _ in range(2000)]

    def time_quantile(self, values):
        quantile(values, 0.9)

    def time_count_inversions(self, values):
        count_inversions(values)
