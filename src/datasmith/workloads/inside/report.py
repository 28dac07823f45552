"""The one line that a script in the sandbox says to the host, kept apart from whatever a suite prints."""

from __future__ import annotations

import os
import sys
import types
from json import dumps

from . import OWN

TYPE_CHECKING = False
"""What `typing` has by this name; importing that would be a twentieth of a launch's start."""
if TYPE_CHECKING:
    from typing import NoReturn

__builtins__ = OWN

SIGN_BYTES = 16
MARK = b"."

try:
    from _blake2 import blake2b as blake2b  # hashlib's, which is slow to import
except ImportError:
    from hashlib import blake2b as blake2b


class Report:
    """A private copy of standard output; from now on prints of the suite go to standard error."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._descriptor = os.dup(1)
        self._write = os.write
        self._said = 0
        self._key: bytes | None = None
        os.set_inheritable(self._descriptor, False)
        os.dup2(2, 1)

    def sign(self, key: str) -> None:
        """Sign every line from now on: a signature, a blank, the line; the host makes it as `channel.py` says."""
        self._key = bytes.fromhex(key)

    def say(self, message: dict[str, object]) -> None:
        """Write `message` as one line of JSON."""
        self._write_line(dumps(message, separators=(",", ":")).encode())

    def take_answers(self) -> None:
        """Keep standard input, where an answer comes, to ourselves; whoever else reads there finds nothing."""
        self._answers = os.dup(0)
        self._read = os.read
        os.set_inheritable(self._answers, False)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    def ask(self) -> int:
        """Make a mark, and read the number that the host answers to it."""
        self.mark()
        said = b""
        while not said.endswith(b"\n"):
            more = self._read(self._answers, 64)
            if not more:
                raise EOFError("the host did not answer")
            said += more
        return int(said)

    def mark(self) -> None:
        """Say that this point is reached: the host notes when that comes, by its own clock."""
        self._write_line(MARK)

    def _write_line(self, data: bytes) -> None:
        data = self._signature(data) + data + b"\n"
        self._said += 1
        while data:
            data = data[self._write(self._descriptor, data) :]

    def _signature(self, data: bytes) -> bytes:
        if self._key is None:
            return b""
        signer = blake2b(b"%d " % self._said, key=self._key, digest_size=SIGN_BYTES)
        signer.update(data)
        return signer.hexdigest().encode() + b" "

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


def hide() -> None:
    """Take our modules away from what a suite can import; who has a function of them goes on using it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "inside"]:
        del sys.modules[name]
    sys.modules["__main__"] = types.ModuleType("__main__")
