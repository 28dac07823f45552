"""A report that the code under test made up is exposed by tests that the host broke."""

import ast
import gzip
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from datasmith.docker.engine import WORKDIR, ExecResult
from datasmith.errors import ContainerError, MeasurementFailed
from datasmith.evaluation.outcome import before_timing
from datasmith.evaluation.tests_run import TIMED_OUT, TreeTests
from datasmith.workloads.broken_tests import (
    NO_REPORT,
    break_tests,
    broken_text,
    candidates,
    function_name,
    write_broken,
)
from tests.unit.workloads.simulated import SimulatedContainer

TESTS = '''
import pytest

def helper():
    return 1

def test_one():
    """It has a docstring."""
    assert helper() == 1

class TestMore:
    @pytest.mark.parametrize("n", [1, 2])
    def test_two(
        self, n
    ):
        @staticmethod
        def inner(): return 1
        assert inner()

    async def test_three(self): assert True
'''
IDS = ("tests.test_a::test_one", "tests.test_a.TestMore::test_two[1]", "tests.test_a.TestMore::test_two[2]")


def body_of(text: str, function: str) -> list[str]:
    """The statements of a function, as text."""
    (found,) = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef) and n.name == function]
    return list(map(ast.unparse, found.body))


@dataclass
class Tree(SimulatedContainer):
    """A container that "runs" the tests in its files: one passes unless its function was changed.

    A stand-in for a sandbox with pytest: the real one is in the red team's attacks.
    """

    forges: str = ""
    files: dict[str, str] = field(default_factory=lambda: {"tests/test_a.py": TESTS})

    def exec(self, argv: Sequence[str], **_given: object) -> ExecResult:
        is_broken = self.files != {"tests/test_a.py": TESTS}
        if is_broken and self.forges in ("silent", "slow"):
            return ExecResult(1, b"", b"", 1.0, 1.0, timed_out=self.forges == "slow")
        cases = []
        for path, text in self.files.items():
            for name in IDS:
                function = function_name(name)
                raises = body_of(text, function) != body_of(TESTS, function)
                told = "<failure/>" if raises and self.forges != "all" else ""
                place, _, case = name.partition("::")
                assert path in candidates(name)
                cases.append(f'<testcase classname="{place}" name="{case}">{told}</testcase>')
        report = f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"
        return ExecResult(0, gzip.compress(report.encode()), b"", 1.0, 1.0, timed_out=False)

    def read_file(self, path: str, *, max_bytes: int = 1) -> bytes:
        found = self.files.get(path.removeprefix(f"{WORKDIR}/"))
        if found is None:
            raise FileNotFoundError(path)
        return found.encode()

    def write_file(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        self.files[path.removeprefix(f"{WORKDIR}/")] = data.decode()


@dataclass
class Starts:
    """Starts trees; only those with a patch forge."""

    forges: str = ""
    made: list[Tree] = field(default_factory=list)

    def __call__(self, patch: str) -> Tree:
        self.made.append(Tree(lambda _request: 1.0, forges=self.forges if patch else ""))
        return self.made[-1]


def tree_tests(starts: Starts, expected: Sequence[str] = IDS) -> TreeTests:
    return TreeTests(starts, ("pytest", "{junit}"), expected, random.Random(1))


def test_an_honest_tree_passes_and_its_broken_tests_do_not() -> None:
    """Two pristine containers; base is not asked where nothing was forged."""
    starts = Starts()
    facts = tree_tests(starts).facts("x", trusted=False)
    assert facts.ok
    assert facts.broken in (1, 2, 3)
    assert facts.forged == ()
    assert len(starts.made) == 2
    assert before_timing(facts) is None


@pytest.mark.parametrize(("forges", "told"), [("all", IDS), ("silent", (NO_REPORT,))])
def test_a_forged_report_is_exposed(forges: str, told: tuple[str, ...]) -> None:
    """Tests that cannot pass are reported as passed, or a failing test takes the report with it."""
    facts = tree_tests(Starts(forges)).facts("x", trusted=False)
    assert facts.forged
    assert set(facts.forged) <= set(told)
    ending = before_timing(facts)
    assert ending is not None
    assert ending.outcome == "tampered_or_unreliable"
    assert "that the host broke" in (ending.reason or "")


def test_a_run_that_takes_too_long_is_no_forgery() -> None:
    """It is repeated once; then the reason says what was seen."""
    starts = Starts("slow")
    facts = tree_tests(starts).facts("x", trusted=False)
    assert len(starts.made) == 3
    assert not facts.ok
    assert facts.forged == ()
    ending = before_timing(facts)
    assert ending is not None
    assert (ending.outcome, ending.reason) == ("failed_tests", TIMED_OUT)


@pytest.mark.parametrize("locked", ["patched", "both"])
def test_a_tree_that_takes_no_tests_is_its_own_failure(locked: str) -> None:
    """A build that makes the tests read-only fails alone; where base takes none either it is the host's trouble."""

    class Locked(Tree):
        def write_file(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
            raise ContainerError(f"{path}: Permission denied")

    def start(patch: str) -> Tree:
        return (Locked if patch or locked == "both" else Tree)(lambda _request: 1.0)

    tests = TreeTests(start, ("pytest", "{junit}"), IDS, random.Random(1))
    if locked == "both":
        with pytest.raises(ContainerError):
            tests.facts("x", trusted=False)
        return
    facts = tests.facts("x", trusted=False)
    assert not facts.ok and "does not take the host's tests" in (facts.problem or "")


def test_half_of_the_tests_of_all_files_are_broken() -> None:
    """However many files there are: nobody can be honest in a few of them and lie in the others."""
    text = "".join(f"def test_{number}():\n    x = 1\n    assert x\n\n" for number in range(20))
    files = {f"tests/test_{number}.py": text for number in range(20)}
    tree = Tree(lambda _request: 1.0, files=dict(files))
    names = [f"tests.test_{file}::test_{number}" for file in range(20) for number in range(20)]
    broken = break_tests(tree, names, random.Random(1))
    write_broken(tree, broken)
    assert broken.keys() == files.keys()
    assert 160 <= sum(len(functions) for _, functions in broken.values()) <= 240
    assert {path: made for path, (made, _) in broken.items()} == tree.files


def test_what_base_does_too_is_not_held_against_a_submission() -> None:
    """A test whose decorator swallows everything passes in base as well."""

    class Swallowing(Starts):
        def __call__(self, patch: str) -> Tree:
            return Tree(lambda _request: 1.0, forges="all")

    assert tree_tests(Swallowing()).facts("x", trusted=False).ok


def test_trusted_trees_are_tested_once() -> None:
    """Base and the expert's patch have nobody who would forge."""
    starts = Starts("all")
    assert tree_tests(starts).facts("x", trusted=True).ok
    assert len(starts.made) == 1


def test_tests_that_cannot_be_found_are_not_broken() -> None:
    """An id that names no file of the tree: counted, and nothing is held against anyone."""
    facts = tree_tests(Starts(), ("elsewhere::test_one",)).facts("x", trusted=False)
    assert facts.failed == ("elsewhere::test_one",)
    assert candidates("a b.c::x") == ()
    assert candidates("tests.test_a.TestB::test_x") == ("tests/test_a/TestB.py", "tests/test_a.py", "tests.py")


def test_a_tree_that_does_not_build_has_failed() -> None:
    """With its reason."""

    def start(_patch: str) -> Tree:
        raise MeasurementFailed("the patch does not apply")

    facts = TreeTests(start, ("pytest",), IDS, random.Random(1)).facts("x", trusted=False)
    assert (facts.built, facts.problem) == (False, "the patch does not apply")


def test_broken_text_fails_somewhere_in_some_way_and_is_python() -> None:
    """Before any statement that is come to, in many ways; on one line there is no place."""
    seen: dict[str, set[int]] = {"test_one": set(), "test_two": set()}
    ways = set()
    for seed in range(60):
        made = broken_text(TESTS, frozenset({"test_one", "test_two", "test_three"}), random.Random(seed))
        assert made is not None
        text, names = made
        assert names == {"test_one", "test_two"}
        assert body_of(text, "helper") == ["return 1"]
        for name, places in seen.items():
            statements, usual = body_of(text, name), body_of(TESTS, name)
            (at,) = [number for number, one in enumerate(statements) if one not in usual]
            assert statements[:at] + statements[at + 1 :] == usual
            places.add(at)
            with pytest.raises(Exception) as caught:
                exec(statements[at], {})
            ways.add(caught.type)
    assert seen == {"test_one": {0, 1}, "test_two": {0}}
    assert {AssertionError, ValueError, OSError} <= ways
    for within in ("\f", "\u2028", "\x85"):
        text = f"SIGN = '{within}'\r\n\r\ndef test_one():\r\n    assert SIGN\r\n"
        made = broken_text(text, frozenset({"test_one"}), random.Random(3))
        assert made is not None and len(body_of(made[0], "test_one")) == 2
    assert broken_text("def test_one(:", frozenset({"test_one"}), random.Random(1)) is None
    assert broken_text(TESTS, frozenset({"nobody"}), random.Random(1)) is None
