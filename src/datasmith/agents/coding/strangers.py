"""Somebody else's code: what it raises is a value here, and what it says of itself is short and printable."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from datasmith.printable import MOST, one_line

_SAID_WITHIN_S = 5.0
UNSPEAKABLE = "says nothing that can be shown"


class Caught:
    """What the body raised, whatever it is; who raises it again decides what goes on."""

    error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error = error
        return True


class Call(threading.Thread):
    """A call, and what became of it; nothing waits for it at the program's end."""

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._call = call
        self.result: object = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Make the call."""
        with Caught() as caught:
            self.result = self._call()
        self.error = caught.error


def at_work() -> bool:
    """True while such a call has not come back, in this process."""
    return any(isinstance(thread, Call) for thread in threading.enumerate())


def brief(text: str) -> str:
    """One line without control characters, cut; what is no UTF-8 is escaped."""
    plain = text[: 2 * MOST].encode("utf-8", "backslashreplace").decode()
    return one_line(plain)


def said(ask: Callable[[], str]) -> str:
    """What `ask` gives, briefly; UNSPEAKABLE where it raises or does not come back."""
    call = Call(lambda: f"{ask()}")
    call.start()
    call.join(_SAID_WITHIN_S)
    return brief(call.result) if isinstance(call.result, str) else UNSPEAKABLE


def told(error: BaseException) -> str:
    """An exception in one line: its class and its text."""
    return f"{said(lambda: type(error).__name__)[:100]}: {said(lambda: str(error))}"
