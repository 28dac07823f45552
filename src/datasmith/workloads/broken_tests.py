"""Break some tests of a tree, so that it shows whether they decide what a run of tests reports.

Which ones is drawn at random, and their files and names stay. A test that cannot pass and is reported as passed was not
decided by pytest.
"""

import ast
import io
import random
from collections.abc import Iterable, Mapping, Sequence

from datasmith.docker.engine import WORKDIR, Container
from datasmith.docker.verifiers import TestReport
from datasmith.errors import ContainerError, EngineUnavailable

MOST_BROKEN_FILES = 300
"""Of a larger suite, so many files drawn at random have tests broken; of any other, all."""
NO_REPORT = "no report where tests are broken"
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

Broken = Mapping[str, tuple[str, frozenset[str]]]
"""Path of a test file -> its text with broken functions, and the names of these."""


def break_tests(container: Container, expected: Iterable[str], lottery: random.Random) -> Broken:
    """Break each of these tests (pytest's ids, as reports have them) with a chance of 1/2; nothing is written yet."""
    by_module: dict[str, set[str]] = {}
    for name in expected:
        by_module.setdefault(name.partition("::")[0], set()).add(function_name(name))
    modules = lottery.sample(sorted(by_module), min(MOST_BROKEN_FILES, len(by_module)))
    texts: dict[str, str | None] = {}
    by_path: dict[str, set[str]] = {}
    for module in modules:
        path = next((path for path in candidates(module) if _text(container, path, texts) is not None), None)
        by_path.setdefault(path or "", set()).update(by_module[module])
    broken: dict[str, tuple[str, frozenset[str]]] = {}
    for path in sorted(by_path):
        made = _broken(texts.get(path), sorted(by_path[path]), lottery)
        if made:
            broken[path] = made
    return broken


def write_broken(container: Container, broken: Broken) -> None:
    """Lay the broken files into the tree.

    Raises:
        ContainerError: it does not take them.
    """
    for path, (text, _) in broken.items():
        container.write_file(f"{WORKDIR}/{path}", text.encode())


def still_passing(report: TestReport, broken: Broken) -> set[str]:
    """The broken tests that are reported as passed, however the run ended; NO_REPORT where nothing is reported."""
    if not report.outcomes:
        return {NO_REPORT}
    return {name for name, state in report.outcomes.items() if state == "passed" and is_broken(name, broken)}


def is_broken(name: str, broken: Broken) -> bool:
    """True where a test's function was broken in the file that it comes from."""
    return any(function_name(name) in broken[path][1] for path in candidates(name) if path in broken)


def _broken(text: str | None, functions: Sequence[str], lottery: random.Random) -> tuple[str, frozenset[str]] | None:
    """A file's text with half of these functions broken, and one at least."""
    if text is None:
        return None
    chosen = [name for name in functions if lottery.random() < 0.5] or [lottery.choice(functions)]
    return broken_text(text, frozenset(chosen), lottery)


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


def function_name(name: str) -> str:
    """`test_x` of the id `tests.test_a.TestB::test_x[1-2]`."""
    return name.partition("[")[0].rpartition("::")[2]


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
