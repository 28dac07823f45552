"""How a command that works is stopped: by Ctrl-C, and in the same way by SIGTERM, and by a terminal that is closed."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from datasmith.cli.entry import INTERRUPTED, leave

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a process which does not ask for them. nohup(1) has the second ignored: then it stays so."""


@contextmanager
def terminable() -> Iterator[None]:
    """During the body ENDING signals take the way of Ctrl-C; one that is ignored, or somebody else's affair, stays so.

    By itself it would end this process alone, and what it has started would go on. Once one came, a later one does
    nothing, after the body neither: the process is on its way to its end.
    """
    ours = (signal.SIG_DFL, leave)
    for number in ENDING:
        if threading.current_thread() is threading.main_thread() and signal.getsignal(number) in ours:
            signal.signal(number, _as_ctrl_c)
    try:
        yield
    finally:
        for number in ENDING:
            now = signal.getsignal(number)
            if now is _as_ctrl_c:
                signal.signal(number, signal.SIG_DFL)
            elif now in (_once_more, _another):
                # Python takes its own handlers back before it ends, and leaves this one.
                signal.signal(number, signal.SIG_IGN)


def ctrl_c_raises() -> None:
    """From here on a command that was loading can clear up after Ctrl-C: it is told by KeyboardInterrupt."""
    if signal.getsignal(signal.SIGINT) is leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


STOPPING = "stopping: clearing up"
"""What a command says that was told to stop, and has sandboxes to delete or answers to write first."""


@contextmanager
def stop_told(tell: Callable[[], None]) -> Iterator[None]:
    """During the body `tell` is called as soon as one of the signals comes, once, whoever handles it, and however long.

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
        if {signal.SIGINT, *ENDING} & set(numbers):
            tell()
            return


def stop_code() -> int:
    """The exit code of a command that is being stopped, inside `terminable`."""
    ended_by = next((number for number in ENDING if signal.getsignal(number) is _once_more), None)
    return INTERRUPTED if ended_by is None else 128 + ended_by


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    """What Ctrl-C does now: it is the event loop's, or raises; and raises where it is ignored, as in the background."""
    for each in ENDING:
        if signal.getsignal(each) is _as_ctrl_c:
            signal.signal(each, _once_more if each == number else _another)
    stop = signal.getsignal(signal.SIGINT)
    (stop if callable(stop) else signal.default_int_handler)(number, frame)


def _once_more(_number: int, _frame: FrameType | None) -> None:
    """Nothing: timeout(1) sends it twice, and the end is under way."""


def _another(_number: int, _frame: FrameType | None) -> None:
    """Nothing either: the end is under way for another signal."""
