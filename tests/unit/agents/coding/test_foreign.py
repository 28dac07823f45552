"""Agents of somebody else's: whatever they do is told as theirs, and the host's clock counts."""

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Never, cast

import pytest

from datasmith.agents.coding.base import AgentResult, Usage
from datasmith.agents.coding.foreign import is_ours, solved
from datasmith.agents.coding.nop import NopAgent
from datasmith.agents.coding.options import AgentOptions
from datasmith.agents.coding.registry import load_agent
from datasmith.docker.engine import Container
from datasmith.errors import AgentFailed, ConfigError, ContainerError, ModelUnavailable
from datasmith.tasks.task import Task
from tests.unit.tasks.samples import sample_task

GOOD = AgentResult("diff \udcff", Usage(1, 2, 0.5), 7.0, "log")


@dataclass
class Theirs:
    """An agent that does what the test says."""

    does: Callable[[], object]
    name: str = "theirs"

    def solve(self, task: Task, container: Container, *, timeout_s: float) -> AgentResult:
        return cast(AgentResult, self.does())


def handed_in(does: Callable[[], object], timeout_s: float = 60.0) -> AgentResult:
    return solved(Theirs(does), sample_task(), cast(Container, None), timeout_s=timeout_s)


def raising(error: BaseException) -> Callable[[], Never]:
    def does() -> Never:
        raise error

    return does


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("boom"), "ended with ValueError: boom"),
        (SystemExit(3), "ended with SystemExit: 3"),
        (RuntimeError("a\ud800"), r"ended with RuntimeError: a\\ud800"),
    ],
)
def test_what_such_a_class_raises_is_its_own_failure(error: BaseException, said: str) -> None:
    """With its name and where it comes from."""
    with pytest.raises(AgentFailed, match=said) as caught:
        handed_in(raising(error))
    assert str(caught.value).startswith("agent 'theirs' (tests.unit.agents.coding.test_foreign:Theirs) ")


@pytest.mark.parametrize("error", [ModelUnavailable("gone"), AgentFailed("own words"), KeyboardInterrupt()])
def test_what_means_something_passes(error: BaseException) -> None:
    """An outage, the agent's own words, and somebody who stops the run."""
    with pytest.raises(type(error)) as caught:
        handed_in(raising(error))
    assert caught.value is error


class Unspeakable:
    """Cannot even be shown."""

    def __repr__(self) -> str:
        """Raises."""
        raise RuntimeError("no")


class Shouts(Exception):
    """Says what a terminal obeys, and much of it."""

    def __str__(self) -> str:
        """A screen is cleared, a line begun, a title set."""
        return "\x1b[2J\nfine\x1b]0;x\x07" + "y" * 5_000_000


class Silent(Exception):
    """Breaks down when it is asked what it says."""

    def __str__(self) -> str:
        """Raises."""
        raise RuntimeError("no")


class Named(type):
    """A class that does not tell its name."""

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        """Raises."""
        raise RuntimeError("no")


class Anonymous(Silent, metaclass=Named):
    """Says neither what it is nor what it has."""


@pytest.mark.parametrize(
    "error",
    [
        Shouts(), Silent(), Anonymous(), ValueError(Unspeakable()), GeneratorExit(), AgentFailed(Unspeakable()),
        AgentFailed("\x1b[2J"), ContainerError(Unspeakable()), ConfigError("x"),
        type("\x1b[2J" * 99, (Exception,), {})(),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_ends_the_trial_alone(error: BaseException) -> None:
    """Texts and names that raise, are huge or speak to a terminal: one short printable line that names the agent."""
    with pytest.raises(AgentFailed, match=r"^agent 'theirs' .* ended with ") as caught:
        handed_in(raising(error))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 3000


@pytest.mark.parametrize("error", [ModelUnavailable("\x1b[2J"), ModelUnavailable(Unspeakable()), ModelUnavailable()])
def test_an_outage_that_cannot_be_shown_is_still_one(error: BaseException) -> None:
    """With a text, for an outage without one would be none."""
    with pytest.raises(ModelUnavailable, match=r"ModelUnavailable: "):
        handed_in(raising(error))


class Hostile(AgentResult):
    """A result whose patch raises."""

    usage = GOOD.usage

    @property
    def patch(self) -> str:
        """Raises."""
        raise Silent


class Mute:
    """An agent whose name raises when it is asked for again."""

    def __init__(self, _options: AgentOptions) -> None:
        self.asked = 0

    @property
    def name(self) -> str:
        """Once."""
        self.asked += 1
        if self.asked > 1:
            raise Silent
        return "nop"

    def solve(self, task: Task, container: Container, *, timeout_s: float) -> AgentResult:
        """Breaks down."""
        raise Silent


def test_fields_and_names_that_raise_are_the_agents_failure() -> None:
    """Where a result is asked for its patch, and an agent for its name."""
    result = object.__new__(Hostile)
    with pytest.raises(AgentFailed, match="ended with Silent: says nothing"):
        handed_in(lambda: result)
    mute = load_agent("tests.unit.agents.coding.test_foreign:Mute", AgentOptions("x", "none"))
    with pytest.raises(AgentFailed, match=r"^agent 'says nothing that can be shown' "):
        solved(mute, sample_task(), cast(Container, None), timeout_s=60.0)


def test_reasons_are_short_and_printable_and_patches_are_as_they_are() -> None:
    """What a result says of itself stands in tables; its patch and its log are files."""
    loud = replace(GOOD, failure="\x1b[2J\n" + "y" * 5_000_000, stopped_by="a\nb", log="\x1b[2J", patch="\x1b")
    found = handed_in(lambda: loud)
    assert (found.failure or "").startswith("[2J yyy")
    assert len(found.failure or "") == 2000
    assert (found.stopped_by, found.log, found.patch) == ("a b", "\x1b[2J", "\x1b")


class Unmakeable:
    """Breaks down on construction with something of its own."""

    def __init__(self, _options: AgentOptions) -> None:
        raise Silent


def test_a_class_that_breaks_down_unspeakably_is_a_wrong_entry() -> None:
    """Whatever kind of exception it is."""
    with pytest.raises(ConfigError, match=r"test_foreign:Unmakeable': Silent: says nothing .*example: my_agents"):
        load_agent("tests.unit.agents.coding.test_foreign:Unmakeable", AgentOptions("x", "none"))


BAD: dict[str, object] = {
    "patch=Unspeakable, which is not a text": replace(GOOD, patch=cast(str, Unspeakable())),
    "cost_usd=True, which is not None or dollars": replace(GOOD, usage=Usage(cost_usd=True)),
    "NoneType, which is no AgentResult": None,
    "patch=None, which is not a text": replace(GOOD, patch=cast(str, None)),
    "patch=b'x', which is not a text": replace(GOOD, patch=cast(str, b"x")),
    r"patch='\ud800', which is not a text in UTF-8": replace(GOOD, patch="\ud800"),
    r"log='\ud800', which is not a text in UTF-8": replace(GOOD, log="\ud800"),
    r"failure='\udcff', which is not None or a text": replace(GOOD, failure="\udcff"),
    "timed_out='no', which is not True or False": replace(GOOD, timed_out=cast(bool, "no")),
    "usage=dict, which is not a Usage": replace(GOOD, usage=cast(Usage, {})),
    "input_tokens=-1, which is not None or a count": replace(GOOD, usage=Usage(-1)),
    "output_tokens=True, which is not None or a count": replace(GOOD, usage=Usage(1, True)),
    "cost_usd=-5.0, which is not None or dollars": replace(GOOD, usage=Usage(1, 1, -5.0)),
    "cost_usd=inf, which is": replace(GOOD, usage=Usage(1, 1, float("inf"))),
    "cost_usd=nan, which is": replace(GOOD, usage=Usage(1, 1, float("nan"))),
    "cost_usd='free', which is": replace(GOOD, usage=Usage(1, 1, cast(float, "free"))),
    "steps=list, which is not a tuple of TrajectoryStep": replace(GOOD, steps=cast(tuple[()], [])),
}


@pytest.mark.parametrize("said", BAD)
def test_rubbish_is_told(said: str) -> None:
    """In one line that names the field."""
    with pytest.raises(AgentFailed) as caught:
        handed_in(lambda: BAD[said])
    assert f"handed in {said}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_hosts_clock_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what the class says of itself; later than its limit is too late."""
    for wall_s, late in ((59.0, False), (61.0, True)):
        times = iter((100.0, 100.0 + wall_s))
        monkeypatch.setattr(time, "monotonic", lambda times=times: next(times))
        found = handed_in(lambda: replace(GOOD, wall_s=float("nan")))
        assert (found.wall_s, found.timed_out) == (wall_s, late)
        assert found.patch == GOOD.patch


class Sandbox:
    """A sandbox that knows whether it was stopped."""

    stopped = False

    def stop(self) -> None:
        self.stopped = True


def test_who_does_not_come_back_loses_the_sandbox() -> None:
    """A class that hangs is waited for until its time is over, and not longer: the run goes on without it."""
    sandbox, ever = Sandbox(), threading.Event()
    agent = Theirs(lambda: ever.wait() and GOOD)
    found = solved(agent, sample_task(), cast(Container, sandbox), timeout_s=0.01)
    ever.set()
    assert (found.timed_out, found.patch, found.usage) == (True, "", Usage())
    assert "had not come back after 0 s" in found.log
    assert sandbox.stopped


class Nameless:
    def __init__(self, _options: AgentOptions) -> None:
        self.solve = lambda: None


class Lazy:
    name = "lazy"

    def __init__(self, _options: AgentOptions) -> None:
        """Nothing to solve with."""


class Leaves:
    def __init__(self, _options: AgentOptions) -> None:
        sys.exit(3)


@pytest.mark.parametrize("name", ["Nameless", "Lazy", "Leaves"])
def test_a_class_that_is_no_agent_is_refused(name: str) -> None:
    """Before the run begins, with its address and an example."""
    with pytest.raises(ConfigError, match=rf"test_foreign:{name}'.*example: my_agents"):
        load_agent(f"tests.unit.agents.coding.test_foreign:{name}", AgentOptions("x", "none"))


def test_a_defect_of_ours_is_not_an_agents_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends the run, so that somebody sees it."""
    agent = load_agent("datasmith.agents.coding.nop:NopAgent", AgentOptions("nop", "none"))
    assert is_ours(agent)
    monkeypatch.setattr(NopAgent, "solve", lambda *_given, **_named: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        solved(agent, sample_task(), cast(Container, None), timeout_s=1.0)
