"""Let nothing of the code under test run while a launch does what it leaves out of a call's time.

A result can be made beforehand, or later, wherever such code is called: when the garbage collector has run, in a
signal's handler, in a hook of a profiler, in a thread. The clock is stopped only where none of that can happen: the
first three are held off, and where there are other threads it goes on. (They cannot be held off: who has waited for its
turn gets it, however long the turns are from now on, and has it as long as that.)
"""

from __future__ import annotations

import contextlib
import gc
import sys

# What `signal` makes of these turns each number into a member of an enumeration, which takes 30 microseconds.
from _signal import SIG_BLOCK, SIG_SETMASK, pthread_sigmask  # type: ignore[import-not-found]
from functools import partial
from sys import _current_frames
from time import perf_counter

from . import OWN
from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .foreign import Foreign

__builtins__ = OWN

_SIGNALS = frozenset(range(1, 65)) - {32, 33}
"""All but those that the C library keeps for itself."""
_TOOLS = range(6)
"""Ids that tools of sys.monitoring can have."""


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection, as in asv's loop: what our descriptions leave would be collected in the next call."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Hush:
    """From `begin` to `end` only our own code runs, where there are no other threads.

    Both are called while the clock runs, so that no gap is left.
    """

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []
        self._begun = 0.0
        self._alone = True

    def begin(self) -> None:
        """No collector, signals and hooks from here on."""
        self._begun = perf_counter()
        undo = self._undo
        if gc.isenabled():
            gc.disable()
            undo.append(gc.enable)
        _silence(undo, sys.gettrace(), sys.settrace)
        _silence(undo, sys.getprofile(), sys.setprofile)
        if hasattr(sys, "monitoring"):
            undo += _without_tools(sys.monitoring)
        mask = pthread_sigmask(SIG_BLOCK, _SIGNALS)
        undo.append(lambda: pthread_sigmask(SIG_SETMASK, mask))
        self._alone = _is_alone()  # Last: nothing begins a thread from here on but another one.

    def end(self) -> float:
        """All as it was before; the seconds since then in which other threads could run, which count: 0 without any.

        Nothing where it did not begin.
        """
        undo, self._undo = self._undo, []
        shared = bool(undo) and not (self._alone and _is_alone())
        shared_s = perf_counter() - self._begun if shared else 0.0
        for step in undo:
            step()
        return shared_s


def _is_alone() -> bool:
    return len(_current_frames()) == 1


def _silence(undo: list[Callable[[], object]], hook: object, put: Callable[..., object]) -> None:
    if hook is not None:
        put(None)
        undo.append(lambda: put(hook))


def _without_tools(monitoring: Foreign) -> list[Callable[[], object]]:
    found = [(tool, monitoring.get_events(tool)) for tool in _TOOLS if monitoring.get_tool(tool) is not None]
    for tool, _ in found:
        monitoring.set_events(tool, 0)
    return [partial(monitoring.set_events, *each) for each in found]
