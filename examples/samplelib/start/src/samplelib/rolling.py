"""Summaries over a sliding window."""

from samplelib.summary import mean


def rolling_mean(values, window):
    """The mean of each run of `window` consecutive values."""
    if not 1 <= window <= len(values):
        raise ValueError(f"window must lie between 1 and {len(values)}, not {window}")
    return [mean(values[i : i + window]) for i in range(len(values) - window + 1)]
