"""Stdlib-only scripts that run inside the sandbox."""
