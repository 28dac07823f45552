"""The sample library: the same history everywhere, changes that are what they say, and a scripted agent."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples.agents.list_rewriter import rewrite
from examples.samplelib.make_history import HEAD, ORIGIN, Step, read_steps

ROOT = Path(__file__).resolve().parents[2]
MAKE_HISTORY = ROOT / "examples" / "samplelib" / "make_history.py"
REWRITER = ROOT / "examples" / "agents" / "list_rewriter.py"
FAST = {"speed", "compiled-speed"}


def git(repository: Path, *words: str) -> str:
    """What a git command prints."""
    done = subprocess.run(["git", "-C", str(repository), *words], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository, made by the script as a user runs it, in an environment that must not matter."""
    target = tmp_path_factory.mktemp("made") / "samplelib"
    odd = {"GIT_AUTHOR_NAME": "somebody", "TZ": "Asia/Tokyo", "LANG": "tr_TR.UTF-8", "GIT_DIR": "/nowhere"}
    subprocess.run([sys.executable, str(MAKE_HISTORY), str(target)], env=dict(os.environ) | odd, check=True)
    return target


@pytest.fixture(scope="module")
def merges(history: Path) -> dict[int, str]:
    """Pull request number -> the commit on main that merged it."""
    commits = git(history, "log", "--first-parent", "--reverse", "--format=%H", "main").split()[1:]
    return {step.number: commit for step, commit in zip(read_steps(), commits, strict=True)}


@pytest.fixture(scope="module")
def installed(history: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A clone whose package is importable from its src/ directory, compiled again at each checkout."""
    clone = tmp_path_factory.mktemp("clone") / "samplelib"
    subprocess.run(["git", "clone", "--quiet", str(history), str(clone)], check=True)
    yield clone


def checkout(clone: Path, commit: str) -> None:
    """Put the clone in the state of a commit, and compile its one C file for this interpreter."""
    git(clone, "checkout", "--quiet", "--force", commit)
    git(clone, "clean", "-fdxq")
    words = [
        sys.executable,
        "-c",
        "import sysconfig as s; print(s.get_path('include'), s.get_config_var('EXT_SUFFIX'))",
    ]
    include, suffix = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    target = f"src/samplelib/_native{suffix}"
    compile_it = ["gcc", "-O2", "-shared", "-fPIC", f"-I{include}", "src/samplelib/_native.c", "-o", target]
    subprocess.run(compile_it, cwd=clone, check=True)


def run_tests(clone: Path) -> subprocess.CompletedProcess[str]:
    """The library's own tests."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir=.", "tests"]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(words, cwd=clone, env=env, capture_output=True, text=True, check=False)


def test_the_history_is_the_published_one(history: Path) -> None:
    """Whatever the machine's git configuration, time zone and language: the commit ids are the same."""
    assert git(history, "rev-parse", "main").strip() == HEAD
    assert git(history, "remote", "get-url", "origin").strip() == ORIGIN
    assert git(history, "status", "--porcelain") == ""
    assert git(history, "branch", "--format=%(refname:short)").split() == ["main"]


def test_making_it_again_changes_nothing(history: Path) -> None:
    """A complete repository is left as it is; a directory with something else in it is refused."""
    again = [sys.executable, str(MAKE_HISTORY), str(history)]
    assert HEAD in subprocess.run(again, capture_output=True, text=True, check=True).stdout
    refused = subprocess.run([*again[:2], str(history / "src")], capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "is not empty" in refused.stderr


def test_the_kinds_are_those_the_demo_needs() -> None:
    """Four pull requests are faster, one of them compiled; every kind that must be refused is there."""
    kinds = [step.kind for step in read_steps()]
    assert (kinds.count("speed"), kinds.count("compiled-speed"), len(kinds)) == (3, 1, 16)
    refused = {"docs", "ci", "tests", "feature", "fix", "refactor", "dependency", "no-effect", "breaks-tests", "revert"}
    assert refused <= set(kinds)
    assert {step.style for step in read_steps()} == {"squash", "merge"}


def test_each_change_applies_to_its_first_parent(history: Path, merges: dict[int, str]) -> None:
    """Base plus patch is the merge's tree, for squashes and for merge commits."""
    for step in read_steps():
        commit = merges[step.number]
        parents = git(history, "show", "-s", "--format=%P", commit).split()
        assert len(parents) == (2 if step.style == "merge" else 1)
        assert f"#{step.number}" in git(history, "show", "-s", "--format=%s", commit)
        assert git(history, "diff", "--name-only", f"{commit}~1", commit).split()


@pytest.mark.parametrize("step", [step for step in read_steps() if step.kind in FAST], ids=lambda step: step.slug)
def test_tests_pass_before_and_after_a_faster_change(installed: Path, merges: dict[int, str], step: Step) -> None:
    """The four tasks are about speed alone."""
    for commit in (f"{merges[step.number]}~1", merges[step.number]):
        checkout(installed, commit)
        done = run_tests(installed)
        assert done.returncode == 0, done.stdout


def test_the_breaking_change_breaks_exactly_one_test(installed: Path, merges: dict[int, str]) -> None:
    """The change that is faster and wrong fails a test that passed before it, and its revert mends that."""
    (number,) = [step.number for step in read_steps() if step.kind == "breaks-tests"]
    (revert,) = [step.number for step in read_steps() if step.kind == "revert"]
    checkout(installed, merges[number])
    assert "1 failed" in run_tests(installed).stdout
    assert git(installed, "diff", f"{merges[number]}~1", merges[revert]) == ""


def test_the_scripted_agent_improves_some_and_leaves_others(installed: Path, merges: dict[int, str]) -> None:
    """It finds its two habits where they are, keeps the tests passing, and changes nothing elsewhere."""
    changed = {}
    for step in read_steps():
        if step.kind in FAST:
            checkout(installed, f"{merges[step.number]}~1")
            subprocess.run([sys.executable, str(REWRITER)], cwd=installed, capture_output=True, check=True)
            changed[step.slug] = git(installed, "diff", "--name-only").split()
            assert run_tests(installed).returncode == 0
    assert changed == {
        "matrix-columns-once": ["src/samplelib/matrix.py"],
        "rolling-max-in-one-pass": ["src/samplelib/rolling.py"],
        "count-inversions-by-merging": [],
        "interpolation-weights-once": [],
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = []\nfor a in b:\n    x = x + [a]\n", "x = []\nfor a in b:\n    x.append(a)\n"),
        ("x = []\nfor a in b:\n    x = x + [sorted(a)[0]]\n", "x = []\nfor a in b:\n    x.append(min(a))\n"),
        ("y = 'é' + sorted(f(a, b))[-1]\n", "y = 'é' + max(f(a, b))\n"),
        ("x = []\nfor a in b:\n    x = x + [a]\n    keep(x)\n", None),
        ("x = []\nfor a in b:\n    x = x + [*a]\n", None),
        ("x = first\nfor a in b:\n    x = x + [a]\n", None),
        ("y = sorted(a, key=k)[0]\n", None),
        ("y = sorted(a)[1]\n", None),
    ],
)
def test_the_scripted_agent_changes_only_what_means_the_same(before: str, after: str | None) -> None:
    """A list that is used while it grows, or that somebody else may hold, is left as it is."""
    assert rewrite(before) == (before if after is None else after)
