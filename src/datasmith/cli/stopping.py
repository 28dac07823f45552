"""How a command that works is stopped: by Ctrl-C, and by SIGTERM in the same way."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from datasmith.cli.entry import INTERRUPTED, TERMINATED, leave


@contextmanager
def terminable() -> Iterator[None]:
    """During the body SIGTERM takes the way of Ctrl-C; where it is ignored, or somebody else's affair, it stays so.

    By itself it would end this process alone, and what it has started would go on. Once it came, a later one does
    nothing, after the body neither: the process is on its way to its end.
    """
    ours = (signal.SIG_DFL, leave)
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) in ours:
        signal.signal(signal.SIGTERM, _as_ctrl_c)
    try:
        yield
    finally:
        now = signal.getsignal(signal.SIGTERM)
        if now is _as_ctrl_c:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        elif now is _once_more:  # Python takes its own handlers back before it ends, and leaves this one
            signal.signal(signal.SIGTERM, signal.SIG_IGN)


def ctrl_c_raises() -> None:
    """From here on a command that was loading can clear up after Ctrl-C: it is told by KeyboardInterrupt."""
    if signal.getsignal(signal.SIGINT) is leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


STOPPING = "stopping: clearing up"
"""What a command says that was told to stop, and has sandboxes to delete or answers to write first."""


@contextmanager
def stop_told(tell: Callable[[], None]) -> Iterator[None]:
    """During the body `tell` is called as soon as Ctrl-C or SIGTERM comes, once, whoever handles it, and however long.

    In a thread of its own: the main one may be in the middle of printing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    waiting = threading.Thread(target=_tell_once, args=(reader, tell), daemon=True)
    waiting.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writer)
        waiting.join()
        os.close(reader)


def _tell_once(reader: int, tell: Callable[[], None]) -> None:
    """Each byte is the number of a signal that came; none come any more once the other end is closed."""
    while numbers := os.read(reader, 64):
        if {signal.SIGINT, signal.SIGTERM} & set(numbers):
            tell()
            return


def stop_code() -> int:
    """The exit code of a command that is being stopped, inside `terminable`."""
    return TERMINATED if signal.getsignal(signal.SIGTERM) is _once_more else INTERRUPTED


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    """What Ctrl-C does now: it is the event loop's, or raises; and raises where it is ignored, as in the background."""
    signal.signal(signal.SIGTERM, _once_more)
    stop = signal.getsignal(signal.SIGINT)
    (stop if callable(stop) else signal.default_int_handler)(number, frame)


def _once_more(_number: int, _frame: FrameType | None) -> None:
    """Nothing: timeout(1) sends it twice, and the end is under way."""
