"""What both generations of folders share: the limits of time, the end that Ctrl-C makes, and how a failure is told."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

from datasmith.docker.engine import Limits
from datasmith.docker.verifiers import TestReport
from datasmith.errors import BuildFailed
from datasmith.redact import redact
from datasmith.runners.verification.verdict import TAIL, Failed, Stage, Verified


class Stopped(Exception):
    """The command was stopped: what is under way has no verdict."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds that a build, a test run and a run of benchmarks may take; a time-out is a failure.

    `build_s` is for all tiers of an image together, and then for each time that a patched tree is built again.
    """

    build_s: float = 3600.0
    tests_s: float = 1800.0
    benchmarks_s: float = 3600.0


@dataclass(frozen=True, slots=True)
class Step:
    """Says what a folder is at, and ends the work between two steps where the command was stopped."""

    say: Callable[[str], None] = lambda _what: None
    stop: threading.Event = field(default_factory=threading.Event)

    def __call__(self, what: str) -> None:
        """The next step begins.

        Raises:
            Stopped: it does not.
        """
        if self.stop.is_set():
            raise Stopped(what)
        self.say(what)


class Generation(Protocol):
    """How one generation of folders is verified."""

    @property
    def engine(self) -> str:
        """Name of the engine that builds and runs."""

    @property
    def conditions(self) -> str:
        """What a verdict depends on beside the folder, see `conditions`."""

    def verify(self, folder: Path, *, log: Path, step: Step) -> Verified | Failed:
        """Judge a folder that is our own copy; build output is appended to `log`.

        Raises:
            InvalidTask: it cannot be read: that is a verdict, too.
            EngineUnavailable, IndexUnavailable: the engine is gone, or cannot build such a folder, or what it
                downloads from is gone: says nothing about the folder.
            Stopped: see Step.
        """


RULES = 4
"""Another number where what a verdict means has changed."""


def conditions(engine: str, times: Times, limits: Limits, system: str = "") -> str:
    """Under which rules, engine, times and limits a verdict is reached; one of others is not taken for it.

    `system` is what images are built on, where that is no part of the folder.
    """
    seconds = ", ".join(f"{name.removesuffix('_s')} {value:g} s" for name, value in asdict(times).items())
    held = ", ".join(f"{name} {value}" for name, value in sorted(asdict(limits).items()))
    return f"rules {RULES}; {engine}{f' on {system}' if system else ''}; {seconds}; {held}"


def failed(stage: Stage, message: str, *, code: int = -1, stdout: str = "", stderr: str = "", step: str = "") -> Failed:
    """A failure whose texts are cut, and hold nothing that has the form of a secret."""
    return Failed(
        stage=stage,
        return_code=code,
        error_message=redact(message)[:TAIL],
        stdout=redact(stdout)[-TAIL:],
        stderr=redact(stderr)[-TAIL:],
        step=step,
    )


def build_failed(error: BuildFailed, limit_s: float) -> Failed:
    """What a failed build says: its log's tail is one text, shown as standard output."""
    said = f"the build is not done after {limit_s:g} s: {error.stage} was under way" if error.timed_out else str(error)
    code = -1 if error.timed_out else error.rc
    return failed("build", said, code=code, stdout=error.log_tail, step=error.stage)


def tests_failed(report: TestReport, message: str, limit_s: float) -> Failed:
    """A test run that shows too little; `message` says what."""
    said = f"the tests are not done after {limit_s:g} s" if report.timed_out else message
    return failed("tests", said, code=-1 if report.timed_out else report.rc, stderr=report.tail)


def some(names: Sequence[str]) -> str:
    """The first names of a list."""
    return ", ".join(names[:5]) + (" ..." if len(names) > 5 else "")
