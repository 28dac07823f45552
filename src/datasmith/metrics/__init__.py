"""Count: the scores, defined once, without I/O."""
