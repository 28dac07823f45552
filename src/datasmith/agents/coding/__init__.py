"""Coding agents behind one Protocol."""
