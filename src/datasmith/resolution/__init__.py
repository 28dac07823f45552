"""Which Python, which pins: the environment of a commit as of its day."""
