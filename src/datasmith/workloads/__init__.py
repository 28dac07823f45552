"""asv as a measuring device: find benchmarks, launch them, keep every sample."""
