"""Attacks on the grading: small patches that try to score without making anything faster, and what became of them."""
