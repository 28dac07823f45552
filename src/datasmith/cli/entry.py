"""Where the two commands begin: until one can clear up, Ctrl-C and SIGTERM end it at once, with one line.

Nothing but what Python itself has loaded is imported with this module, as what comes before its first line ends with
Python's own words.
"""

import os
import sys

TYPE_CHECKING = False  # typing takes longer than all else that comes before the first line
if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells expect it."""
STOPPED = "Interrupted"
"""What both are called in the table of exit codes."""


def fc_data() -> None:
    """Entry point of `fc-data`."""
    _leave_at_once()
    from datasmith.cli.data import main

    main()


def fc_eval() -> None:
    """Entry point of `fc-eval`."""
    _leave_at_once()
    from datasmith.cli.eval import main

    main()


def _leave_at_once() -> None:
    """Until a command takes the signals over, they end the process: no library may catch Ctrl-C half loaded."""
    try:
        import signal

        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, leave)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # whoever starts us may have it ignored
            signal.signal(signal.SIGINT, leave)
    except KeyboardInterrupt:
        leave(INTERRUPTED - 128, None)


def leave(number: int, _frame: "FrameType | None") -> None:
    """End the process, by the signal with this number."""
    told = "stopped before anything was begun"
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"error: {told}\n".encode())
    if "--json" in sys.argv:
        failed = f'"kind": "{STOPPED}", "message": "{told}", "exit_code": {128 + number}'
        os.write(sys.__stdout__.fileno() if sys.__stdout__ else 1, f'{{"error": {{{failed}}}}}\n'.encode())
    os._exit(128 + number)
