"""One caller computes, the others that ask for the same meanwhile wait for what it gets."""

import asyncio
import threading
from collections.abc import Hashable
from concurrent.futures import Future

from datasmith.storage.base import Value


class Abandoned(Exception):
    """Whoever computed was stopped without a result: ask again."""


class Flights:
    """Computations under way in this process, by key; for threads and for tasks of any event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flying: dict[Hashable, tuple[Future[Value], object]] = {}

    def join(self, key: Hashable) -> "Future[Value] | None":
        """What to wait for; None where nobody computes: then the caller does, and must call `end`.

        Raises:
            RecursionError: the caller is the one who computes: it would wait for itself.
        """
        with self._lock:
            if key not in self._flying:
                future: Future[Value] = Future()
                future.set_running_or_notify_cancel()  # nobody who waits can cancel it
                self._flying[key] = future, _caller()
                return None
            future, leader = self._flying[key]
        if leader == _caller():
            raise RecursionError(f"{key} asks for itself")
        return future

    def end(self, key: Hashable, result: Value = None, error: BaseException | None = None) -> None:
        """Give everybody who waits the result, or the error; who waits for somebody that was stopped asks again."""
        with self._lock:
            future, _ = self._flying.pop(key)
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error if isinstance(error, Exception) else Abandoned())


def _caller() -> object:
    """The running task, or else the thread."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    return task or threading.get_ident()
