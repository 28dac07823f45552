"""Where the two commands begin, and how they are stopped: by Ctrl-C, while they are loaded too, and by SIGTERM."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells expect it."""
TERMINATED = 143
"""Exit code after SIGTERM (kill, timeout, a cluster's scheduler), as shells expect it."""


def fc_data() -> None:
    """Entry point of `fc-data`."""
    before = _leave_at_once()
    from datasmith.cli.data import main

    signal.signal(signal.SIGINT, before)
    main()


def fc_eval() -> None:
    """Entry point of `fc-eval`."""
    before = _leave_at_once()
    from datasmith.cli.eval import main

    signal.signal(signal.SIGINT, before)
    main()


def _leave_at_once() -> Callable[[int, FrameType | None], object] | int | None:
    """Until the handler that this returns is put back, Ctrl-C ends the process: no library may catch it half loaded."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # whoever starts us may have it ignored
        signal.signal(signal.SIGINT, _leave)
    return before


def _leave(_number: int, _frame: FrameType | None) -> None:
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, b"error: stopped before anything was begun\n")
    os._exit(INTERRUPTED)


@contextmanager
def terminable() -> Iterator[None]:
    """During the body SIGTERM takes the way of Ctrl-C; where it is ignored, or somebody else's affair, it stays so.

    By itself it would end this process alone, and what it has started would go on. Once it came, a later one does
    nothing, after the body neither: the process is on its way to its end.
    """
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, _as_ctrl_c)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is _as_ctrl_c:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


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


def _as_ctrl_c(_number: int, frame: FrameType | None) -> None:
    """What Ctrl-C does now: it is the event loop's, or raises; and raises where it is ignored, as in the background."""
    signal.signal(signal.SIGTERM, _once_more)
    stop = signal.getsignal(signal.SIGINT)
    (stop if callable(stop) else signal.default_int_handler)(signal.SIGINT, frame)


def _once_more(_number: int, _frame: FrameType | None) -> None:
    """Nothing: timeout(1) sends it twice, and the end is under way."""
