"""Where the two commands begin: Ctrl-C ends them in one line from the first moment on, while they are loaded too."""

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells expect it."""


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
