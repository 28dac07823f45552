"""The one line that a script in the sandbox says to the host, kept apart from whatever a suite prints."""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
"""What `typing` has by this name; importing that would be a twentieth of a launch's start."""
if TYPE_CHECKING:
    from typing import NoReturn


class Report:
    """A private copy of standard output; from now on prints of the suite go to standard error."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._descriptor = os.dup(1)
        os.set_inheritable(self._descriptor, False)
        os.dup2(2, 1)

    def say(self, message: dict[str, object]) -> None:
        """Write `message` as one line of JSON."""
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        while data:
            data = data[os.write(self._descriptor, data) :]

    def send(self, message: dict[str, object]) -> NoReturn:
        """Write `message` as one line of JSON and end the process at once.

        Ending at once keeps exit handlers, threads and the tear-down of a large heap out of the launch.
        """
        self.say(message)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def failure(error: BaseException) -> str:
    """The kind and text of an exception on one line of at most 300 characters."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300] if text else type(error).__name__


def leave_script_path() -> None:
    """Take away the entry of sys.path that Python added for this script: a suite must not import our modules."""
    if sys.path and os.path.abspath(sys.path[0]) == os.path.dirname(os.path.dirname(os.path.abspath(__file__))):
        del sys.path[0]
