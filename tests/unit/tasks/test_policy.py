"""The policy on what a patch may touch."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasmith.tasks.gitdiff import MalformedDiff
from datasmith.tasks.policy import MAX_FILES, check_patch, solution_part

PROJECT = "pyproject.toml"


def new_file(path: str, mode: str = "100644", line: str = "x = 1") -> str:
    return (
        f"diff --git a/{path} b/{path}\nnew file mode {mode}\nindex 0000000..89abcde\n"
        f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n"
    )


def change(path: str, line: str = "x = 1") -> str:
    return (
        f"diff --git a/{path} b/{path}\nindex 1234567..89abcde 100644\n"
        f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-old\n+{line}\n"
    )


@pytest.mark.parametrize(
    "patch",
    [
        change("src/pkg/core.py"),
        change("setup.py"),
        new_file("src/pkg/_fast.c"),
        new_file("pkg/random.py"),
        change("random.py"),
        change("pyproject.toml", 'requires = ["setuptools", "cython"]'),
        change("docs/index.md"),
        change("pkg/benchmarking.py"),
        new_file("run.sh", mode="100755"),
        "",
    ],
)
def test_work_on_the_code_is_allowed(patch: str) -> None:
    """What an honest optimisation touches raises no alarm."""
    assert check_patch(patch, benchmark_dir="benchmarks").reasons == ()


@pytest.mark.parametrize(
    "path",
    [
        "fast.pth",
        "src/sitecustomize.py",
        "usercustomize/__init__.py",
        "sitecustomize.cpython-311-x86_64-linux-gnu.so",
        "conftest.py",
        "src/pkg/conftest.py",
        "CONFTEST.PY",
        "pkg-1.0.dist-info/METADATA",
        "src/pkg.egg-info/PKG-INFO",
        "benchmarks/bench.py",
        "tests/test_a.py",
        "src/pkg/tests/data.json",
        "test_more.py",
        "asv.conf.json",
        ".asv.conf.jsonc",
        "pytest.ini",
        "tox.ini",
        ".git/config",
        ".gitattributes",
        ".gitmodules",
        ".github/workflows/x.yml",
        "../outside.py",
        "a/../../b.py",
        "a//b.py",
        "./a.py",
        "random.py",
        "src/statistics.py",
        "time/__init__.py",
        "asv_runner/__init__.py",
        "pytest.py",
        "back\\slash.py",
        "right\u202eleft.py",
    ],
)
def test_a_protected_path_is_refused_by_name(path: str) -> None:
    """Nothing that tests, measures or runs before the code: the reason names the path."""
    verdict = check_patch(new_file(path), benchmark_dir="benchmarks")
    assert not verdict.allowed
    assert verdict.reasons[0].startswith(ascii(path)[1:-1])


def test_an_absolute_path_is_refused() -> None:
    """`a//etc/passwd` is what git writes for it."""
    assert not check_patch(new_file("/etc/passwd"), benchmark_dir="benchmarks").allowed


@pytest.mark.parametrize("mode", ["120000", "160000", "100664", "040000"])
def test_links_and_submodules_are_refused(mode: str) -> None:
    """Only plain files, executable or not."""
    assert f"file mode {mode}" in check_patch(new_file("x", mode=mode), benchmark_dir="b").text
    typed = f"diff --git a/x b/x\nold mode 100644\nnew mode {mode}\n"
    assert not check_patch(typed, benchmark_dir="b").allowed
    indexed = change("x").replace(" 100644", f" {mode}")
    assert not check_patch(indexed, benchmark_dir="b").allowed


@pytest.mark.parametrize("name", ["setup.cfg", "pyproject.toml"])
@pytest.mark.parametrize("line", ["[tool:pytest]", "[tool.pytest.ini_options]", 'addopts = "-p pkg.evil"'])
def test_the_configuration_of_the_tests_is_refused(name: str, line: str) -> None:
    """A build file may change, its part about tests may not."""
    assert not check_patch(change(name, line), benchmark_dir="b").allowed


@pytest.mark.parametrize(("heading", "allowed"), [('test = ["pytest>=8"]', True), ("[tool.pytest.ini_options]", False)])
def test_what_a_changed_line_stands_beside_counts_where_it_is_a_heading(heading: str, *, allowed: bool) -> None:
    """Dependencies may change beside that on pytest, which stays."""
    lines = f" [project]\n {heading}\n name = 'x'\n+more = true\n"
    patch = f"diff --git a/{PROJECT} b/{PROJECT}\n--- a/{PROJECT}\n+++ b/{PROJECT}\n@@ -1,3 +1,4 @@\n{lines}"
    assert check_patch(patch, benchmark_dir="b").allowed is allowed


def test_moving_a_test_away_is_refused() -> None:
    """Both names of a rename count."""
    patch = "diff --git a/tests/test_a.py b/a.py\nsimilarity index 100%\nrename from tests/test_a.py\nrename to a.py\n"
    assert not check_patch(patch, benchmark_dir="b").allowed


def test_what_may_not_be_there_is_not_read() -> None:
    """A test is refused for being one, whatever it says; the others say what they say."""
    patch = new_file("tests/test_a.py", line="import pytest") + new_file("a.py", line="import pytest")
    (first, second) = check_patch(patch, benchmark_dir="b").reasons
    assert first == "tests/test_a.py: a test" and second.startswith("a.py: its new lines")


def test_a_file_named_twice_is_refused() -> None:
    """The second part could undo what the first one shows."""
    assert not check_patch(change("x.py") + change("x.py"), benchmark_dir="b").allowed


def test_too_many_files_are_refused() -> None:
    """A patch of thousands of files is no optimisation."""
    assert not check_patch("".join(new_file(f"f{i}.py") for i in range(MAX_FILES + 1)), benchmark_dir="b").allowed


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200), st.text(max_size=20))
def test_any_text_gets_a_verdict(text: str, path: str) -> None:
    """Hostile text is refused with a reason, never a crash, and the reason can be shown."""
    for patch in (text, "diff --git " + text, change("x.py") + text, new_file(path)):
        assert check_patch(patch, benchmark_dir="benchmarks").text.isprintable()
    for reason in check_patch(text or "x", benchmark_dir="b").reasons:
        assert reason


def test_the_solution_is_what_a_submission_may_change() -> None:
    """Tests, benchmarks, CI and documentation's links fall away; each kept file stays byte for byte."""
    kept = [change("src/core.py", "é\r"), new_file("src/fast.c"), change("docs/index.md")]
    left = [change("tests/test_a.py"), change("b/bench.py"), new_file(".github/workflows/x.yml"), change("tox.ini")]
    mixed = "".join([left[0], kept[0], left[1], left[2], kept[1], kept[2], left[3]])
    assert solution_part(mixed, benchmark_dir="b") == "".join(kept)
    assert check_patch(solution_part(mixed, benchmark_dir="b"), benchmark_dir="b").allowed


@pytest.mark.parametrize("line", ["diff --git a/x b/x", "-- diff --git ", "@@ -1 +1 @@"])
def test_a_line_that_looks_like_a_header_stays_in_its_file(line: str) -> None:
    """Only git's own headers separate files."""
    patch = change("src/a.py", line) + change("tests/test_a.py", line)
    assert solution_part(patch, benchmark_dir="b") == change("src/a.py", line)


def test_a_patch_of_tests_alone_has_no_solution() -> None:
    """Then nothing is left, as of an empty patch."""
    assert solution_part(change("tests/test_a.py"), benchmark_dir="b") == ""
    assert solution_part("", benchmark_dir="b") == ""


@pytest.mark.parametrize("patch", ["hello", change("x.py") + "junk\n", "diff --git a/x"])
def test_what_is_no_diff_has_no_solution_to_take(patch: str) -> None:
    """It is an error, not an empty solution."""
    with pytest.raises(MalformedDiff):
        solution_part(patch, benchmark_dir="b")
