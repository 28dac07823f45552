"""Agents that are classes of somebody else's: whatever such a class does ends its trial, and not the run."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import cast

from datasmith.agents.coding.base import Agent, AgentResult, Usage
from datasmith.agents.coding.strangers import UNSPEAKABLE, Call, brief, said, told
from datasmith.agents.coding.trajectory import TrajectoryStep
from datasmith.docker.engine import Container
from datasmith.errors import AgentFailed, ContainerError, ModelUnavailable
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
    work = Call(lambda: _checked(agent.solve(task, container, timeout_s=timeout_s)))
    work.start()
    work.join(min(timeout_s, threading.TIMEOUT_MAX))
    wall_s = time.monotonic() - begin
    if work.is_alive():
        container.stop()
        log = f"{_called(agent)} had not come back after {wall_s:.0f} s\n"
        return AgentResult("", Usage(), wall_s, log, timed_out=True)
    result = _handed_in(agent, work)
    return replace(result, wall_s=wall_s, timed_out=result.timed_out or wall_s > timeout_s)


class _Rubbish(Exception):
    """What was handed in is no AgentResult; the text says in what."""


def _checked(result: object) -> AgentResult:
    """The same, ours to its last field; called where what the class does when it is asked is its own failure."""
    wrong = next(_wrong(result), "")
    if wrong or not isinstance(result, AgentResult):
        raise _Rubbish(wrong)
    usage = Usage(*(getattr(result.usage, field.name) for field in fields(Usage)))
    return AgentResult(
        patch=str.__str__(result.patch),
        usage=usage,
        wall_s=0.0,
        log=str.__str__(result.log),
        failure=_briefly(result.failure),
        timed_out=result.timed_out,
        stopped_by=_briefly(result.stopped_by),
        outage=_briefly(result.outage),
        steps=tuple(TrajectoryStep.model_validate_json(step.model_dump_json()) for step in result.steps),
    )


def _briefly(text: str | None) -> str | None:
    return None if text is None else brief(str.__str__(text))


def _handed_in(agent: Agent, work: Call) -> AgentResult:
    """What it raised is the agent's failure, unless it means something to us or ends the whole program.

    An outage, the agent's own words and trouble with the sandbox mean something, of our own classes and where they can
    be shown: what a class of theirs does when it is asked is not known.
    """
    error = work.error
    if error is None:
        assert isinstance(work.result, AgentResult)
        return work.result
    if isinstance(error, _Rubbish):
        raise AgentFailed(f"{_called(agent)} handed in {error}")
    words = said(lambda: str(error))
    ours = type(error).__module__.startswith("datasmith.") and words not in ("", UNSPEAKABLE)
    if isinstance(error, KeyboardInterrupt) or (ours and isinstance(error, ContainerError)):
        raise error
    if isinstance(error, AgentFailed | ModelUnavailable) and ours and words == str(error):
        raise error
    if isinstance(error, ModelUnavailable):
        raise ModelUnavailable(told(error)) from error
    raise AgentFailed(f"{_called(agent)} ended with {told(error)}") from error


def is_ours(agent: object) -> bool:
    """Whether an agent is one of this package's: what it raises unasked is a defect of ours."""
    return type(agent).__module__.startswith("datasmith.")


def _called(agent: Agent) -> str:
    kind = said(lambda: f"{type(agent).__module__}:{type(agent).__qualname__}")
    return f"agent {said(lambda: agent.name)[:100]!r} ({kind[:200]})"


def _wrong(result: object) -> Iterator[str]:
    """What of it is not as AgentResult says."""
    if not isinstance(result, AgentResult):
        yield f"{_kind(result)}, which is no AgentResult"
        return
    of = {field.name: result for field in fields(AgentResult)} | {field.name: result.usage for field in fields(Usage)}
    for name, (fits, meant) in _RULES.items():
        value: object = getattr(of[name], name, None)
        if not fits(value):
            shown = ascii(value)[:60] if type(value) in _PLAIN else _kind(value)
            yield f"{name}={shown}, which is not {meant}"


def _kind(value: object) -> str:
    return said(lambda: type(value).__name__)[:100]


def _is_text(value: object, errors: str = "surrogateescape") -> bool:
    if not isinstance(value, str):
        return False
    try:
        str.encode(value, "utf-8", errors)
    except UnicodeEncodeError:
        return False
    return True


def _is_said(value: object) -> bool:
    return value is None or _is_text(value, "strict")


def _is_count(value: object) -> bool:
    return value is None or (type(value) is int and 0 <= value <= MOST)


def _is_cost(value: object) -> bool:
    return value is None or (type(value) in (int, float) and 0 <= cast(float, value) <= MOST)


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
