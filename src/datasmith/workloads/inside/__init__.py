"""Stdlib-only scripts that run inside the sandbox, beside code that nobody trusts."""

import builtins
from types import ModuleType

OWN = ModuleType("builtins")
"""Python's functions as they were before any other code ran: each module here is given them as its `__builtins__`.

A library may exchange one (`builtins.map = ...`), and would be called by our code while a clock stands still.
"""
vars(OWN).update(vars(builtins))
