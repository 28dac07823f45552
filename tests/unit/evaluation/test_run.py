"""Tasks side by side: a core each, and one failure stops all."""

import threading
import time
from typing import cast

import pytest

from datasmith.errors import TrialError
from datasmith.evaluation.run import _side_by_side
from datasmith.evaluation.trial import Stopped, StopToken
from datasmith.tasks.task import Task

TASKS = cast(list[Task], [f"task {number}" for number in range(8)])
"""The scheduler never looks into a task."""


def test_no_two_tasks_share_a_core() -> None:
    """At any moment each core is in one hand; every task gets its turn."""
    held: set[int] = set()
    clashes: list[int] = []
    seen: list[str] = []
    lock = threading.Lock()

    def one(task: Task, core: int) -> None:
        with lock:
            if core in held:
                clashes.append(core)
            held.add(core)
            seen.append(str(task))
        time.sleep(0.01)
        with lock:
            held.discard(core)

    _side_by_side(TASKS, one, (4, 7), StopToken())
    assert clashes == []
    assert sorted(seen) == sorted(str(task) for task in TASKS)


def test_the_first_failure_stops_the_others_and_is_the_one_told() -> None:
    """Threads that were told to stop are not mistaken for what went wrong."""
    stop = StopToken()

    def one(task: Task, core: int) -> None:
        if str(task) == "task 1":
            raise TrialError("cannot write x: No space left on device")
        while True:
            stop.check()
            time.sleep(0.005)

    with pytest.raises(TrialError, match="No space left"):
        _side_by_side(TASKS, one, (0, 1), stop)


def test_a_stop_token_raises_once_set() -> None:
    """And not before."""
    stop = StopToken()
    stop.check()
    stop.set()
    with pytest.raises(Stopped):
        stop.check()
