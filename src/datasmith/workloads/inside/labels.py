"""How the labels of records begin or end that are more than a call's outputs; the host reads them, too."""

from __future__ import annotations

from . import OWN

__builtins__ = OWN

INSIDE = " (inside)"
"""Ends the label of something that changed, and looks the same to whoever uses it."""
SET_UP = "set up: "
"""Begins the label of what was there before the call: what set-up made, with code of the library or without it."""
FURTHER = "further in: "
"""Begins the label of what takes long to see of a value, and is seen where nothing is timed."""
