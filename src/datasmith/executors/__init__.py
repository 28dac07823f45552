"""Place work: run many items at once, here or elsewhere."""
