"""Which patches need the package built again."""

import ast
from pathlib import Path

import pytest

from datasmith.docker.engine import WORKDIR, ExecResult
from datasmith.errors import ContainerError, EngineUnavailable, MeasurementFailed
from datasmith.workloads import inside
from datasmith.workloads.arms import prepare
from datasmith.workloads.base import Workload
from datasmith.workloads.launch import cache_path
from datasmith.workloads.mounts import COMPILED_HOME
from datasmith.workloads.prints import environment_prints
from datasmith.workloads.rebuild import touches_compiled

from .simulated import SimulatedContainer

CACHED = (Workload("m.time_a", "time", setup_cache_key="m:3"), Workload("m.time_b", "time", setup_cache_key="m:3"))


def diff(path: str) -> str:
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a.c\n+b.c\n"


@pytest.mark.parametrize(
    "path",
    ["src/_native.c", "a/b.pyx", "x.pxd", "lib.cpp", "core.hpp", "solver.f90", "src/lib.rs", "Cargo.toml", "setup.py",
     "meson.build", "pyproject.toml", "numpy/x.c.src.pyx", "CMakeLists.txt", "UPPER.C"],
)  # fmt: skip
def test_sources_that_are_compiled_ask_for_a_build(path: str) -> None:
    """Sources of extensions and descriptions of their build."""
    assert touches_compiled(diff(path))


@pytest.mark.parametrize("path", ["src/a.py", "README.md", "docs/c.txt", "a.c/readme.txt", "x.pyi"])
def test_other_files_do_not(path: str) -> None:
    """Python files are used in place; lines of the diff that look like a name of a source do not count."""
    assert not touches_compiled(diff(path))


def test_deleted_renamed_and_new_sources_count() -> None:
    """Either side of a change may be the compiled one."""
    deleted = "deleted file mode 100644\nindex 7898192..0000000\n"
    assert touches_compiled(f"diff --git a/x.c b/x.c\n{deleted}--- a/x.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n")
    assert touches_compiled("diff --git a/x.pyx b/x.py\nsimilarity index 100%\nrename from x.pyx\nrename to x.py\n")
    added = "new file mode 100644\nindex 0000000..7898192\n--- /dev/null\n+++ b/new.cc\n@@ -0,0 +1 @@\n+a\n"
    assert touches_compiled(f"diff --git a/new.cc b/new.cc\n{added}")
    assert touches_compiled("--- /dev/null\n+++ b/new.cc\n")
    assert not touches_compiled("")


def test_a_source_that_is_no_text_counts() -> None:
    """A comment in another encoding makes git write the file as a binary one: it is compiled all the same."""
    patch = "index 1f..2e 100644\nGIT binary patch\nliteral 2\nJcmZQz00000\n\nliteral 2\nJcmZQz00000\n\n"
    assert touches_compiled(f"diff --git a/x.c b/x.c\n{patch}")
    assert not touches_compiled(f"diff --git a/x.dat b/x.dat\n{patch.replace('1f..2e', '1f1f..2e2e')}")


def test_what_git_does_not_write_is_built() -> None:
    """Who knows what is in it."""
    assert touches_compiled("--- /dev/null\n+++ b/new.py\n")


class Preparing(SimulatedContainer):
    """Ends every command as told, and keeps what is written."""

    def __init__(self, ends: ExecResult, refuses: Exception | None = None) -> None:
        super().__init__(lambda _request: 1.0)
        self.ends, self.refuses = ends, refuses
        self.commands: list[list[str]] = []
        self.written: dict[str, bytes] = {}

    def exec(self, argv: object, **_: object) -> ExecResult:
        """See Container."""
        assert isinstance(argv, list)
        self.commands.append(argv)
        return DONE if argv[0] == "/bin/sh" else self.ends

    def write_file(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """See Container."""
        if self.refuses:
            raise self.refuses
        self.written[path] = data


class Listing(SimulatedContainer):
    """Says these lines to every command."""

    def __init__(self, *lines: str) -> None:
        super().__init__(lambda _request: 1.0)
        self.lines = lines

    def exec(self, argv: object, **_: object) -> ExecResult:
        """See Container."""
        said = "".join(f"{line}\n" for line in self.lines).encode()
        return ExecResult(0, said, b"", 0.1, 0.1, timed_out=False)


DONE = ExecResult(0, b"0123 -", b"", 0.1, 0.1, timed_out=False)
LATE = ExecResult(-9, b"", b"", 70.0, 70.0, timed_out=True)


def test_setup_cache_runs_once_for_all_that_share_it() -> None:
    """Two workloads with one key: one run, then the tree and our scripts are compiled without running any of it."""
    container = Preparing(DONE)
    prepare(container, CACHED, "benchmarks")
    _, _, caching, _, _, copying, compiling = container.commands
    assert COMPILED_HOME in copying and caching[2] == "inside.setup_cache"
    assert compiling[1:3] == ["-I", "-S"] and {WORKDIR, COMPILED_HOME} <= set(compiling)
    assert container.written == {}


def test_no_name_of_an_entry_stands_for_another_one() -> None:
    """Whatever a name holds that ends a line elsewhere; a line feed is replaced in the sandbox."""
    prints = {f"lib/six.py{end}b": "0b" for end in ("\r", "\x0c", "\x85", "\u2028")} | {"lib/six.py": "0a"}
    assert environment_prints(Listing(*(f"{digest} {name}" for name, digest in prints.items()))) == prints


def test_a_setup_cache_that_never_ends_leaves_its_reason() -> None:
    """The launches of its workloads find it where they look."""
    container = Preparing(LATE)
    prepare(container, CACHED, "benchmarks")
    assert container.written == {f"{cache_path('m:3')}/failed.txt": b"not done after 70 s"}


def test_a_setup_cache_that_puts_a_link_in_the_way_is_not_an_outage() -> None:
    """It is the arm's fault; that the engine is gone is not."""
    with pytest.raises(MeasurementFailed):
        prepare(Preparing(LATE, ContainerError("through a link")), CACHED, "benchmarks")
    with pytest.raises(EngineUnavailable):
        prepare(Preparing(LATE, EngineUnavailable("gone")), CACHED, "benchmarks")


@pytest.mark.parametrize("path", sorted(Path(str(inside.__file__)).parent.glob("*.py")), ids=lambda path: path.name)
def test_scripts_of_the_sandbox_are_written_for_old_interpreters(path: Path) -> None:
    """Python 3.7 parses them: mined projects bring the interpreter of their time."""
    assert ast.parse(path.read_text(), feature_version=(3, 7)).body
