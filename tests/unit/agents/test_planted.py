"""What scripts of others may leave behind, and what they may not."""

import json
import sys
import zlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import cast

import pytest

from datasmith import process
from datasmith.agents.planted import Holdings, holdings, planted
from datasmith.docker.engine import Container, ExecResult
from datasmith.errors import ContainerError
from tests.sandboxes import GIT_ENV, committed

SITE = "lib/python3.11/site-packages"
LOCKED = {f"{SITE}/pytest/__init__.py": "1", f"{SITE}/a.pth": "2"}
BEFORE = Holdings(LOCKED, {f"{SITE}/a.pth": "import a"}, ("build.log",))
FINDER = "import __editable___calc_1_finder; __editable___calc_1_finder.install()"


def after(
    files: Mapping[str, str] | None = None, start: Mapping[str, str] | None = None, tree: Sequence[str] = ()
) -> Holdings:
    """The same with more."""
    new = dict.fromkeys(start or {}, "9")
    return Holdings(
        {**BEFORE.files, **new, **(files or {})},
        {**BEFORE.start, **(start or {})},
        (*BEFORE.tree, *tree),
    )


@pytest.mark.parametrize(
    "built",
    [
        after({f"{SITE}/calc/fast.so": "3", f"{SITE}/calc-1.0.dist-info/RECORD": "4", "bin/calc": "5"}),
        after(start={f"{SITE}/__editable__.calc-1.pth": "/workspace/repo/src\n"}),
        after(start={f"{SITE}/__editable__.calc-1.pth": FINDER}),
        after(start={f"{SITE}/calc-editable.pth": "import _calc_editable_loader"}),
        after(tree=("calc.egg-info/PKG-INFO", "calc/fast.so", "build/lib/calc.py")),
    ],
)  # fmt: skip
def test_a_build_may_install(built: Holdings) -> None:
    """Its own files, an editable installation, and what compilers leave in the tree."""
    assert planted(BEFORE, built) == ()


@pytest.mark.parametrize(
    ("built", "said"),
    [
        (after({f"{SITE}/pytest/__init__.py": "changed"}), f"changed {SITE}/pytest/__init__.py"),
        (Holdings({}, {}, ()), f"changed {SITE}/a.pth"),
        (after({f"{SITE}/sitecustomize.py": "3"}), f"planted {SITE}/sitecustomize.py"),
        (after({f"{SITE}/usercustomize/__init__.py": "3"}), f"planted {SITE}/usercustomize/__init__.py"),
        (after({f"{SITE}/sitecustomize": "link /workspace/repo/x"}), f"planted {SITE}/sitecustomize"),
        (after(start={f"{SITE}/x.pth": "import os; os.system('x')"}), f"planted {SITE}/x.pth"),
        (after(start={f"{SITE}/x.pth": "/workspace/repo\n/tmp"}), f"planted {SITE}/x.pth"),
        (after(start={f"{SITE}/x.pth": "/workspace/repository"}), f"planted {SITE}/x.pth"),
        (after(tree=("conftest.py",)), "planted conftest.py in the tree"),
        (after(tree=("tests/test_new.py",)), "planted tests/test_new.py in the tree"),
        (after(tree=("asv.conf.json",)), "planted asv.conf.json in the tree"),
    ],
)
def test_more_than_a_build_is_named(built: Holdings, said: str) -> None:
    """Locked packages stay as they are; nothing new runs unasked, or decides on tests and benchmarks."""
    assert said in planted(BEFORE, built)


class Answers:
    """A container whose command ends one way."""

    def __init__(self, done: ExecResult) -> None:
        self.done = done

    def exec(self, argv: object, **_: object) -> ExecResult:
        return self.done


@pytest.mark.parametrize("data", [b"", b"no zlib", zlib.compress(b"[]"), zlib.compress(b"{}")])
def test_an_answer_that_cannot_be_read_is_no_answer(data: bytes) -> None:
    """Nothing is concluded from it."""
    with pytest.raises(ContainerError, match="cannot be listed"):
        holdings(cast("Container", Answers(ExecResult(0, data, b"", 0.1, 0.1, False))))
    with pytest.raises(ContainerError, match="cannot be listed: no"):
        holdings(cast("Container", Answers(ExecResult(1, b"", b"no", 0.1, 0.1, False))))


def listed(env: Path, tree: Path) -> process.Completed:
    """What the program says of two directories."""
    script = files("datasmith.agents").joinpath("coding", "inside", "listing.py").read_text(encoding="utf-8")
    return process.run([sys.executable, "-I", "-c", script, env, tree], timeout=30)


def test_a_tree_is_listed_whatever_git_is_told(tmp_path: Path) -> None:
    """Another working tree, excludes, an index that knows the file, a repository inside: each file is there."""
    env = tmp_path / "env"
    (env / "lib").mkdir(parents=True)
    (env / "lib64").symlink_to("lib")
    tree = committed(tmp_path / "tree", {"a.py": b""}, {"x/conftest.py": b"", "sub/test_b.py": b"", "ü.txt": b""})
    (tree / "link").symlink_to("x")
    committed(tree / "sub", {"c.py": b""})
    (tree / ".git/info/exclude").write_text("*\n")
    for words in (["add", "-f", "x/conftest.py"], ["config", "core.worktree", str(env)]):
        assert process.run(["git", f"--git-dir={tree}/.git", f"--work-tree={tree}", *words], cwd=tree, env=GIT_ENV).ok
    done = listed(env, tree)
    assert done.ok, done.error_text
    found = json.loads(done.text)
    inside = {name for name in found["tree"] if not name.startswith("sub/.git/")}
    assert inside == {"a.py", "x/conftest.py", "sub/test_b.py", "sub/c.py", "ü.txt", "link"}
    assert found["files"] == {"lib64": "link lib"}


def test_what_cannot_be_listed_is_no_empty_tree(tmp_path: Path) -> None:
    """The program fails where there is nothing to look into."""
    assert not listed(tmp_path, tmp_path / "gone").ok and not listed(tmp_path / "gone", tmp_path).ok
