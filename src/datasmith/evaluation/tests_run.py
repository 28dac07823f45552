"""Run the tests of a patched tree, and see whether the code under test decides what they report.

The report is written by the process that runs the submission, which can make every test pass. So the tests are run
once more, in another pristine container, with some of them broken by the host: which ones is drawn at random, and their
files and names stay. A test that cannot pass and is reported as passed was not decided by pytest.
"""

import ast
import io
import random
from collections.abc import Callable, Mapping, Sequence

from datasmith.docker.engine import WORKDIR, Container
from datasmith.docker.verifiers import TestReport, run_tests
from datasmith.errors import ContainerError, EngineUnavailable, MeasurementFailed
from datasmith.evaluation.outcome import TestFacts
from datasmith.tasks.folder import TEST_TIMEOUT_S

MOST_BROKEN_FILES = 300
"""Of a larger suite, so many files drawn at random have tests broken; of any other, all."""
NO_REPORT = "no report where tests are broken"
TIMED_OUT = "the tests ran into their time limit, twice, where the host broke some of them"
_ERRORS = ("RuntimeError", "ValueError", "TypeError", "KeyError", "IndexError", "AttributeError", "OSError")
_WORDS = (
    "shape",
    "index",
    "value",
    "key",
    "axis",
    "length",
    "name",
    "state",
    "order",
    "size",
    "dtype",
    "label",
    "path",
)

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
            broken = self._break(container, patch)
            if not broken:
                return facts
            report = self._run(container)
        if report.timed_out:
            report = self._again(patch, broken)
        names = [name for name in self._expected if _place(name, broken)]
        facts = facts.model_copy(update={"broken": len(names)})
        if report.timed_out:
            return facts.model_copy(update={"timed_out": True, "problem": TIMED_OUT})
        said = _said(report, broken)
        if said:
            # Only what base does not say of the same broken tests can be the submission's doing.
            base = self._again("", broken)
            said = set() if base.timed_out else said - _said(base, broken)
        return facts.model_copy(update={"forged": tuple(sorted(said))})

    def _again(self, patch: str, broken: Mapping[str, tuple[str, frozenset[str]]]) -> TestReport:
        """Run the tests of a tree with the same ones broken, in a container of their own."""
        with self._start(patch) as container:
            self._write(container, broken, patch)
            return self._run(container)

    def _run(self, container: Container) -> TestReport:
        return run_tests(container, self._command, timeout=self._timeout)

    def _break(self, container: Container, patch: str) -> dict[str, tuple[str, frozenset[str]]]:
        """Break each expected test with a chance of 1/2; path -> (new text, names of the broken functions)."""
        by_module: dict[str, set[str]] = {}
        for name in self._expected:
            by_module.setdefault(name.partition("::")[0], set()).add(function_name(name))
        modules = self._lottery.sample(sorted(by_module), min(MOST_BROKEN_FILES, len(by_module)))
        texts: dict[str, str | None] = {}
        by_path: dict[str, set[str]] = {}
        for module in modules:
            path = next((path for path in candidates(module) if self._text(container, path, texts) is not None), None)
            by_path.setdefault(path or "", set()).update(by_module[module])
        broken: dict[str, tuple[str, frozenset[str]]] = {}
        for path in sorted(by_path):
            made = self._broken(texts.get(path), sorted(by_path[path]))
            if made:
                broken[path] = made
        self._write(container, broken, patch)
        return broken

    def _write(self, container: Container, broken: Mapping[str, tuple[str, frozenset[str]]], patch: str) -> None:
        """Lay the broken files into a tree; raises MeasurementFailed where only the patched tree does not take them."""
        try:
            _write(container, broken)
        except EngineUnavailable:
            raise
        except ContainerError as error:
            if not patch:
                raise
            with self._start("") as base:
                _write(base, broken)
            raise MeasurementFailed(f"the patched tree does not take the host's tests: {error}") from error

    def _broken(self, text: str | None, functions: Sequence[str]) -> tuple[str, frozenset[str]] | None:
        """A file's text with half of these functions broken, and one at least."""
        if text is None:
            return None
        chosen = [name for name in functions if self._lottery.random() < 0.5] or [self._lottery.choice(functions)]
        return broken_text(text, frozenset(chosen), self._lottery)

    @staticmethod
    def _text(container: Container, path: str, texts: dict[str, str | None]) -> str | None:
        """A file of the tree, read once; None where there is none."""
        if path not in texts:
            try:
                texts[path] = container.read_file(f"{WORKDIR}/{path}").decode("utf-8")
            except EngineUnavailable:
                raise
            except (FileNotFoundError, ContainerError, UnicodeDecodeError):
                texts[path] = None
        return texts[path]


def _said(report: TestReport, broken: Mapping[str, tuple[str, frozenset[str]]]) -> set[str]:
    """The broken tests that are reported as passed, however the run ended; NO_REPORT where nothing is reported."""
    if not report.outcomes:
        return {NO_REPORT}
    return {name for name, state in report.outcomes.items() if state == "passed" and _place(name, broken)}


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


def broken_text(text: str, names: frozenset[str], lottery: random.Random) -> tuple[str, frozenset[str]] | None:
    """A test file in which these functions fail at one of their statements, and which of them are in it.

    Where and how is drawn. None where none is, or where the file is none of Python's.
    """
    try:
        tree = ast.parse(text)
        lines = list(io.StringIO(text, newline=""))  # where Python ends lines, and nowhere else
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        places = [(node.name, _places(node, lines)) for node in functions if node.name in names]
        at = [lottery.choice(possible) for _, possible in places if possible]
        for line, indent in sorted(at, reverse=True):
            lines.insert(line, f"{indent}{breakage(lottery)}\n")
        made = "".join(lines)
        ast.parse(made)
    except (SyntaxError, ValueError):
        return None
    found = frozenset(name for name, possible in places if possible)
    return (made, found) if found else None


def _places(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> list[tuple[int, str]]:
    """(line, indent) before each statement of a function that is always come to."""
    found = []
    for statement in node.body:
        line = min([statement.lineno, *(mark.lineno for mark in getattr(statement, "decorator_list", ()))])
        indent = lines[statement.lineno - 1].encode()[: statement.col_offset].decode()
        if not indent.strip() and line > node.lineno:
            found.append((line - 1, indent))
        if any(isinstance(inner, ast.Return | ast.Raise | ast.Yield) for inner in ast.walk(statement)):
            break
    return found


def breakage(lottery: random.Random) -> str:
    """A statement that fails, as a test's own may: an error with some message, or a comparison that does not hold."""
    told = " ".join(lottery.sample(_WORDS, lottery.randrange(2, 5)))
    number = lottery.randrange(2, 1000)
    if lottery.random() < 0.5:
        return f"assert {number} == {number + lottery.randrange(1, 50)}, {told!r}"
    return f"raise {lottery.choice(_ERRORS)}({f'{told} {number}'!r})"
