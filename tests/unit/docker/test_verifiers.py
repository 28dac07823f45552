"""Verdicts of the host, on real sandboxes."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasmith.docker import MultiObjVerifier, ProfileVerifier, SmokeVerifier
from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.engine import Container, ImageRef
from datasmith.docker.verifiers import (
    PYTEST,
    REPORT,
    PytestVerifier,
    VerifyResult,
    _asv_mount,
    _unzipped,
    read_told,
    run_tests,
)
from datasmith.errors import ConfigError, ContainerError
from tests.sandboxes import embedded_engine, tree_image

pytestmark = pytest.mark.engine

SUITE = b"""class Sized:
    params = [1, 2]
    def setup(self, n):
        if n == 1 and self.refuses: raise NotImplementedError
    refuses = False
    def time_sized(self, n): open("/tmp/called", "w").write(str(n))

class Refused(Sized):
    refuses = True

def time_a_broken_one(): 1 / 0
def setup_module(): pass
def track_size(): return 3
"""
WRITER = b"""import sys
row = '<testcase classname="tests.test_%d" name="test_x[%d-a-longer-parameter]"/>'
rows = "".join(row % (i % 97, i) for i in range(60000))
open(sys.argv[1], "w").write(f"<testsuites>{rows}</testsuites>")
print("noise on standard output")
sys.exit(int(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("engine")


@pytest.fixture(scope="module")
def engine(cache: Path) -> BubblewrapEngine:
    return embedded_engine(cache)


@pytest.fixture(scope="module")
def image(engine: BubblewrapEngine, tmp_path_factory: pytest.TempPathFactory) -> ImageRef:
    files = {
        "asv.conf.json": b'{\n  // where\n  "benchmark_dir": "bench"\n}\n',
        "bench/__init__.py": b"",
        "bench/bench.py": SUITE,
        "bench/unimportable.py": b"import no_such_module\n",
        "write_report.py": WRITER,
    }
    return tree_image(engine, tmp_path_factory.mktemp("tree"), files)


@pytest.fixture(scope="module")
def container(engine: BubblewrapEngine, image: ImageRef) -> Iterator[Container]:
    with engine.start(image, mounts=_asv_mount()).freeze() as frozen:
        yield frozen


def test_an_import_is_tried_outside_the_tree(container: Container) -> None:
    """A module counts as importable where it is installed, not because the tree is the current directory."""
    assert SmokeVerifier("json", "xml.dom").verify(container).ok
    lone = SmokeVerifier("write_report").verify(container)
    assert (lone.ok, lone.stage) == (False, "smoke") and "ModuleNotFoundError" in lone.stderr


def test_only_the_token_of_the_run_in_the_last_line_is_an_answer() -> None:
    """Without the token, with that of another run, or with something after it, what was printed proves nothing."""
    said = b'{"token": "t1", "names": ["a"]}\n'
    assert read_told(b"noise\n" + said, "t1") == ("a",)
    others = (b"", b"[]", b'{"token": "t1"}', b'{"token": "t1", "names": [1]}', said + b"more\n", b"[" * 100_000)
    assert [read_told(text, "t1") for text in others] == [None] * len(others)
    assert read_told(said, "t2") is None


def test_nothing_asked_is_not_a_yes(container: Container) -> None:
    """No module named, or no verifier given: nothing was shown, so the answer is no."""
    assert not SmokeVerifier().verify(container).ok
    assert not MultiObjVerifier(verifiers=[]).verify(container).ok


def test_tests_are_named_as_modules_are(container: Container) -> None:
    """Paths go behind pytest's words; seconds in their place, or a command in one piece, are told before it is run."""
    asked = PytestVerifier("tests/unit", "tests/a.py::test_b", timeout=60)
    assert (asked.command, asked.paths) == (PYTEST, ("tests/unit", "tests/a.py::test_b"))
    echo = PytestVerifier("one two", "three", timeout=20, command=("printf", "<%s>"))
    assert "<one two><three>" in echo.verify(container).stderr
    for given in ({"paths": (60,)}, {"paths": ("--collect-only",)}, {"paths": ("",)}, {"command": "pytest tests"}):
        with pytest.raises(ConfigError, match=r'example: PytestVerifier\("tests/unit"'):
            PytestVerifier(*given.pop("paths", ()), **given)


def test_a_time_out_is_a_failure(container: Container) -> None:
    """A command that does not end is cut off, and is not ok."""
    report = run_tests(container, ["sleep", "60"], timeout=0.5)
    assert report.timed_out and not report.passed and report.wall_s < 20
    assert not PytestVerifier(command=("sleep", "60"), timeout=0.5).verify(container).ok


def test_a_large_report_comes_back_whole(container: Container) -> None:
    """60,000 tests (6 MB of XML) are all told, whatever the run printed and however it ended."""
    report = run_tests(container, ["python3", "write_report.py", "{junit}", "1"], timeout=60)
    assert (len(report.passed), report.rc, report.timed_out) == (60_000, 1, False)
    assert "noise on standard output" in report.tail


@pytest.mark.parametrize(
    "script",
    [
        "exit 0",
        "echo '<testsuites/>'",
        "echo no xml >{junit}",
        "ln -s /etc/passwd {junit}",
        'printf \'<testsuites><testcase classname="a" name="b"/>\' >{junit}',
    ],
)
def test_no_report_is_no_test(container: Container, script: str) -> None:
    """Exit code 0 without a whole report at its place shows nothing."""
    command = ("sh", "-c", script.replace("{junit}", REPORT))
    assert not run_tests(container, command, timeout=20).outcomes
    assert not PytestVerifier(command=command, timeout=20).verify(container).ok


def test_an_old_report_is_not_read(engine: BubblewrapEngine, image: ImageRef) -> None:
    """What lay at the report's place before the run is gone, in a container that keeps files as well."""
    with engine.start(image) as keeping:
        script = f'echo \'<testsuites><testcase classname="a" name="b"/></testsuites>\' >{REPORT}'
        assert run_tests(keeping, ["sh", "-c", script], timeout=20).passed == {"a::b"}
        assert not run_tests(keeping, ["true"], timeout=20).outcomes


@pytest.mark.figure("hostile archives")
def test_a_bomb_is_not_unpacked() -> None:
    """A report that unpacks to more than the cap is refused without being held, and so is a cut stream."""
    bomb = gzip.compress(b"\0" * 200_000_000, 1)
    assert len(_unzipped(bomb)) == 100_000_001
    with pytest.raises(ValueError, match="not complete"):
        _unzipped(gzip.compress(b"x" * 1000)[:-9])
    with pytest.raises(ValueError, match="cannot be unpacked"):
        _unzipped(b"plain text")


def test_a_suite_is_found_and_called(container: Container) -> None:
    """The suite that the configuration names is listed; what its setup refuses or breaks is passed over."""
    result = ProfileVerifier(timeout=60).verify(container)
    assert result.ok, result.stderr
    assert result.stdout.startswith("4 benchmarks found") and result.stage == "profile"


def test_only_the_named_benchmarks_are_called(engine: BubblewrapEngine, image: ImageRef) -> None:
    """Each with its own parameters; one that works beside those that are named shows nothing for them."""

    def asked(container: Container, *only: tuple[str, int | None]) -> VerifyResult:
        return ProfileVerifier(timeout=60, only=only).verify(container)

    with engine.start(image, mounts=_asv_mount()) as own:
        assert asked(own, ("bench.time_a_broken_one", None), ("bench.Refused.time_sized", 1)).ok
        for only in ("bench.time_a_broken_one", None), ("bench.Refused.time_sized", 0), ("bench.time_gone", None):
            assert not asked(own, only).ok
        assert not asked(own).ok


@pytest.mark.parametrize(("rc", "ok"), [(0, True), (1, True), (2, False), (3, False), (5, False), (139, False)])
def test_a_run_that_broke_off_shows_nothing(container: Container, rc: int, ok: bool) -> None:
    """Pytest ends with 0 or 1 where all tests were run: with another code the report is of those until then."""
    script = f'echo \'<testsuites><testcase classname="t" name="a"/></testsuites>\' >{REPORT}; exit {rc}'
    report = run_tests(container, ["sh", "-c", script], timeout=20)
    assert (report.ended, set(report.passed), set(report.outcomes)) == (ok, {"t::a"} if ok else set(), {"t::a"})
    assert PytestVerifier(command=("sh", "-c", script), timeout=20).verify(container).ok == ok


LIE = b"""import sys, os, json; os.write(1, json.dumps(dict(token=sys.stdin.readline().strip(), \
names=["no_such_module"])).encode() + b"\\n"); os._exit(0)
""".replace(b"\\\n", b"")


def test_what_the_interpreter_starts_with_cannot_answer(engine: BubblewrapEngine, image: ImageRef) -> None:
    """A .pth file of the image runs after the token was read, and finds standard output gone."""
    with engine.start(image, writable_env=True, mounts=_asv_mount()) as container:
        assert container.exec(["/usr/bin/python3", "-m", "venv", "--without-pip", "/opt/env"], timeout=60).ok
        where = container.exec(["python3", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], timeout=20)
        container.write_file(f"{where.text.strip()}/lie.pth", LIE)
        told = container.exec(["python3", "-c", "print('not reached')"], timeout=20, stdin=b"seen\n")
        assert '"token": "seen"' in told.text
        smoke, profile = SmokeVerifier("no_such_module").verify(container), ProfileVerifier(30).verify(container)
    assert not smoke.ok and not profile.ok and "ended before" in smoke.stderr


def test_what_is_skipped_has_not_failed(container: Container) -> None:
    """Neither passed nor failed; an error counts as a failure."""
    inside = {"a": "", "b": "<skipped/>", "c": '<skipped type="pytest.xfail"/>', "d": "<failure/>", "e": "<error/>"}
    cases = "".join(f'<testcase classname="t" name="{name}">{found}</testcase>' for name, found in inside.items())
    script = f"echo '<testsuites>{cases}</testsuites>' >{REPORT}"
    report = run_tests(container, ["sh", "-c", script], timeout=20)
    assert (set(report.passed), set(report.failed), len(report.outcomes)) == ({"t::a"}, {"t::d", "t::e"}, 5)


def test_a_suite_without_benchmarks_is_a_failure(engine: BubblewrapEngine, image: ImageRef) -> None:
    """Zero benchmarks, and benchmarks none of which can be called, are failures."""
    with engine.start(image, mounts=_asv_mount()) as changed:
        changed.write_file("/workspace/repo/bench/bench.py", b"def time_it(): 1 / 0\n")
        broken = ProfileVerifier(timeout=60).verify(changed)
        assert not broken.ok and "ZeroDivisionError" in broken.stderr
        changed.write_file("/workspace/repo/bench/bench.py", b"")
        assert not ProfileVerifier(timeout=60).verify(changed).ok


def test_the_first_no_is_the_answer(container: Container) -> None:
    """After a no, nothing more is asked; the seconds of all that was asked are added up."""

    class Never:
        def verify(self, where: Container | str) -> VerifyResult:
            raise AssertionError("asked after a no")

    result = MultiObjVerifier(verifiers=[SmokeVerifier("json"), SmokeVerifier("no_such"), Never()]).verify(container)
    assert (result.ok, result.stage) == (False, "smoke") and result.rc != 0
    assert result.duration_s > 0


def test_an_image_can_be_given_by_its_name(
    cache: Path, image: ImageRef, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A name is looked up in the engine of the settings; a name that it does not hold is an error that names it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FC_ENGINE", "bubblewrap")
    monkeypatch.setenv("FC_CACHE_DIR", str(cache))
    verifier = MultiObjVerifier(verifiers=[SmokeVerifier("json"), ProfileVerifier(timeout=60)])
    assert verifier.verify(image.name).ok
    with pytest.raises(ContainerError, match="holds no image formulacode/absent:1"):
        verifier.verify("formulacode/absent:1")
