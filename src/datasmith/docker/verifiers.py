"""Verdicts on an image or a patched tree, taken by the host: does it import, do its tests and benchmarks run."""

import importlib.util
import json
import secrets
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from datasmith.counted import counted
from datasmith.docker.engine import WORKDIR, Container, ExecResult, ImageRef, Mount
from datasmith.docker.junit import MAX_REPORT, TestState, read_junit
from datasmith.errors import ConfigError, ContainerError, EngineUnavailable

REPORT = "/tmp/fc-junit.xml"
TAIL = 4000
PYTEST = ("python3", "-m", "pytest", "-q", "--tb=native", "-p", "no:cacheprovider", "--junitxml={junit}")
"""For each test that fails, pytest's own tracebacks parse every file that they pass through, which takes a second."""
_ASV_PATH = "/opt/fc/asv"
_GZIP = 31
"""zlib's code for a gzip stream."""
_SOME_FAILED = 1
_PYTHON = ("python3", "-I", "-S", "-B", "-c")
"""With what our scripts are run: what the image's Python starts with comes after the token."""
_TOKEN_BYTES = 16
_UNPROVEN = "\nthe interpreter ended before all of it was done"


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """One verdict: `stage` is the question, `rc` the command's exit code (never 0 where it is not the command's own).

    A time-out is never ok; stderr ends with what limit was run into.
    """

    ok: bool
    rc: int
    stdout: str
    stderr: str
    duration_s: float
    stage: str


@dataclass(frozen=True, slots=True)
class TestReport:
    """What a test run showed: state by test id; empty where nothing ran. `rc` is the runner's exit code."""

    __test__ = False

    outcomes: Mapping[str, TestState]
    rc: int
    timed_out: bool
    wall_s: float
    tail: str

    @property
    def ended(self) -> bool:
        """True where all tests were run: pytest ends with 1 where some failed, and else with 0."""
        return not self.timed_out and self.rc in {0, _SOME_FAILED}

    @property
    def passed(self) -> frozenset[str]:
        """Ids of the tests that passed; none of a run that was cut off, or broke off."""
        if not self.ended:
            return frozenset()
        return frozenset(name for name, state in self.outcomes.items() if state == "passed")

    @property
    def failed(self) -> frozenset[str]:
        """Ids of the tests that failed or broke; what was skipped, or failed as expected, is in neither set."""
        return frozenset(name for name, state in self.outcomes.items() if state in {"failed", "error"})


def run_tests(
    container: Container, command: Sequence[str], *, timeout: float, env: Mapping[str, str] | None = None
) -> TestReport:
    """Run a test command, `{junit}` in it standing for the report's path, and read the report it wrote.

    The report comes back gzipped on standard output in the same call (a frozen container forgets /tmp): what an
    engine keeps of a stream holds the reports of some 200,000 tests.

    Raises:
        EngineUnavailable: the engine is gone; says nothing about the tests.
    """
    words = [word.replace("{junit}", REPORT) for word in command]
    script = ["sh", "-c", _template("run_tests.sh"), "run_tests", REPORT, *words]
    done = container.exec(script, timeout=timeout, env=env)
    tail = done.error_text[-TAIL:]
    if done.timed_out or not done.stdout:
        return TestReport({}, done.rc, done.timed_out, done.wall_s, tail)
    try:
        outcomes = read_junit(_unzipped(done.stdout))
    except ValueError as error:
        return TestReport({}, done.rc, False, done.wall_s, f"{tail}\n{error}")
    return TestReport(outcomes, done.rc, False, done.wall_s, tail)


def _unzipped(data: bytes) -> bytes:
    unzip = zlib.decompressobj(_GZIP)
    try:
        report = unzip.decompress(data, MAX_REPORT + 1)
    except zlib.error as error:
        raise ValueError(f"the test report cannot be unpacked: {error}") from error
    if len(report) <= MAX_REPORT and not unzip.eof:
        raise ValueError("the test report is not complete")
    return report


Where = Container | ImageRef | str
"""What can be verified: a container, an image, or an image's name or digest."""


class Verifier(Protocol):
    """One question about a container."""

    def verify(self, where: Container | str) -> VerifyResult:
        """The verdict; a command that fails or runs out of time is a verdict, not an exception.

        `where` is a container, or the name of an image that the engine of the settings holds: a fresh container of
        it is started then, whatever its entry point, and stopped. The verifiers below take an ImageRef, too.

        Raises:
            EngineUnavailable: the engine is gone; says nothing about the image.
            ContainerError: there is no such image.
        """


@dataclass(frozen=True, init=False)
class SmokeVerifier:
    """Whether these modules can be imported, outside the tree."""

    import_names: tuple[str, ...]
    timeout: float = 120.0

    def __init__(self, *import_names: str, timeout: float = 120.0) -> None:
        object.__setattr__(self, "import_names", import_names)
        object.__setattr__(self, "timeout", timeout)

    def verify(self, where: Where) -> VerifyResult:
        """See Verifier; with no names nothing was shown, so the answer is no."""
        if not self.import_names:
            return VerifyResult(False, -1, "", "no module was named", 0.0, "smoke")
        with _sandbox(where) as container, _Asked("smoke", self.timeout) as asked:
            argv = [*_PYTHON, _template("smoke.py"), *self.import_names]
            asked.verdict = asked.of_told(_told(container, argv, timeout=self.timeout, cwd="/"))
        return asked.verdict


@dataclass(frozen=True, init=False)
class PytestVerifier:
    """Whether at least one test passes, and none fails.

    `paths` are what of the tree's tests is run, as pytest takes them; all without any. They are put behind `command`,
    in which `{junit}` stands for the report's path.

    Raises:
        ConfigError: a path is none (no text, an option), or the command is in one piece.
    """

    paths: tuple[str, ...]
    timeout: float = 1800.0
    command: tuple[str, ...] = PYTEST

    def __init__(self, *paths: str, timeout: float = 1800.0, command: Sequence[str] = PYTEST) -> None:
        given: tuple[object, ...] = paths
        strange = [one for one in given if not isinstance(one, str) or not one or one.startswith("-")]
        strange += [command] if isinstance(command, str) else []
        if strange:
            said = f"PytestVerifier: {strange[0]!r} is neither a path nor a command's words"
            raise ConfigError(f'{said} (example: PytestVerifier("tests/unit", timeout=600))')
        object.__setattr__(self, "paths", paths)
        object.__setattr__(self, "timeout", timeout)
        object.__setattr__(self, "command", tuple(command))

    def verify(self, where: Where) -> VerifyResult:
        """See Verifier."""
        with _sandbox(where) as container, _Asked("tests", self.timeout) as asked:
            report = run_tests(container, (*self.command, *self.paths), timeout=self.timeout)
            seen = VerifyResult(True, report.rc, f"{len(report.passed)} passed", report.tail, report.wall_s, "tests")
            why = _limit_note(self.timeout).strip() if report.timed_out else _not_passed(report)
            asked.verdict = _refused(seen, why) if why else seen
        return asked.verdict


@dataclass(frozen=True)
class ProfileVerifier:
    """Whether asv benchmarks are found, and one of them can be called; measuring is `datasmith.workloads`' work.

    `benchmark_dir` is relative to the tree; empty: as the tree's asv configuration says. Where `only` names benchmarks,
    each with a position in the product of its parameters (None: it has none), no other is called.
    """

    timeout: float = 300.0
    benchmark_dir: str = ""
    only: tuple[tuple[str, int | None], ...] | None = None

    def verify(self, where: Where) -> VerifyResult:
        """See Verifier; a given container must have been started with asv_runner below /opt/fc/asv or in its Python."""
        with _sandbox(where) as container, _Asked("profile", self.timeout) as asked:
            listed = self._run(container, self.timeout)
            if listed.names:
                asked.verdict = self._called(container, listed.names, asked, listed.done.wall_s)
            else:
                seen = asked.of_told(listed)
                asked.verdict = _refused(seen, "no benchmark was found") if seen.ok else seen
        return asked.verdict

    def _called(self, container: Container, names: Sequence[str], asked: "_Asked", spent: float) -> VerifyResult:
        """Call benchmarks, in the order of their names or of `only`, until one works or the time is up."""
        wanted = self.only if self.only is not None else [(name, None) for name in names]
        calls = [call for call in wanted if call[0] in names]
        said = _limit_note(self.timeout) if calls else "none of the named benchmarks is there"
        verdict = VerifyResult(False, -1, "", said, spent, "profile")
        for name, index in calls:
            if spent >= self.timeout:
                break
            called = self._run(container, self.timeout - spent, name, *([] if index is None else [str(index)]))
            spent += called.done.wall_s
            verdict = asked.of_told(called)
            if verdict.ok:
                break
        said = f"{len(names)} benchmarks found\n{verdict.stdout}"
        return replace(verdict, stdout=said, duration_s=spent)

    def _run(self, container: Container, timeout: float, *call: str) -> "_Told":
        argv = [*_PYTHON, _template("profile.py"), WORKDIR, self.benchmark_dir, *call]
        return _told(container, argv, timeout=timeout, env={"PYTHONPATH": _ASV_PATH})


@dataclass(frozen=True)
class MultiObjVerifier:
    """Several questions; the first no is the answer."""

    verifiers: Sequence[Verifier] = ()

    def verify(self, where: Where) -> VerifyResult:
        """See Verifier; all look at one container. Without verifiers nothing was shown, so the answer is no."""
        last = VerifyResult(False, -1, "", "nothing was verified", 0.0, "none")
        spent = 0.0
        with _sandbox(where) as container:
            for verifier in self.verifiers:
                last = verifier.verify(container)
                spent += last.duration_s
                if not last.ok:
                    break
        return replace(last, duration_s=spent)


class _Asked:
    """One question: a container that cannot even start its command is a no, an engine that is gone is an error."""

    def __init__(self, stage: str, timeout: float) -> None:
        self._stage = stage
        self._timeout = timeout
        self.verdict = VerifyResult(False, -1, "", "nothing was asked", 0.0, stage)

    def of(self, done: ExecResult) -> VerifyResult:
        """The verdict that a command's end is."""
        said = done.error_text[-TAIL:] + (_limit_note(self._timeout) if done.timed_out else "")
        rc = done.rc or -int(done.timed_out)
        return VerifyResult(done.ok, rc, done.text[-TAIL:], said, done.wall_s, self._stage)

    def of_told(self, told: "_Told") -> VerifyResult:
        """The verdict that such an answer is; an end without one is a no, whatever its exit code."""
        found = replace(self.of(told.done), stdout="")
        if not found.ok or told.names is not None:
            return found
        return replace(found, ok=False, rc=-1, stderr=found.stderr + _UNPROVEN)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, ContainerError) or isinstance(error, EngineUnavailable):
            return False
        self.verdict = replace(self.verdict, stderr=str(error))
        return True


@dataclass(frozen=True, slots=True)
class _Told:
    """How one of our scripts ended in a sandbox, and the names that it told; None where it did not come to that."""

    done: ExecResult
    names: tuple[str, ...] | None


def _told(
    container: Container,
    argv: Sequence[str],
    *,
    timeout: float,
    cwd: str = WORKDIR,
    env: Mapping[str, str] | None = None,
) -> _Told:
    """Run a script that gets a token of this run before any code of the image is there, and says it last."""
    token = secrets.token_hex(_TOKEN_BYTES)
    done = container.exec(argv, timeout=timeout, cwd=cwd, env=env, stdin=f"{token}\n".encode())
    return _Told(done, read_told(done.stdout, token) if done.ok else None)


def read_told(stdout: bytes, token: str) -> tuple[str, ...] | None:
    """The names that the last line tells; None where it is not one with this token."""
    lines = stdout.splitlines()
    try:
        said = json.loads(lines[-1]) if lines else None
    except (ValueError, RecursionError):
        return None
    names = said.get("names") if isinstance(said, dict) and said.get("token") == token else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names)


def _not_passed(report: TestReport) -> str:
    """Why a run of tests that ended is no success; empty where it is one."""
    if not report.outcomes:
        return "no test was reported"
    if not report.ended:
        return f"the tests broke off with exit code {report.rc}"
    if report.failed:
        return f"{counted(len(report.failed), 'test')} failed"
    return "" if report.passed else "no test passed"


def _refused(seen: VerifyResult, why: str) -> VerifyResult:
    """The same as a no: it says why, and an exit code of 0 was not the answer's."""
    return replace(seen, ok=False, rc=seen.rc or -1, stderr=f"{seen.stderr}\n{why}".strip())


def _limit_note(timeout: float) -> str:
    return f"\nran into the limit of {timeout:g} s"


@contextmanager
def _sandbox(where: Where) -> Iterator[Container]:
    """The container itself, or a fresh one of the image for as long as it is needed."""
    if not isinstance(where, str | ImageRef):
        yield where
        return
    # Settings and engines are only needed, and only imported, where no container was given.
    from datasmith.docker.engines import open_engine
    from datasmith.settings import load_settings

    name = where if isinstance(where, str) else where.digest or where.name
    engine = open_engine(load_settings(engine="" if isinstance(where, str) else where.engine))
    image = engine.inspect(name)
    if image is None:
        raise ContainerError(f"{engine.name} holds no image {name} (example: formulacode/pandas-dev-pandas:16222)")
    with engine.start(image, mounts=_asv_mount()) as container:
        yield container


def _asv_mount() -> tuple[Mount, ...]:
    found = importlib.util.find_spec("asv_runner")
    if found is None or not found.submodule_search_locations:
        raise ConfigError("asv_runner is not installed (pip install 'asv-runner>=0.2.1')")
    return (Mount(Path(found.submodule_search_locations[0]), f"{_ASV_PATH}/asv_runner"),)


def _template(name: str) -> str:
    return files("datasmith.docker").joinpath("templates", name).read_text(encoding="utf-8")
