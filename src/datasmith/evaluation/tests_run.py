"""Run the tests of a patched tree, and see whether the code under test decides what they report.

The report is written by the process that runs the submission, which can make every test pass. So the tests are run
once more, in another pristine container, with some of them broken by the host (see workloads.broken_tests).
"""

import random
from collections.abc import Callable, Sequence

from datasmith.docker.engine import Container
from datasmith.docker.verifiers import TestReport, run_tests
from datasmith.errors import ContainerError, EngineUnavailable, MeasurementFailed
from datasmith.evaluation.outcome import TestFacts
from datasmith.tasks.folder import TEST_TIMEOUT_S
from datasmith.workloads.broken_tests import Broken, break_tests, is_broken, still_passing, write_broken

TIMED_OUT = "the tests ran into their time limit, twice, where the host broke some of them"
Starter = Callable[[str], Container]
"""Starts a container of the image with a patch applied and built; raises MeasurementFailed where that fails."""


class TreeTests:
    """A task's tests, as they are run on patched trees."""

    def __init__(
        self,
        start: Starter,
        command: Sequence[str],
        expected: Sequence[str],
        lottery: random.Random,
        *,
        timeout: float = TEST_TIMEOUT_S,
    ) -> None:
        self._timeout = timeout
        self._start = start
        self._command = command
        self._expected = tuple(expected)
        self._lottery = lottery

    def facts(self, patch: str, *, trusted: bool) -> TestFacts:
        """What the tests say of a patched tree; an expected test that was not seen to pass has failed.

        `trusted`: nothing of a submission is in the tree, so there is nobody who could forge the report.
        """
        try:
            with self._start(patch) as container:
                report = self._run(container)
            failed = tuple(name for name in self._expected if name not in report.passed)
            facts = TestFacts(built=True, expected=len(self._expected), failed=failed, timed_out=report.timed_out)
            return facts if trusted or not facts.ok else self._forged(patch, facts)
        except MeasurementFailed as error:
            return TestFacts(built=False, expected=len(self._expected), problem=str(error))

    def _forged(self, patch: str, facts: TestFacts) -> TestFacts:
        """The same with what came of a run in which the host broke some tests."""
        with self._start(patch) as container:
            broken = break_tests(container, self._expected, self._lottery)
            self._write(container, broken, patch)
            if not broken:
                return facts
            report = self._run(container)
        if report.timed_out:
            report = self._again(patch, broken)
        names = [name for name in self._expected if is_broken(name, broken)]
        facts = facts.model_copy(update={"broken": len(names)})
        if report.timed_out:
            return facts.model_copy(update={"timed_out": True, "problem": TIMED_OUT})
        said = still_passing(report, broken)
        if said:
            # Only what base does not say of the same broken tests can be the submission's doing.
            base = self._again("", broken)
            said = set() if base.timed_out else said - still_passing(base, broken)
        return facts.model_copy(update={"forged": tuple(sorted(said))})

    def _again(self, patch: str, broken: Broken) -> TestReport:
        """Run the tests of a tree with the same ones broken, in a container of their own."""
        with self._start(patch) as container:
            self._write(container, broken, patch)
            return self._run(container)

    def _run(self, container: Container) -> TestReport:
        return run_tests(container, self._command, timeout=self._timeout)

    def _write(self, container: Container, broken: Broken, patch: str) -> None:
        """Lay the broken files into a tree; raises MeasurementFailed where only the patched tree does not take them."""
        try:
            write_broken(container, broken)
        except EngineUnavailable:
            raise
        except ContainerError as error:
            if not patch:
                raise
            with self._start("") as base:
                write_broken(base, broken)
            raise MeasurementFailed(f"the patched tree does not take the host's tests: {error}") from error
