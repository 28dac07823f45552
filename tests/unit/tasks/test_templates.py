"""The scripts of a task folder: the same ids as the host's, and a reward on every way out. All content is ours."""

import importlib.util
import json
import sys
import tomllib
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
from datasmith.tasks.gitdiff import parse_diff
from tests.sandboxes import GIT_ENV, committed
from tests.unit.tasks.samples import PATCH, sample_task, source_tar

TEMPLATES = Path(task_folder.__file__).parent / "templates"
BENCH = b"""
import os, sys
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import calc

def time_calc():
    if not hasattr(calc, "slow") and not hasattr(calc, "fast"):
        raise ValueError("neither")
    sum(range(3000 if hasattr(calc, "slow") else 30))

time_calc.sample_time = 0.001
"""
TREE = {
    "calc.py": b"slow = 1\n",
    "benchmarks/bench.py": BENCH,
    "src/calc/tests/test_calc.py": b"def test_calc(): pass\n",
}
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
    source = source_tar(tmp_path / "source.tar.gz", tree=TREE)
    task_folder.write_task(sample_task(), tmp_path, source=source, provenance={})
    committed(tmp_path / "work", TREE)
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/python").symlink_to(sys.executable)
    return tmp_path


def graded(
    place: Path, program: str, passing: Sequence[str] = (PASSING,), patch: str | None = None, timeout_s: float = 60.0
) -> tuple[int, dict[str, object]]:
    """Exit code and reward.json after test.sh with a test command of our own; `report` is where it writes."""
    command = [sys.executable, "-c", f"import sys, os; report = sys.argv[1]; {program}", "{junit}"]
    known = json.loads((place / "acme_calc_12/tests/expected.json").read_text())
    expected = {**known, "command": command, "passing": list(passing), "timeout_s": timeout_s, "rounds": 3}
    (place / "acme_calc_12/tests/expected.json").write_text(json.dumps(expected))
    env = {
        "PATH": "/usr/bin:/bin",
        "FC_WORKDIR": str(place / "work"),
        "FC_VERIFIER_DIR": str(place / "logs"),
        "FC_ENV": str(place / "env"),
    }
    if patch is not None:
        (place / "patch.diff").write_text(patch)
        env["FC_PATCH"] = str(place / "patch.diff")
    done = process.run(["bash", place / "acme_calc_12/tests/test.sh"], env=env, timeout=500)
    reward = json.loads((place / "logs/reward.json").read_text())
    assert isinstance(reward, dict)
    return done.rc, reward


def write(body: str) -> str:
    return f"open(report, 'w').write({REPORT.format(body)!r})"


GOOD, BAD = {"reward": 1.0, "tests_passed": 1.0, "speedup": 1.0}, {"reward": 0.0, "tests_passed": 0.0}
NEW_FILE = (
    "diff --git a/{0} b/{0}\nnew file mode 100644\nindex 0000000..587be6b\n"
    "--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+x\n"
)


@pytest.mark.parametrize(
    ("changed", "built"), [("src/calc/x.c", True), ("setup.py", True), ("notes.txt", False), ("src/calc/y.py", False)]
)
def test_a_package_with_machine_code_is_built_again(place: Path, changed: str, built: bool) -> None:
    """Where a source of it changed, or how it is built, as `fc-eval run` does; with the places that its script asks."""
    tests = place / "acme_calc_12/tests"
    known = json.loads((tests / "expected.json").read_text())
    (tests / "expected.json").write_text(json.dumps({**known, "compiled": True}))
    (tests / "rebuild.sh").write_text(f'set -eu\necho "$FC_WORKDIR $FC_ENV" >"{place}/built"\n')
    graded(place, write(""), patch=NEW_FILE.format(changed))
    assert (place / "built").exists() is built
    assert not built or (place / "built").read_text().split() == [str(place / "work"), str(place / "env")]


def test_all_expected_tests_passed(place: Path) -> None:
    """What changed nothing is as fast as base, and has exit code 0; test files are those of base."""
    (place / "work/src/calc/tests/test_new.py").write_text("more")
    assert graded(place, write("<system-out>x</system-out>")) == (0, GOOD)
    (place / "work/src/calc/tests/test_calc.py").unlink()
    assert graded(place, write(""))[0] == 0
    assert (place / "work/src/calc/tests/test_calc.py").read_bytes() == TREE["src/calc/tests/test_calc.py"]


@pytest.mark.parametrize("given", [True, False])
def test_a_faster_tree_has_a_higher_reward(place: Path, given: bool) -> None:
    """The speed-up over base, from a diff that was collected or from the tree as it was left; all finite numbers."""
    if not given:
        (place / "work/calc.py").write_text("fast = 1\n")
    code, reward = graded(place, write(""), patch=PATCH if given else None)
    details = json.loads((place / "logs/details.json").read_text())
    assert code == 0, details
    assert isinstance(reward["reward"], float) and reward["reward"] > 3 and reward["speedup"] == reward["reward"]
    assert reward["tests_passed"] == reward["n_timed"] == reward["n_workloads"] == 1.0
    assert details["changed"] == ["calc.py"]
    assert [(row["workload"], row["rounds"]) for row in details["workloads"]] == [("bench.time_calc", 3)]


def test_a_workload_that_base_does_not_list_is_counted(place: Path) -> None:
    """It was looked for: it has a row with the reason, and no ratio; what was timed is worth what it is."""
    path = place / "acme_calc_12/tests/expected.json"
    known = json.loads(path.read_text())
    path.write_text(json.dumps({**known, "workloads": [*known["workloads"], "bench.time_gone"]}))
    code, reward = graded(place, write(""), patch=PATCH)
    assert code == 0 and (reward["n_timed"], reward["n_workloads"]) == (1.0, 2.0)
    row = json.loads((place / "logs/details.json").read_text())["workloads"][1]
    assert (row["workload"], row["ratio"], row["broken"]) == ("bench.time_gone", None, False)
    assert row["reasons"] == {"base": "not among the workloads that base lists"}


def test_a_broken_workload_is_no_gain(place: Path) -> None:
    """A patch under which a workload gives no time any more has a reward of 0, and the reason is told."""
    code, reward = graded(place, write(""), patch=PATCH.replace("+fast", "+gone"))
    assert code != 0 and reward["reward"] == 0.0 and reward["tests_passed"] == 1.0
    details = json.loads((place / "logs/details.json").read_text())
    assert "neither" in details["workloads"][0]["reasons"]["patched"]


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (NEW_FILE.format("sitecustomize.py"), "may not"),
        (NEW_FILE.format("src/conftest.py"), "may not"),
        (PATCH.replace("-slow", "-other"), "apply"),
        ("no diff", "No valid patches"),
    ],
)
def test_a_diff_that_cannot_count_is_no_gain(place: Path, patch: str, why: str) -> None:
    """What reaches for the grader, or does not apply to base, has a reward of 0."""
    code, reward = graded(place, write(""), patch=patch)
    assert code != 0 and reward == BAD
    assert why in json.loads((place / "logs/details.json").read_text())["problem"]


def test_the_diff_that_harbor_collects_is_the_work(place: Path) -> None:
    """The command in the agent's sandbox writes changed and new files, committed or not, and no by-products."""
    work = place / "work"
    (work / "calc.py").write_text("fast = 1\n")
    (work / "new.py").write_text("x\n")
    (work / "__pycache__").mkdir()
    (work / "__pycache__/calc.pyc").write_bytes(b"x")
    command = tomllib.loads((place / "acme_calc_12/task.toml").read_text())["verifier"]["collect"][0]["command"]
    command = command.replace("/workspace/repo", str(work)).replace("/logs/artifacts", str(place / "artifacts"))
    assert process.run(["git", "commit", "-qam", "mine"], cwd=work, env=GIT_ENV).ok
    done = process.run(["bash", "-c", command], env={"PATH": "/usr/bin:/bin"}, timeout=300)
    assert done.ok, done.error_text
    assert [change.path for change in parse_diff((place / "artifacts/patch.diff").read_text())] == ["calc.py", "new.py"]


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
    code, reward = graded(place, program, timeout_s=5.0)
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
    done = process.run(["bash", place / "acme_calc_12/solution/solve.sh"], env=env, timeout=500)
    assert done.ok, done.error_text
    assert "+fast = 1" in PATCH and (place / "work/calc.py").read_text() == "fast = 1\n"
