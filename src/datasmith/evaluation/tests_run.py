"""Run the tests of a patched tree, and see whether the code under test decides what they report.

The report is written by the process that runs the submission, which can make every test pass. So the tests are run
once more, in another pristine container, with some of them broken by the host: which ones is drawn at random, and their
files and names stay. A test that cannot pass and is reported as passed was not decided by pytest.
"""

import ast
import random
from collections.abc import Callable, Iterable, Mapping, Sequence

from datasmith.docker.engine import WORKDIR, Container
from datasmith.docker.verifiers import TestReport, run_tests
from datasmith.errors import ContainerError, EngineUnavailable, MeasurementFailed
from datasmith.evaluation.outcome import TestFacts
from datasmith.tasks.folder import TEST_TIMEOUT_S

BROKEN_FILES = 4
BROKEN_TESTS = 6
"""So many files of tests have at most so many of their tests broken."""
NO_REPORT = "no report where tests are broken"

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
            broken = self._break(container)
            if not broken:
                return facts
            said = self._said(container, broken)
        if said:
            # Only what base does not say of the same broken tests can be the submission's doing.
            with self._start("") as container:
                _write(container, broken)
                said -= self._said(container, broken)
        names = [name for name in self._expected if _place(name, broken)]
        return facts.model_copy(update={"broken": len(names), "forged": tuple(sorted(said))})

    def _said(self, container: Container, broken: Mapping[str, tuple[str, frozenset[str]]]) -> set[str]:
        """The broken tests that are reported as passed; NO_REPORT where nothing is reported at all."""
        report = self._run(container)
        if not report.outcomes:
            return {NO_REPORT}
        return {name for name in report.passed if _place(name, broken)}

    def _run(self, container: Container) -> TestReport:
        return run_tests(container, self._command, timeout=self._timeout)

    def _break(self, container: Container) -> dict[str, tuple[str, frozenset[str]]]:
        """Break some tests in the tree; path -> (new text, names of the broken functions)."""
        by_path: dict[str, set[str]] = {}
        for name in self._expected:
            for path in candidates(name):
                by_path.setdefault(path, set()).add(function_name(name))
        broken: dict[str, tuple[str, frozenset[str]]] = {}
        for path in self._lottery.sample(sorted(by_path), len(by_path)):
            functions = sorted(by_path[path])
            chosen = self._lottery.sample(functions, min(BROKEN_TESTS, len(functions)))
            made = self._broken(container, path, chosen)
            if made:
                broken[path] = made
            if len(broken) == BROKEN_FILES:
                break
        _write(container, broken)
        return broken

    @staticmethod
    def _broken(container: Container, path: str, names: Iterable[str]) -> tuple[str, frozenset[str]] | None:
        try:
            text = container.read_file(f"{WORKDIR}/{path}").decode("utf-8")
        except EngineUnavailable:
            raise
        except (FileNotFoundError, ContainerError, UnicodeDecodeError):
            return None
        return broken_text(text, frozenset(names))


def _write(container: Container, broken: Mapping[str, tuple[str, frozenset[str]]]) -> None:
    for path, (text, _) in broken.items():
        container.write_file(f"{WORKDIR}/{path}", text.encode())


def _place(name: str, broken: Mapping[str, tuple[str, frozenset[str]]]) -> bool:
    """True where a test's function was broken in the file that it comes from."""
    return any(function_name(name) in broken[path][1] for path in candidates(name) if path in broken)


def function_name(name: str) -> str:
    """`test_x` of the id `tests.test_a.TestB::test_x[1-2]`."""
    return name.rpartition("::")[2].partition("[")[0]


def candidates(name: str) -> tuple[str, ...]:
    """The files that a test may come from, by its id: `tests/test_a/TestB.py`, `tests/test_a.py`."""
    parts = name.partition("::")[0].split(".")
    if not all(part.isidentifier() for part in parts):
        return ()
    return tuple("/".join(parts[:size]) + ".py" for size in range(len(parts), max(0, len(parts) - 3), -1))


def broken_text(text: str, names: frozenset[str]) -> tuple[str, frozenset[str]] | None:
    """A test file in which these functions raise before they do anything, and which of them are in it.

    None where none is, or where the file is none of Python's.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    lines = text.splitlines(keepends=True)
    found = set()
    at = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in names:
            first = node.body[0]
            line = min([first.lineno, *(mark.lineno for mark in getattr(first, "decorator_list", ()))])
            indent = lines[first.lineno - 1].encode()[: first.col_offset].decode()
            if not indent.strip() and line > node.lineno:
                at.append((line - 1, indent))
                found.add(node.name)
    for line, indent in sorted(at, reverse=True):
        lines.insert(line, f"{indent}raise RuntimeError\n")
    return ("".join(lines), frozenset(found)) if found else None
