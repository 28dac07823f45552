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
from datasmith.agents.coding.inside.listing import is_python, programs
from datasmith.agents.planted import Holdings, Own, holdings, own_of, planted
from datasmith.docker.engine import Container, ExecResult
from datasmith.errors import ContainerError
from tests.sandboxes import GIT_ENV, committed

SITE = "lib/python3.11/site-packages"
CODE = f"{SITE}/pytest/__pycache__/__init__.cpython-311.pyc"
LOCKED = {f"{SITE}/pytest/__init__.py": "1", f"{SITE}/a.pth": "2", CODE: "3", f"{SITE}/six.py": "4"}
LOCKED |= {f"{SITE}/shared/locked.py": "5", "bin/python": "6"}
SYSTEM = ("bash", "find", "git", "grep", "prlimit", "python3", "sh", "sort", "xargs")
TREE = ("build.log", "pyproject.toml", "src/calc/__init__.py", "tests/util.py", "tests/fast.pyx", "tools/make.py")
DECLARED = "[project.entry-points.pytest11]\ncalc = 'calc.testing'\n"
BEFORE = Holdings(
    LOCKED, {f"{SITE}/a.pth": "import a"}, TREE, ("pyproject.toml",), SYSTEM, declared=DECLARED
)  # fmt: skip
STAND_INS = (
    "sitecustomize.pyc", "sitecustomize.cpython-311-x86_64-linux-gnu.so", "usercustomize.abi3.so", "calc/gone.pyc",
    "__pycache__/sitecustomize.cpython-311.pyc", "sitecustomize/__init__.abi3.so", "six.cpython-311.so", "six.pyc",
    "six/__init__.py", "pytest.so", "pytest.py", "pytest/__init__.cpython-311-x86_64-linux-gnu.so", "shared.abi3.so",
    "pytest/__pycache__/__init__.cpython-311.opt-1.pyc", "__pycache__/six.cpython-311.pyc", "shared/locked/__init__.so",
)  # fmt: skip
"""New files in the place of a locked module, or that run unasked."""
DECIDE = (
    ".asv.conf.json", "sub/.asv-x.json", "asv.conf.jsonc",
    ".pytest.ini", "pytest.toml", "tox.ini", "sub/x_test.py", "tests/new.py", "pytest.so", "pytest/__init__.py",
    "json.py", "sitecustomize.cpython-311-x86_64-linux-gnu.so", "a/__pycache__/test_a.cpython-311-pytest-8.3.3.pyc",
    "benchmarks/aaa.py", "benchmarks/a.cpython-311-x86_64-linux-gnu.so", "benchmarks/sub/a.pyc", "hypothesis.py",
    "tests/util.cpython-311-x86_64-linux-gnu.so", "hypothesis/__init__.py", "hypothesis/strategies.so", "six.abi3.so",
)  # fmt: skip
FINDER = "import __editable___calc_1_finder; __editable___calc_1_finder.install()"


OWN = Own(frozenset({"calc"}), ("benchmarks",))
PLUGINS = f"{SITE}/calc-1.dist-info/entry_points.txt"


def after(
    files: Mapping[str, str] | None = None,
    start: Mapping[str, str] | None = None,
    tree: Sequence[str] = (),
    options: Sequence[str] = (),
    plugins: Mapping[str, str] | None = None,
) -> Holdings:
    """The same with more."""
    new = dict.fromkeys([*(start or {}), *(plugins or {})], "9")
    return Holdings(
        {**BEFORE.files, **new, **(files or {})},
        {**BEFORE.start, **(start or {})},
        (*BEFORE.tree, *tree, *options),
        (*BEFORE.options, *options),
        SYSTEM,
        plugins or {},
    )


@pytest.mark.parametrize(
    "built",
    [
        after({f"{SITE}/calc/fast.so": "3", f"{SITE}/calc-1.0.dist-info/RECORD": "4", "bin/calc": "5"}),
        after(start={f"{SITE}/__editable__.calc-1.pth": "/workspace/repo/src\n"}),
        after(start={f"{SITE}/__editable__.calc-1.pth": FINDER}),
        after(start={f"{SITE}/calc-editable.pth": "import _calc_editable_loader"}),
        after(tree=("calc.egg-info/PKG-INFO", "calc/fast.so", "build/lib/calc.py", "calc.so", "tools/made.py")),
        after(tree=("tests/fast.cpython-311.so", "build/lib/calc/tests/test_a.py", "dist/x.py", "src/calc/v.py")),
        after(start={f"{SITE}/calc.pth": "/workspace/repo/src\n"}, tree=("src/calc/fast.so",)),
        after(plugins={PLUGINS: "[console_scripts]\na = b\n\n[pytest11]\ncalc = calc.testing\n\n[x]\na = evil\n"}),
        after({f"{SITE}/calc.cpython-311-x86_64-linux-gnu.so": "3", f"{SITE}/calc.libs/libgomp.so.1": "4"}),
        after({f"{SITE}/calc/a.py": "3", f"{SITE}/calc/__pycache__/a.cpython-311.pyc": "4", f"{SITE}/calc/a.pyc": "5"}),
        after({f"{SITE}/shared/calc.py": "3", f"{SITE}/shared/calc/__init__.py": "4", "bin/calc-git": "5"}),
        after(tree=("setup.cfg", "calc/__pycache__/a.cpython-311.pyc", "calc/testing/__pycache__/a.cpython-311.pyc")),
        Holdings({name: digest for name, digest in LOCKED.items() if name != CODE}, BEFORE.start, BEFORE.tree),
    ],
)  # fmt: skip
def test_a_build_may_install(built: Holdings) -> None:
    """Its own files, an editable installation, and what compilers leave in the tree."""
    assert planted(BEFORE, built, OWN) == ()


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
        (after(start={f"{SITE}/x.pth": "/workspace/repo\n" * 2000}), f"planted {SITE}/x.pth"),
        (after(tree=("conftest.py",)), "planted conftest.py in the tree"),
        (after(tree=("tests/test_new.py",)), "planted tests/test_new.py in the tree"),
        (after(tree=("asv.conf.json",)), "planted asv.conf.json in the tree"),
        (after({CODE: "9"}), f"changed {CODE}"),
        *((after({f"{SITE}/{name}": "9"}), f"planted {SITE}/{name}") for name in STAND_INS),
        *((after({f"bin/{name}": "9"}), f"planted bin/{name}") for name in SYSTEM),
        *((after(tree=(name,)), f"planted {name} in the tree") for name in DECIDE),
        (
            after(start={f"{SITE}/c.pth": "/workspace/repo/src/"}, tree=("src/hypothesis.py",)),
            "planted src/hypothesis.py in the tree",
        ),
        (after(plugins={PLUGINS: "[pytest11]\ncalc = calc_build\n"}), f"planted {PLUGINS}"),
        (after(plugins={PLUGINS: "[pytest11]\ncalc = calc.testing\nb = evil\n"}), f"planted {PLUGINS}"),
        (after(plugins={PLUGINS: "[pytest11]\n"}), f"planted {PLUGINS}"),
        (after(plugins={PLUGINS: "[pytest11]\nt = test\n"}), f"planted {PLUGINS}"),
        (
            after(plugins={PLUGINS: "[pytest11]\ncalc = calc.testing\n[[pytest11]]\nb = evil\n"}),
            f"planted {PLUGINS}",
        ),
        *((after(options=(name,)), f"planted {name} in the tree") for name in ("setup.cfg", "sub/pyproject.toml")),
    ],
)
def test_more_than_a_build_is_named(built: Holdings, said: str) -> None:
    """Locked packages stay as they are; nothing new runs unasked, or decides on tests and benchmarks."""
    assert said in planted(BEFORE, built, OWN)


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
    assert found["files"] == {"lib64": "link lib"} and {"sh", "env"} <= set(found["programs"])


def test_a_package_that_the_system_has_too_may_be_built(tmp_path: Path) -> None:
    """Its programs are scripts in Python, and so are the system's of that name; all others are the system's alone."""
    texts = {"pygmentize": b"#!/usr/bin/python3\n", "git": b"\x7fELF", "which": b"#!/bin/sh\n"}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    assert [name for name in texts if is_python(str(tmp_path / name))] == ["pygmentize"]
    assert {"sh", "grep"} <= set(programs())


def test_plug_ins_of_pytest_are_listed(tmp_path: Path) -> None:
    """Those that an environment brings, and what the tree says of its own."""
    env, tree = tmp_path / "env", tmp_path / "tree"
    text = "[pytest11]\ncalc = calc.testing\n"
    for path, said in {
        env / "a.dist-info/entry_points.txt": text,
        env / "b.dist-info/entry_points.txt": "[console_scripts]\nb = b:main\n",
        env / "long.dist-info/entry_points.txt": f"#{'x' * 30_000}\n{text}",
        tree / "pyproject.toml": "[project.entry-points.pytest11]\n",
        tree / "setup.cfg": "[metadata]\n",
        tree / "src/c.egg-info/entry_points.txt": text,
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(said)
    found = json.loads(listed(env, tree).text)
    assert found["plugins"].pop("long.dist-info/entry_points.txt").startswith("#xx")
    assert found["plugins"] == {"a.dist-info/entry_points.txt": text, "src/c.egg-info/entry_points.txt": text}
    assert found["declared"] == "[project.entry-points.pytest11]\n"


def test_the_unbuilt_tree_says_where_benchmarks_lie() -> None:
    """By each configuration that can be read; modules by their top names."""
    texts = {"asv.conf.json": '{"benchmark_dir": "bench"}', "sub/asv.conf.json": "{}", "old/asv.conf.json": "[}"}

    class Untouched:
        def read_file(self, path: str) -> bytes:
            return texts[path.removeprefix("/workspace/repo/")].encode()

    own = own_of(("calc.core", "calc"), cast("Container", Untouched()), texts)
    assert own == Own(frozenset({"calc"}), ("bench", "sub/benchmarks"))


def test_byte_code_and_options_of_pytest_are_listed(tmp_path: Path) -> None:
    """Byte code has its digest like any file; of files of many uses those that speak of pytest are named."""
    env, tree = tmp_path / "env", tmp_path / "tree"
    for path, text in {
        env / "a.pyc": "a",
        tree / "setup.cfg": "[tool:pytest]\naddopts = -x\n",
        tree / "sub/pyproject.toml": "[tool.pytest.ini_options]\n",
        tree / "pyproject.toml": "[build-system]\n",
        tree / "notes.cfg": "pytest",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = json.loads(listed(env, tree).text)
    assert list(found["files"]) == ["a.pyc"] and set(found["options"]) == {"setup.cfg", "sub/pyproject.toml"}


def test_what_cannot_be_listed_is_no_empty_tree(tmp_path: Path) -> None:
    """The program fails where there is nothing to look into."""
    assert not listed(tmp_path, tmp_path / "gone").ok and not listed(tmp_path / "gone", tmp_path).ok
