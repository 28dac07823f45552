"""Work in a forked process: it begins with all that is imported here, and leaves nothing behind here but a file."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time

from . import OWN
from .report import TYPE_CHECKING, failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import NoReturn

__builtins__ = OWN

SHORTEST_WAIT_S = 0.001
LONGEST_WAIT_S = 0.05


def apart(work: Callable[[], dict[str, object]], path: str, limit_s: float) -> None:
    """Write what `work` returns, or {"failed": reason}, as JSON into `path`; the work has a process group of its own.

    Where the reason is that its time is over, it says so: {"failed": reason, "late": true}.

    Whatever is left of that group when the work is over, or its time is, is killed; in the second case with what its
    processes have started in groups of their own, as this function does. Other groups that it made are left to the end
    of the sandbox's command.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        _do(work, path)
    status = _wait(child, limit_s)
    groups = [child] if status is not None else _stopped(child)
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
        _leave({"failed": f"not done after {limit_s:g} s", "late": True}, path)
    elif not os.path.exists(path):
        _leave({"failed": _ended(status)}, path)


def _do(work: Callable[[], dict[str, object]], path: str) -> NoReturn:
    """Never returns, whatever happens: neither here nor in a process that the work forks and that comes back."""
    try:
        os.setsid()
        ours = os.getpid()
        said = _said_of(work)
        if os.getpid() == ours:
            _leave(said, path)
            sys.stdout.flush()
            sys.stderr.flush()
    finally:
        os._exit(0)


def _said_of(work: Callable[[], dict[str, object]]) -> dict[str, object]:
    try:
        return work()
    except BaseException as error:
        import traceback

        sys.settrace(None)
        traceback.print_exc()
        return {"failed": failure(error)}


def _leave(said: dict[str, object], path: str) -> None:
    with open(path + ".part", "w") as stream:
        json.dump(said, stream)
    os.rename(path + ".part", path)


def _wait(child: int, limit_s: float) -> int | None:
    """The status that a child ended with; None where it does not end in time."""
    deadline, pause_s = time.monotonic() + limit_s, SHORTEST_WAIT_S
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_WAIT_S)
    return None


def _stopped(child: int) -> list[int]:
    """A group that starts nothing more, and the groups of what its leader's processes have started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGSTOP)
    found, below = [child], {child}
    processes = sorted(_processes())  # a parent's number is the lower one, but where numbers began anew
    for process, parent, group in processes:
        if parent in below:
            below.add(process)
            found.append(group)
    return list(dict.fromkeys(found))


def _processes() -> Iterator[tuple[int, int, int]]:
    """Number, parent and group of each process that can be seen."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stream:
            _state, parent, group = stream.read().rpartition(b")")[2].split()[:3]
            yield int(name), int(parent), int(group)


def _ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"the process was ended by signal {os.WTERMSIG(status)}"
    return f"the process ended with exit code {os.WEXITSTATUS(status)}"
