"""Preflight."""
