"""The two commands."""
