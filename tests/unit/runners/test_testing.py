"""Which tests a task has: those of the whole suite, or where that takes too long, those next to the patch."""

import gzip
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

import pytest

from datasmith.agents.attempts import is_strangers
from datasmith.docker.cli_build import template
from datasmith.docker.context import SCRIPTS
from datasmith.docker.engine import Container, ExecResult, ImageRef
from datasmith.docker.junit import TestState
from datasmith.docker.seal import SealReport
from datasmith.docker.verifiers import REPORT, TestReport
from datasmith.process import clean_environment, run
from datasmith.runners.order import Refusal, Verified
from datasmith.runners.testing import (
    TEST_COMMAND,
    TestRuns,
    compared,
    file_of,
    module_of,
    narrowed,
    near_tests,
    told_falsely,
)
from datasmith.workloads.inside import test_budget
from tests.clones import Clone
from tests.unit.runners.test_synthesis import order

IMAGE = ImageRef("stub", "x", "sha256:0")


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path / "calc")


def report(states: Mapping[str, TestState], *, rc: int = 0, timed_out: bool = False) -> TestReport:
    return TestReport(states, rc, timed_out, 1.0, "the end\x1b[2J\n\n")


NAMES = [f"tests.test_a::test_{number}" for number in range(20)]
SUITE = "".join(f"def test_{number}():\n    assert {number} == {number}\n\n\n" for number in range(20))
BASE: dict[str, TestState] = {"tests.test_a::one": "passed", "tests.test_b.TestB::two": "passed"}


def judged(clone: Clone, expert: TestReport, files: Sequence[str]) -> Verified | Refusal:
    clone.merge(12, "Faster")
    return compared(order(clone, files=files), Verified((), report(BASE), expert, seal=SealReport((), ())))


def test_a_test_that_the_expert_breaks_is_a_refusal(clone: Clone) -> None:
    """By name; also one that has vanished."""
    found = judged(clone, report({**BASE, "tests.test_a::one": "failed"}), ["calc.py"])
    assert found == Refusal("the expert's patch breaks 1 test: tests.test_a::one")


def test_a_test_whose_file_the_pull_request_rewrites_is_excused(clone: Clone) -> None:
    """It need not pass afterwards, and it counts on neither side."""
    found = judged(clone, report({"tests.test_a::one": "passed"}), ["calc.py", "tests/test_b.py"])
    assert isinstance(found, Verified)
    assert sorted(found.excused) == ["tests.test_b.TestB::two"]
    assert found.passing == ("tests.test_a::one",)
    assert len(found.base.passed - found.excused) == len(found.passing)


@pytest.mark.parametrize("expert", [report({}), report(BASE, timed_out=True), report(BASE, rc=3)])
def test_tests_that_do_not_run_are_a_refusal(clone: Clone, expert: TestReport) -> None:
    """No result, a time-out and a run that broke off are no pass, and say nothing of single tests."""
    found = judged(clone, expert, [])
    assert isinstance(found, Refusal) and found.reason.endswith("the end [2J") and found.reason.isprintable()


@pytest.mark.parametrize(
    ("test", "module", "file"),
    [
        ("tests.test_a::one", "tests.test_a", "tests/test_a.py"),
        ("tests.test_a.TestA.TestInner::one", "tests.test_a", "tests/test_a.py"),
        ("tests.test_a.lower::one", "tests.test_a.lower", "tests/test_a.py"),
        ("TestA::one", "TestA", None),
        ("", "", None),
    ],
)
def test_the_module_of_a_test(test: str, module: str, file: str | None) -> None:
    """Class names start with a capital; where the tree's files are known, any class is told from a module."""
    assert (module_of(test), file_of(test, {"tests/test_a.py", "tests.py"})) == (module, file)


TREE = (
    "calc/_fast.py", "calc/slow.py", "calc/tests/test_all.py", "tests/test_fast.py", "tests/test_other.py",
    "tests/slow_test.py", "docs/fast.rst", "setup.py",
)  # fmt: skip


def test_the_nearest_tests() -> None:
    """What the pull request changes itself, what bears its modules' names, and what lies beside them."""
    changed = ["calc/_fast.py", "tests/test_other.py", "tests/test_gone.py", "docs/fast.rst"]
    found = near_tests(TREE, changed)
    assert found == ["calc/_fast.py", "tests/test_other.py", "tests/test_fast.py", "calc/tests/test_all.py"]
    assert near_tests(TREE, ["setup.cfg"]) == []


def test_a_run_that_was_cut_short_makes_the_task_narrow() -> None:
    """The task has the files that ran to their end; tests that no file is known for are not among its own."""
    states: dict[str, TestState] = {"tests.test_fast::a": "passed", "docs.fast::b": "passed", "calc.slow::c": "failed"}
    cut = TestReport(states, 2, False, 61.0, "")
    assert TestRuns(60).cut_short(cut) and not TestRuns(62).cut_short(cut)
    report, command = narrowed(cut, TREE)
    assert report.passed == {"tests.test_fast::a"} and report.rc == 0
    assert command == (*TEST_COMMAND, "calc/slow.py", "tests/test_fast.py")


@dataclass
class Sandbox:
    """Runs a command here, on tests that this module has written, and counts."""

    place: Path
    runs: int = 0

    def exec(self, argv: Sequence[str], *, timeout: float, env: Mapping[str, str] | None = None) -> ExecResult:
        self.runs += 1
        told = {**clean_environment(), **(env or {}), "PYTHONDONTWRITEBYTECODE": "1"}
        if env:
            told["PYTHONPATH"] = str(Path(test_budget.__file__).parents[1])
        stands_for = {"/opt/env/bin/python": sys.executable, REPORT: str(self.place / "report.xml")}
        words = [stands_for.get(word, word).replace(f"={REPORT}", f"={stands_for[REPORT]}") for word in argv]
        done = run(words, cwd=self.place, timeout=timeout, env=told)
        return ExecResult(done.rc, done.stdout, done.stderr, done.wall_s, done.cpu_s, done.timed_out)

    def stop(self) -> None: ...

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None: ...


PASSES = "def test_one(): pass\ndef test_two(): pass\n"
NOT_REACHED = "def test_three(): assert False\n"


def sandbox(place: Path) -> Sandbox:
    """Two test modules; the one that pytest would take last is next to what is changed."""
    (place / "tests").mkdir(parents=True)
    (place / "tests/test_z.py").write_text(PASSES)
    (place / "tests/test_a.py").write_text(NOT_REACHED)
    (place / "pytest.ini").write_text("[pytest]\n")
    return Sandbox(place)


def test_a_run_ends_between_modules_when_its_time_is_up(clone: Clone, tmp_path: Path) -> None:
    """The nearest module ran, and whole; the other one was left. With time enough both ran."""
    clone.merge(12, "Faster")
    box = sandbox(tmp_path / "tree")
    asked, paths = order(clone, files=["z.py"]), ["z.py", "tests/test_a.py", "tests/test_z.py"]
    short = TestRuns(0.0)
    found = short.at_base(asked, IMAGE, paths, cast("Container", box))
    assert short.cut_short(found), found.tail
    assert found.outcomes == {"tests.test_z::test_one": "passed", "tests.test_z::test_two": "passed"}
    whole = TestRuns(60.0).at_base(asked, IMAGE, paths, cast("Container", box))
    assert len(whole.outcomes) == 3 and whole.outcomes["tests.test_a::test_three"] == "failed"


def test_a_report_is_believed_again(clone: Clone, tmp_path: Path) -> None:
    """For the same image, patch and tests, unless that is not wished; a run that showed nothing is made again."""
    clone.merge(12, "Faster")
    box = sandbox(tmp_path / "tree")
    runs, command = TestRuns(kept=tmp_path / "kept"), (*TEST_COMMAND, "tests/test_z.py")

    def report(runs: TestRuns, patch: str, *more: str) -> TestReport:
        return runs.with_patch(IMAGE, patch, (*command, *more), lambda: cast("Container", box))

    first = report(runs, "a")
    assert len(first.passed) == 2
    assert report(runs, "a") == first and box.runs == 1
    assert report(runs, "b").outcomes == first.outcomes and box.runs == 2
    assert report(TestRuns(kept=tmp_path / "kept", reuse=False), "a").outcomes == first.outcomes and box.runs == 3
    for _ in range(2):
        assert not report(runs, "a", "-k", "no_such_test").passed
    assert box.runs == 5


def test_tests_in_several_processes_have_no_budget() -> None:
    """No process of them sees the whole run; without the variable nothing is done either."""
    registered: list[str] = []

    class Config:
        def __init__(self, processes: int | None) -> None:
            self.pluginmanager = self
            self.processes = processes

        def getoption(self, name: str, default: object = None) -> object:
            return self.processes if name == "numprocesses" else default

        def register(self, plugin: object, name: str) -> None:
            registered.append(name)

    for processes, environment in ((2, {test_budget.SECONDS: "1"}), (None, {}), (None, {test_budget.SECONDS: "1"})):
        test_budget.pytest_configure(Config(processes), environment)
    assert len(registered) == 1


class Tree:
    """A tree with one test file; what pytest says of it is up to `told`, which sees the file's text."""

    def __init__(self, told: Callable[[str], Mapping[str, TestState]], text: str = SUITE) -> None:
        self.text, self.told = text, told

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def read_file(self, path: str) -> bytes:
        if path != "/workspace/repo/tests/test_a.py":
            raise FileNotFoundError(path)
        return self.text.encode()

    def write_file(self, path: str, data: bytes) -> None:
        self.text = data.decode()

    def exec(self, _argv: object, **_: object) -> ExecResult:
        states = self.told(self.text)
        cases = "".join(
            f'<testcase classname="{name.partition("::")[0]}" name="{name.partition("::")[2]}">'
            f"{'' if state == 'passed' else '<failure/>'}</testcase>"
            for name, state in states.items()
        )
        return ExecResult(0, gzip.compress(f"<testsuite>{cases}</testsuite>".encode()), b"", 1.0, 1.0, False)


def honest(text: str) -> dict[str, TestState]:
    """What the functions of a file say when they are called."""
    space: dict[str, Callable[[], None]] = {}
    exec(compile(text, "test_a.py", "exec"), {}, space)
    return {name: _ended(space[name.partition("::")[2]]) for name in NAMES}


def _ended(test: Callable[[], None]) -> TestState:
    try:
        test()
    except (AssertionError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError):
        return "failed"
    return "passed"


def test_scripts_of_somebody_else_may_not_decide_the_tests() -> None:
    """Tests that are broken fail in an honest image; where all pass, or nothing is reported, it is refused."""

    def said(told: Callable[[str], Mapping[str, TestState]], text: str = SUITE) -> str:
        tree = cast("Container", Tree(told, text))
        found = told_falsely(lambda: tree, NAMES, ("pytest",))
        return found.reason if found else ""

    assert said(honest) == ""
    assert "what is not ours decides its tests" in said(lambda _: dict.fromkeys(NAMES, "passed"))
    assert "nothing is reported (exit code 0)" in said(lambda _: {})
    aware = said(lambda text: dict.fromkeys(NAMES, "passed" if text == SUITE else "failed"))
    assert aware.startswith("where some of its tests are broken others are lost, too: of ")
    assert "can be broken" in said(honest, "no python at all (")


def test_scripts_are_ours_only_where_each_of_them_is() -> None:
    """Of those that may differ, or of all that ship with us; what is not there is nobody's."""
    ours = {name: template(name) for name in SCRIPTS}
    assert not is_strangers(ours) and not is_strangers(ours, SCRIPTS) and not is_strangers({})
    changed = {**ours, "docker_build_env.sh": "true\n"}
    assert not is_strangers(changed) and is_strangers(changed, SCRIPTS)
    assert is_strangers({"docker_build_pkg.sh": "true\n"})
