"""The house rules, kept by reading the source."""
