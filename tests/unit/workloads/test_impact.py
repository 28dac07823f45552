"""Which workloads a patch can touch: every rule, and the acceptance cases 56 to 61."""

import difflib

import pytest

from datasmith.workloads.impact import Coverage, Impact, changed_files, impact_of, select

LIB = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
RAN_F, RAN_G = frozenset({("lib.py", 1)}), frozenset({("lib.py", 5)})
LOADED = frozenset({("lib.py", 0)})
SUITE = {
    "time_f": Coverage(LOADED, RAN_F, frozenset({"f", "helper"})),
    "time_g": Coverage(LOADED, RAN_G, frozenset({"g"})),
}
BROKEN = {**SUITE, "time_broken": Coverage(failed="it was not done")}


def diff(old: str, new: str, path: str = "lib.py") -> str:
    lines = list(difflib.unified_diff(old.splitlines(True), new.splitlines(True), f"a/{path}", f"b/{path}"))
    return f"diff --git a/{path} b/{path}\n{''.join(lines)}" if lines else ""


def new_file(path: str, text: str = "x = 1\n") -> str:
    return f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{text}"


def moved(path: str, to: str) -> str:
    return f"diff --git a/{path} b/{to}\nsimilarity index 100%\nrename from {path}\nrename to {to}\n"


def edited(path: str) -> str:
    return diff("old\n", "new\n", path)


def chosen(*patches: str, coverage: dict[str, Coverage] = SUITE) -> set[str]:
    sources = {"lib.py": LIB, "data.txt": "old\n"}
    return set(select([impact_of(patch, sources, benchmark_dir="benchmarks") for patch in patches], coverage))


def edit(old: str, new: str) -> str:
    assert old in LIB
    return diff(LIB, LIB.replace(old, new))


def test_case_56_the_body_of_g_selects_what_uses_g() -> None:
    """... and benchmarks whose coverage is not known."""
    assert chosen(edit("return 2", "return 3")) == {"time_g"}
    assert chosen(edit("return 2", "return 3"), coverage=BROKEN) == {"time_g", "time_broken"}


def test_case_57_a_comment_selects_nothing() -> None:
    """A docstring neither."""
    assert chosen(edit("return 2", "return 2  # two")) == set()
    assert chosen(edit("def g():", 'def g():\n    """Two."""')) == set()


def test_case_58_a_function_that_nobody_uses_selects_nothing() -> None:
    """One whose name something looks up is no such function."""
    assert chosen(diff(LIB, LIB + "\n\ndef unused():\n    return 3\n")) == set()
    assert chosen(diff(LIB, LIB + "\n\ndef helper():\n    return 3\n")) == {"time_f"}


def test_case_59_no_diff_selects_nothing() -> None:
    """Whatever is covered."""
    assert chosen("") == set()
    assert chosen("", coverage=BROKEN) == set()


def test_case_60_a_new_file_selects_nothing() -> None:
    """By itself: who imports it by a name that is looked up already, or finds it in a module's place, notices."""
    assert chosen(new_file("fresh.py")) == set()
    assert chosen(new_file("helper.py")) == {"time_f"}
    assert chosen(new_file("lib/__init__.py")) == {"time_f", "time_g"}
    assert chosen(new_file("table.json", "{}\n")) == set()


def test_case_61_a_benchmark_whose_coverage_failed_is_selected() -> None:
    """Whatever the patch changes."""
    assert chosen(diff(LIB, LIB + "\n\ndef unused():\n    return 3\n"), coverage=BROKEN) == {"time_broken"}


@pytest.mark.parametrize(
    "patch",
    [
        diff(LIB, f"f_again = f()\n{LIB}"),
        edit("def g():", "@cache\ndef g():"),
        edit("def g():", "def g(n=1):"),
        moved("lib.py", "other.py"),
        diff(LIB, "").replace("+++ b/lib.py", "+++ /dev/null").replace("--- a", "deleted file mode 100644\n--- a"),
        edited("benchmarks/bench.py"),
        edited("missing.py"),
        diff("x = 1\n", "x = 2\n"),
        "no diff at all",
        edited("src/fast.c"),
        edited("unread.bin"),
    ],
)
def test_what_cannot_be_told_selects_everything(patch: str) -> None:
    """Code that runs at import, covered or not; files that come or go; what the tracing is blind for."""
    assert chosen(patch) == {"time_f", "time_g"}


def test_an_import_from_elsewhere_selects_what_imports_the_file_in_its_calls() -> None:
    """Importing takes longer; and who looks up the name that is bound."""
    coverage = {**SUITE, "timeraw_import": Coverage(frozenset(), LOADED)}
    assert chosen(diff(LIB, f"import math\n{LIB}"), coverage=coverage) == {"timeraw_import"}
    assert chosen(diff(LIB, f"import helper\n{LIB}"), coverage=coverage) == {"timeraw_import", "time_f"}
    assert chosen(diff(LIB, f"import lib\n{LIB}"), coverage=coverage) == set(coverage)


def test_a_function_that_is_gone_selects_what_ran_it() -> None:
    """Renamed is gone under its old name."""
    assert chosen(edit("def g():", "def h():")) == {"time_g"}
    assert chosen(edit("\n\ndef g():\n    return 2\n", "")) == {"time_g"}


@pytest.mark.parametrize("path", ["docs/conf.py", "README.md", "tests/test_lib.py", "CHANGES", "setup.py", "x.pyi"])
def test_documentation_and_tests_select_nothing(path: str) -> None:
    """Nor the description of a build that makes nothing compiled."""
    assert chosen(edited(path)) == set()


@pytest.mark.parametrize("path", ["src/pkg/tasks.py", "history.py", "src/pkg/news.py", "src/pkg/noxfile.py"])
def test_code_is_known_by_its_place_and_not_by_its_name(path: str) -> None:
    """What tools and people look for lies at the top of a tree; below it, or in Python, the names are anybody's."""
    patch = diff(LIB, LIB.replace("return 2", "return 3"), path)
    coverage = {"time_f": Coverage(called=frozenset({(path, 1)})), "time_g": Coverage(called=frozenset({(path, 5)}))}
    assert set(select([impact_of(patch, {path: LIB}, benchmark_dir="benchmarks")], coverage)) == {"time_g"}
    assert chosen(edited("src/pkg/requirements.txt")) == {"time_f", "time_g"}


@pytest.mark.parametrize(
    "path", ["tasks.py", "setup.py", "pkg/setup.py", "docs/conf.py", "examples/run.py", "pkg/testing/made.py"]
)
def test_what_a_workload_runs_or_opens_is_not_inert(path: str) -> None:
    """Wherever it lies; and then what is changed of it counts like anywhere else."""
    ran, other = frozenset({(path, 5)}), {"time_f": SUITE["time_f"], "broken": Coverage(failed="it was not done")}
    patch = diff(LIB, LIB.replace("return 2", "return 3"), path)
    impact = impact_of(patch, {path: LIB}, benchmark_dir="benchmarks")
    assert not impact.nothing
    assert set(select([impact], {**other, "time_g": Coverage(called=ran)})) == {"time_g", "broken"}
    if path not in {"setup.py", "pkg/setup.py"}:
        assert select([impact], other) == {}
    text = {"time_f": SUITE["time_f"], "time_text": Coverage(opened=frozenset({"pkg/cfg.rst", "pkg/pyproject.toml"}))}
    assert chosen(edited("pkg/cfg.rst"), coverage=text) == chosen(edited("pkg/pyproject.toml"), coverage=text)
    assert chosen(edited("pkg/cfg.rst"), coverage=text) == {"time_text"}


def test_a_compiled_source_selects_what_loads_a_compiled_part() -> None:
    """It cannot be traced; so does a description of the build."""
    coverage = {**SUITE, "time_c": Coverage(LOADED, RAN_F, compiled=("_fast.so",))}
    assert chosen(edited("src/fast.pyx"), coverage=coverage) == {"time_c"}
    assert chosen(edited("setup.py"), coverage=coverage) == {"time_c"}


def test_a_data_file_selects_what_opened_it() -> None:
    """As far as Python opened it."""
    coverage = {**SUITE, "time_table": Coverage(LOADED, RAN_F, opened=frozenset({"data.txt"}))}
    assert chosen(edited("data.txt"), coverage=coverage) == {"time_table"}


def test_what_starts_processes_or_compiles_functions_is_not_left_out() -> None:
    """A compiler runs functions without their frames: only files that are loaded matter then."""
    coverage = {
        "time_f": SUITE["time_f"],
        "time_child": Coverage(LOADED, RAN_F, spawned=True),
        "time_jit": Coverage(LOADED, RAN_F, jit=True),
        "time_elsewhere": Coverage(jit=True),
    }
    assert chosen(edit("return 2", "return 3"), coverage=coverage) == {"time_child", "time_jit"}


def test_the_patches_of_a_session_select_together() -> None:
    """All arms are timed on the same workloads; reasons name the function."""
    first, second = edit("return 1", "return 0"), edit("return 2", "return 3")
    assert chosen(first, second) == {"time_f", "time_g"}
    impact = impact_of(second, {"lib.py": LIB}, benchmark_dir="benchmarks")
    assert select([impact], SUITE) == {"time_g": "lib.py: g"}
    assert Impact().nothing


def test_another_package_of_the_tree_is_no_import_from_elsewhere() -> None:
    """Whatever lies at a top of the tree, compiled or without an __init__.py; what only tests have does not count."""
    tree = ("fast/turbo.py", "src/other/__init__.py", "src/alone.py", "lib/fastlib.py", "_quick.cpython-311.so")
    sources = {**dict.fromkeys((*tree, "tests/logging/__init__.py", "fast/re.py")), "lib.py": LIB}

    def impact(name: str) -> Impact:
        return impact_of(edit("def f", f"import {name}\n\n\ndef f"), sources, benchmark_dir="benchmarks")

    for name in ("fast.turbo", "other", "alone", "fastlib", "_quick"):
        assert impact(name).everything
    for name in ("turbo", "re", "numpy", "logging"):
        assert not impact(name).everything and impact(name).loads


def test_the_files_to_read_are_those_of_base() -> None:
    """New ones have no text; a diff that cannot be read names none."""
    assert changed_files(edit("return 1", "return 0") + new_file("fresh.py") + moved("a.py", "b.py")) == (
        "lib.py",
        "a.py",
    )
    assert changed_files("nonsense") == ()
