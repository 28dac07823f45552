"""Look before a run: what the stages need and do not find here, and what to do about it."""
