"""Stage 5's test runs: which tests a task has, what the expert's patch may break, and what need not be run twice."""

import gzip
import hashlib
import json
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath

from datasmith.counted import counted
from datasmith.docker.engine import ENV_PREFIX, Container, ImageRef
from datasmith.docker.verifiers import PYTEST, TestReport, run_tests
from datasmith.printable import printable
from datasmith.redact import redact
from datasmith.runners.order import Order, Refusal, Verified
from datasmith.tasks.folder import TEST_TIMEOUT_S, is_test_path
from datasmith.workloads.broken_tests import break_tests, is_broken, still_passing, write_broken
from datasmith.workloads.inside.test_budget import FIRST, PLUGIN, SECONDS
from datasmith.workloads.mounts import INSIDE_HOME

TEST_COMMAND: tuple[str, ...] = (f"{ENV_PREFIX}/bin/python", *PYTEST[1:], "--continue-on-collection-errors")
"""A module that cannot be imported, as where a pull request deletes it with its tests, takes no other tests away."""
TEST_BUDGET_S = 900.0
"""After so long the run at base ends with the module it is at, and the task has the tests that ran until then."""
SHOWN_TESTS = 3
MOST_FALSE = 0.1
"""Of the tests that we break, this share may pass: a function that was broken can be called in another place alone."""
_TO_THE_END = ("--maxfail=0",)
"""A project may ask pytest to stop at the first test that fails."""
_INTERRUPTED = 2
"""pytest's exit code of a run that ended early."""
_MOST_NEAR = 500


@dataclass(frozen=True, slots=True)
class TestRuns:
    """Runs tests; `kept` is a directory of reports that are believed again, None: each run is a new one."""

    __test__ = False

    budget_s: float = TEST_BUDGET_S
    kept: Path | None = None
    reuse: bool = True

    def at_base(self, order: Order, image: ImageRef, paths: Sequence[str], container: Container) -> TestReport:
        """The tests of the untouched tree, at least those next to the patch; `paths` are the files of that tree."""
        near = near_tests(paths, [file.path for file in order.pr.files])
        command = (*TEST_COMMAND, "-p", PLUGIN)
        told = {"PYTHONPATH": INSIDE_HOME, SECONDS: f"{self.budget_s:g}", FIRST: "\n".join(near)}
        key = _key(image.digest, "", command, *told.values())
        found = self._known(key)
        if found is None:
            found = run_tests(container, command, timeout=TEST_TIMEOUT_S, env=told)
            self._keep(key, found)
        return found

    def with_patch(
        self, image: ImageRef, patch: str, command: Sequence[str], start: Callable[[], Container]
    ) -> TestReport:
        """The tests of `command` in a container with `patch` applied, which is started where it is needed."""
        key = _key(image.digest, patch, command)
        found = self._known(key)
        if found is None:
            with start() as container:
                found = run_tests(container, command, timeout=TEST_TIMEOUT_S)
            self._keep(key, found)
        return found

    def cut_short(self, report: TestReport) -> bool:
        """True where a run at base ended because its time was up."""
        return report.rc == _INTERRUPTED and report.wall_s >= self.budget_s and bool(report.outcomes)

    def _known(self, key: str) -> TestReport | None:
        place = self.kept / key if self.kept and self.reuse else None
        if place is None or not place.is_file():
            return None
        return TestReport(**json.loads(gzip.decompress(place.read_bytes())))

    def _keep(self, key: str, report: TestReport) -> None:
        """Only runs that came to their end, or to that of their time, tell what a second one would show."""
        if self.kept is None or not (report.passed or self.cut_short(report)):
            return
        self.kept.mkdir(parents=True, exist_ok=True)
        draft = self.kept / f".{key}"
        draft.write_bytes(gzip.compress(json.dumps(asdict(report)).encode()))
        draft.rename(self.kept / key)


def _key(*parts: str | Sequence[str]) -> str:
    return hashlib.sha256(json.dumps([*parts, TEST_TIMEOUT_S]).encode()).hexdigest()


def near_tests(paths: Collection[str], changed: Collection[str]) -> list[str]:
    """Test modules that a change is likely to break, the likeliest first.

    Those that it changes itself and the changed modules (whose examples may be tests), those of their names, those
    in test directories beside them.
    """
    known = [path for path in paths if path.endswith(".py")]
    sources = [PurePosixPath(path) for path in changed if path.endswith(".py") and not is_test_path(path)]
    names = {source.stem.strip("_") for source in sources}
    beside = {(source.parent / name).as_posix() for source in sources for name in ("test", "tests")}
    tests = [path for path in known if is_test_path(path)]
    named = [path for path in tests if _subject(path) in names]
    neighbours = [path for path in tests if PurePosixPath(path).parent.as_posix() in beside]
    own = [path for path in known if path in changed]
    return list(dict.fromkeys([*own, *named, *neighbours]))[:_MOST_NEAR]


def _subject(path: str) -> str:
    """What a test module is named after: specifiers, of tests/test_specifiers.py."""
    return PurePosixPath(path).stem.removeprefix("test_").removesuffix("_test").strip("_")


def narrowed(report: TestReport, paths: Collection[str]) -> tuple[TestReport, tuple[str, ...]]:
    """Of a run that was cut short the tests whose files are known, and the command that runs just these files."""
    known = frozenset(paths)
    files = {test: path for test in report.outcomes if (path := file_of(test, known))}
    outcomes = {test: state for test, state in report.outcomes.items() if test in files}
    return replace(report, outcomes=outcomes, rc=0), (*TEST_COMMAND, *sorted(set(files.values())))


def file_of(test: str, paths: Collection[str]) -> str | None:
    """The file of `tests.test_x.TestClass::test_y`, if it is one of `paths`."""
    parts = test.partition("::")[0].split(".")
    tried = (f"{'/'.join(parts[:length])}.py" for length in range(len(parts), 0, -1))
    return next((path for path in tried if path in paths), None)


def is_usual(command: Sequence[str]) -> bool:
    """Whether tests are run as stage 5 runs them, be it only some of them."""
    return tuple(command[: len(TEST_COMMAND)]) == TEST_COMMAND


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why nobody can believe the tests of an image; `report` is that of the run that shows it, None: there was none."""

    reason: str
    report: TestReport | None = None


def told_falsely(
    start: Callable[[], Container], passed: Collection[str], command: Sequence[str], timeout: float = TEST_TIMEOUT_S
) -> Doubt | None:
    """Why the tests of what somebody else's scripts built are not to be believed; None where nothing speaks against.

    Half of the tests that passed are broken in a container of its untouched tree, which is started for that: these have
    to fail, and the others to pass as before. A run of them may take `timeout` seconds.
    """
    with start() as container:
        broken = break_tests(container, passed, random.SystemRandom())
        asked = [name for name in passed if is_broken(name, broken)]
        if not asked:
            return Doubt("none of its tests can be broken, so that nothing shows what decides them")
        write_broken(container, broken)
        every = _TO_THE_END if is_usual(command) else ()
        report = run_tests(container, (*command, *every), timeout=timeout)
    if report.timed_out:
        return Doubt(f"its tests are not done after {timeout:g} s where some of them are broken", report)
    if not report.outcomes:
        said = f"where some of its tests are broken nothing is reported (exit code {report.rc})"
        return Doubt(f"{said}: {last_line(report.tail)}", report)
    false = sorted(still_passing(report, broken))
    if len(false) > MOST_FALSE * len(asked):
        said = f"of {len(asked)} that were broken pass {', '.join(false[:SHOWN_TESTS])}"
        return Doubt(f"what is not ours decides its tests: {said}", report)
    whole = [name for name in passed if not is_broken(name, broken)]
    lost = [name for name in whole if report.outcomes.get(name) != "passed"]
    if len(lost) > MOST_FALSE * len(whole):
        said = f"of {len(whole)} that were not broken {len(lost)} do not pass: {', '.join(sorted(lost)[:SHOWN_TESTS])}"
        return Doubt(f"where some of its tests are broken others are lost, too: {said}", report)
    return None


def no_tests(report: TestReport) -> str:
    """Why a run of the untouched tree shows no test that passes."""
    if report.timed_out:
        return f"its tests at base are not done after {TEST_TIMEOUT_S:g} s"
    return f"no test passes at base (exit code {report.rc}): {last_line(report.tail)}"


def compared(order: Order, verified: Verified) -> Verified | Refusal:
    """The same with its excused tests; a refusal where the expert's patch breaks any other test."""
    expert = verified.expert
    if not expert.ended or not expert.outcomes:
        said = f"(exit code {expert.rc}): {last_line(expert.tail)}"
        return Refusal(f"the tests do not run to their end with the expert's patch {said}")
    changed = {_module(file.path) for file in order.pr.files if is_test_path(file.path)}
    lost = verified.base.passed - verified.expert.passed
    excused = frozenset(name for name in lost if module_of(name) in changed)
    broken = sorted(lost - excused)
    if broken:
        return Refusal(f"the expert's patch breaks {counted(len(broken), 'test')}: {', '.join(broken[:SHOWN_TESTS])}")
    return replace(verified, excused=excused)


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def module_of(test: str) -> str:
    """The module of `tests.test_x.TestClass::test_y`: class names start with a capital."""
    parts = test.partition("::")[0].split(".")
    while len(parts) > 1 and parts[-1][:1].isupper():
        parts.pop()
    return ".".join(parts)


def last_line(text: str) -> str:
    """What a program said last, without secrets and in printable characters: it is shown on terminals."""
    shown = (printable(row).strip() for row in redact(text).splitlines())
    return ([line for line in shown if line] or ["no output"])[-1][:200]
