"""Let nothing of the code under test run while a launch does what it leaves out of a call's time.

A result can be made beforehand, or later, wherever such code is called: when the garbage collector has run, in a
signal's handler, in a hook of a profiler, in a thread. The clock is stopped only where none of that can happen.
"""

from __future__ import annotations

import gc
import sys

# What `signal` makes of these turns each number into a member of an enumeration, which takes 30 microseconds.
from _signal import SIG_BLOCK, SIG_SETMASK, pthread_sigmask  # type: ignore[import-not-found]
from functools import partial
from select import select

from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .foreign import Foreign

LONG_S = 1000.0
_SIGNALS = frozenset(range(1, 65)) - {32, 33}
"""All but those that the C library keeps for itself."""
_TOOLS = range(6)
"""Ids that tools of sys.monitoring can have."""


class Hush:
    """From `begin` to `end` only our own code runs; both are called while the clock runs, so that no gap is left."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []

    def begin(self) -> None:
        """No collector, signals, hooks and turns of other threads from here on."""
        undo = self._undo
        if gc.isenabled():
            gc.disable()
            undo.append(gc.enable)
        _silence(undo, sys.gettrace(), sys.settrace)
        _silence(undo, sys.getprofile(), sys.setprofile)
        if hasattr(sys, "monitoring"):
            undo += _without_tools(sys.monitoring)
        mask, interval_s = pthread_sigmask(SIG_BLOCK, _SIGNALS), sys.getswitchinterval()
        undo.append(lambda: sys.setswitchinterval(interval_s))
        undo.append(lambda: pthread_sigmask(SIG_SETMASK, mask))
        sys.setswitchinterval(LONG_S)

    def end(self) -> None:
        """All as it was before; nothing where it did not begin."""
        undo, self._undo = self._undo, []
        for step in undo:
            step()
        if undo:
            select(
                (), (), (), 0
            )  # A thread that began to wait meanwhile would wait for LONG_S: it looks up, and waits as usual.


def _silence(undo: list[Callable[[], object]], hook: object, put: Callable[..., object]) -> None:
    if hook is not None:
        put(None)
        undo.append(lambda: put(hook))


def _without_tools(monitoring: Foreign) -> list[Callable[[], object]]:
    found = [(tool, monitoring.get_events(tool)) for tool in _TOOLS if monitoring.get_tool(tool) is not None]
    for tool, _ in found:
        monitoring.set_events(tool, 0)
    return [partial(monitoring.set_events, *each) for each in found]
