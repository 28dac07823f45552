"""Decide: estimates, intervals and tests, without I/O."""
