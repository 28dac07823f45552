"""Agents that are classes of somebody else's: whatever such a class does ends its trial, and not the run."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from types import TracebackType

from datasmith.agents.coding.base import Agent, AgentResult, Usage
from datasmith.agents.coding.trajectory import TrajectoryStep
from datasmith.docker.engine import Container
from datasmith.errors import AgentFailed, DatasmithError
from datasmith.tasks.quantities import MOST
from datasmith.tasks.task import Task


def solved(agent: Agent, task: Task, container: Container, *, timeout_s: float) -> AgentResult:
    """What an agent hands in. Of a class that is not ours it is checked, and the time is that of our clock.

    Such a class loses its sandbox where it has not come back in time, and is waited for no longer.

    Raises:
        AgentFailed: the agent broke down, or handed in something else.
        ModelUnavailable: its model could not be reached.
    """
    if is_ours(agent):
        return agent.solve(task, container, timeout_s=timeout_s)
    begin = time.monotonic()
    work = _Work(lambda: agent.solve(task, container, timeout_s=timeout_s))
    work.start()
    work.join(min(timeout_s, threading.TIMEOUT_MAX))
    wall_s = time.monotonic() - begin
    if work.is_alive():
        container.stop()
        log = f"{_called(agent)} had not come back after {wall_s:.0f} s\n"
        return AgentResult("", Usage(), wall_s, log, timed_out=True)
    result = _handed_in(agent, work)
    return replace(result, wall_s=wall_s, timed_out=result.timed_out or wall_s > timeout_s)


class _Work(threading.Thread):
    """A call, and what became of it; nothing waits for it at the program's end."""

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._call = call
        self.result: object = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Make the call."""
        with self:
            self.result = self._call()

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error = error
        return True


def _handed_in(agent: Agent, work: _Work) -> AgentResult:
    """What it raised is the agent's failure, unless it means something to us or ends the whole program."""
    if isinstance(work.error, Exception | SystemExit) and not isinstance(work.error, DatasmithError):
        said = str(work.error).encode("utf-8", "backslashreplace").decode()
        raise AgentFailed(f"{_called(agent)} ended with {type(work.error).__name__}: {said}") from work.error
    if work.error is not None:
        raise work.error
    wrong = next(_wrong(work.result), "")
    if wrong or not isinstance(work.result, AgentResult):
        raise AgentFailed(f"{_called(agent)} handed in {wrong}")
    return work.result


def is_ours(agent: object) -> bool:
    """Whether an agent is one of this package's: what it raises unasked is a defect of ours."""
    return type(agent).__module__.startswith("datasmith.")


def _called(agent: Agent) -> str:
    return f"agent {agent.name!r} ({type(agent).__module__}:{type(agent).__qualname__})"


def _wrong(result: object) -> Iterator[str]:
    """What of it is not as AgentResult says."""
    if not isinstance(result, AgentResult):
        yield f"{type(result).__name__}, which is no AgentResult"
        return
    of = {field.name: result for field in fields(AgentResult)} | {field.name: result.usage for field in fields(Usage)}
    for name, (fits, meant) in _RULES.items():
        value: object = getattr(of[name], name, None)
        if not fits(value):
            shown = ascii(value)[:60] if type(value) in _PLAIN else type(value).__name__
            yield f"{name}={shown}, which is not {meant}"


def _is_text(value: object, errors: str = "surrogateescape") -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode("utf-8", errors)
    except UnicodeEncodeError:
        return False
    return True


def _is_said(value: object) -> bool:
    return value is None or _is_text(value, "strict")


def _is_count(value: object) -> bool:
    return value is None or (type(value) is int and 0 <= value <= MOST)


def _is_cost(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and type(value) is not bool and 0 <= value <= MOST)


def _are_steps(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(step, TrajectoryStep) for step in value)


_PLAIN = frozenset((str, bytes, int, float, bool, type(None)))
"""What is shown as it is: of another class it would be the class that says what is shown."""
_TEXT, _SAID, _COUNT = "a text in UTF-8", "None or a text in UTF-8", "None or a count"
_RULES: dict[str, tuple[Callable[[object], bool], str]] = {
    "patch": (_is_text, _TEXT),
    "log": (_is_text, _TEXT),
    "failure": (_is_said, _SAID),
    "stopped_by": (_is_said, _SAID),
    "outage": (_is_said, _SAID),
    "timed_out": (lambda value: isinstance(value, bool), "True or False"),
    "usage": (lambda value: isinstance(value, Usage), "a Usage"),
    "input_tokens": (_is_count, _COUNT),
    "output_tokens": (_is_count, _COUNT),
    "cost_usd": (_is_cost, "None or dollars"),
    "steps": (_are_steps, "a tuple of TrajectoryStep"),
}
"""What the fields of an AgentResult and its Usage have to be, but for the time, which is ours."""
