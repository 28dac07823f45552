"""The scripts of a task folder: the same ids as the host's, and a reward on every way out. All content is ours."""

import importlib.util
import json
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasmith import process
from datasmith.docker.junit import read_junit
from datasmith.tasks import folder as task_folder
from tests.unit.tasks.samples import PATCH, sample_task, source_tar

TEMPLATES = Path(task_folder.__file__).parent / "templates"
PASSING = "tests.test_a::test_one"
REPORT = (
    '<testsuites><testsuite><testcase classname="tests.test_a" name="test_one">{}</testcase></testsuite></testsuites>'
)


def verdict() -> ModuleType:
    """The program of the task folder, as a module."""
    spec = importlib.util.spec_from_file_location("verdict", TEMPLATES / "verdict.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHILDREN = ("failure", "error", "skipped", "system-out", "properties")
cases = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sets(st.sampled_from(CHILDREN))), max_size=6
)


@settings(max_examples=80, deadline=None)
@given(cases)
def test_the_folder_and_the_host_read_a_report_alike(found: list[tuple[str, str, set[str]]]) -> None:
    """The same ids pass for verdict.py in the sandbox and for the host's reader, captured output or not."""
    inner = "".join(
        f'<testcase classname="t.{where}" name="{name}">{"".join(f"<{tag}/>" for tag in sorted(tags))}</testcase>'
        for where, name, tags in found
    )
    report = f"<testsuites><testsuite>{inner}</testsuite></testsuites>".encode()
    expected = {name for name, state in read_junit(report).items() if state == "passed"}
    assert verdict().passed_ids(BytesIO(report)) == expected


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A task folder, a tree to test and an environment whose python is this one."""
    source = source_tar(tmp_path / "source.tar.gz")
    task_folder.write_task(sample_task(), tmp_path, source=source, provenance={})
    (tmp_path / "work").mkdir()
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/python").symlink_to(sys.executable)
    return tmp_path


def graded(place: Path, program: str, passing: Sequence[str] = (PASSING,)) -> tuple[int, dict[str, object]]:
    """Exit code and reward.json after test.sh with a test command of our own; `report` is where it writes."""
    command = [sys.executable, "-c", f"import sys, os; report = sys.argv[1]; {program}", "{junit}"]
    expected = {"command": command, "passing": list(passing), "timeout_s": 2.0}
    (place / "acme_calc_12/tests/expected.json").write_text(json.dumps(expected))
    env = {
        "PATH": "/usr/bin:/bin",
        "FC_WORKDIR": str(place / "work"),
        "FC_VERIFIER_DIR": str(place / "logs"),
        "FC_ENV": str(place / "env"),
    }
    done = process.run(["bash", place / "acme_calc_12/tests/test.sh"], env=env, timeout=30)
    reward = json.loads((place / "logs/reward.json").read_text())
    assert isinstance(reward, dict)
    return done.rc, reward


def write(body: str) -> str:
    return f"open(report, 'w').write({REPORT.format(body)!r})"


GOOD, BAD = {"reward": 1.0, "tests_passed": 1.0}, {"reward": 0.0, "tests_passed": 0.0}


def test_all_expected_tests_passed(place: Path) -> None:
    """A reward of 1 and exit code 0; test files are those of base."""
    (place / "work/conftest.py").write_text("tampered")
    assert graded(place, write("<system-out>x</system-out>")) == (0, GOOD)
    assert (place / "work/conftest.py").read_text() == ""


@pytest.mark.parametrize(
    "program",
    [
        write("<failure/>"),
        write("<skipped/>"),
        "pass",
        "open(report, 'w').write('no XML')",
        "sys.exit(3)",
        "os.kill(os.getpid(), 9)",
        "import time; time.sleep(60)",
        f"{write('')}; os.kill(os.getpid(), 9)",
    ],
)
def test_every_other_end_is_a_reward_of_zero(place: Path, program: str) -> None:
    """A failed or skipped test, no report, a broken one, a crash, a time-out."""
    code, reward = graded(place, program)
    assert code != 0 and reward == BAD
    details = json.loads((place / "logs/details.json").read_text())
    assert details["failed"] == [PASSING]


def test_no_expected_tests_is_a_failure(place: Path) -> None:
    """Zero tests prove nothing."""
    assert graded(place, write(""), passing=())[1] == BAD


def test_what_was_planted_does_not_count(place: Path) -> None:
    """A report and a reward that lie there before the tests ran are gone."""
    (place / "logs/reward.json").mkdir(parents=True)
    (place / "logs/junit.xml").write_text(REPORT.format(""))
    assert graded(place, "pass")[1] == BAD


@pytest.mark.parametrize("broken", ["tests/verdict.py", "tests/base", "../env/bin/python", "../work"])
def test_a_broken_folder_gives_zero(place: Path, broken: str) -> None:
    """Without program, test files, interpreter or tree there is a reward, and it is 0."""
    path = place / "acme_calc_12" / broken
    path.rename(path.with_name("elsewhere"))
    code, reward = graded(place, write(""))
    assert code != 0 and reward == BAD


def test_the_solution_applies_the_patch(place: Path) -> None:
    """solve.sh turns base into the expert's state."""
    (place / "work/calc.py").write_text("slow = 1\n")
    env = {"PATH": "/usr/bin:/bin", "FC_WORKDIR": str(place / "work")}
    done = process.run(["bash", place / "acme_calc_12/solution/solve.sh"], env=env, timeout=30)
    assert done.ok, done.error_text
    assert "+fast = 1" in PATCH and (place / "work/calc.py").read_text() == "fast = 1\n"
