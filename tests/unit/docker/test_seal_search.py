"""What of an image's files speaks against the seal: decided from lists, without a sandbox."""

import pytest

from datasmith.docker.seal import SealReport
from datasmith.docker.seal_names import Names
from datasmith.docker.seal_search import MOST_LINES, Search, is_telling, places, problems, telling, untold

LONG = "the quick brown fox jumps over the lazy dog and back"


def test_an_answer_is_read_back() -> None:
    """Each word of the script lands in its field; text may hold tabs."""
    answer = "repo\t/r\nown\tPkg\ndist\t/x.dist-info\nunread\t/big.zip\n"
    answer += "looked\t7\ncache\t/a.whl\ncopy\t/b/c.py\nline\tx\ty\nfile\t/d\nhas\tx\ty\nfile\t/e\n"
    found = Search.read(answer)
    assert (found.looked_at, found.caches, found.copies) == (7, ("/a.whl",), ("/b/c.py",))
    assert found.lines == {"x\ty"}
    assert (found.repositories, found.own, found.others) == (("/r",), ("Pkg",), ("/x.dist-info",))
    assert "cannot be read to its end: /big.zip" in list(problems(found, {}, [], []))
    assert found.files == {"/d": frozenset({"x\ty"}), "/e": frozenset()}


def test_a_file_that_is_told_twice_holds_both() -> None:
    """One search finds lines that lie in it as they are, the other those that it has packed: together they count."""
    lines = [f"{LONG} {number}" for number in range(4)]
    answer = f"looked\t1\nfile\t/d\nhas\t{lines[0]}\nhas\t{lines[1]}\nfile\t/d\nhas\t{lines[2]}\n"
    assert Search.read(answer).files == {"/d": frozenset(lines[:3])}
    names = "name\tan_old_name\nfile\t/d\nhas\tan_old_name\nfile\t/d\nhas\ta_new_name\n"
    assert Names.read(names).files == {"/d": frozenset({"an_old_name", "a_new_name"})}


@pytest.mark.parametrize("answer", ["", "cache\t/a.whl\n", "looked\t1\nlooked\t2\n", "looked\t1\nsegfault\n"])
def test_another_answer_is_refused(answer: str) -> None:
    """A script that broke off, or printed something else, gives no report."""
    with pytest.raises(ValueError, match=r"unknown answer|unpack"):
        Search.read(answer)


def test_only_lines_that_tell_are_searched() -> None:
    """Short lines and imports are found anywhere; of very many lines the longest are taken."""
    added = {"a.py": [f"  {LONG}", "x = 1", f"import {LONG}", f"from {LONG}"], "b.py": ["y"]}
    assert telling(added) == {"a.py": frozenset({LONG})}
    many = telling({"c.py": [f"{LONG} {'x' * number}" for number in range(MOST_LINES + 10)]})["c.py"]
    assert len(many) == MOST_LINES
    assert f"{LONG} {'x' * 9}" not in many
    assert f"{LONG} {'x' * 10}" in many


@pytest.mark.parametrize(
    ("found", "of", "telling_enough"),
    [(0, 5, False), (1, 5, False), (2, 5, True), (2, 11, False), (3, 11, True), (20, 100, True), (19, 100, False)],
)
def test_some_lines_may_be_there_by_chance(found: int, of: int, telling_enough: bool) -> None:
    """A fifth of the lines, and at least two, are no chance."""
    lines = [f"{LONG} {number}" for number in range(of)]
    assert is_telling(frozenset(lines[:found]), frozenset(lines)) is telling_enough


def test_a_single_line_has_to_be_long() -> None:
    """Where the fix adds one line to a file, that line is a sign only if it is not a common one."""
    assert is_telling(frozenset({LONG}), frozenset({LONG}))
    assert not is_telling(frozenset({LONG[:30]}), frozenset({LONG[:30]}))
    assert not is_telling(frozenset(), frozenset({LONG}))


CACHES = {
    "/home/agent/.cache/pip/http/abc": True,
    "/srv/other-1.0-py3-none-any.whl": True,
    "/opt/env/lib/python3.11/site-packages/other/d\u00e4ta.tar.gz": False,
    "/usr/share/python-wheels/pip-23.0-py3-none-any.whl": False,
    "/usr/share/my-pkg-2.0.tar.gz": True,
    "/opt/env/lib/python3.11/site-packages/other/data.tar.gz": False,
    "/opt/python/lib/python3.13/ensurepip/_bundled/pip-24.whl": False,
    "/opt/env/lib/python3.11/site-packages/my_pkg-3-py3-none-any.whl": True,
}


@pytest.mark.parametrize("path", CACHES)
def test_a_kept_package_is_a_problem_where_a_download_left_it(path: str) -> None:
    """What the system and other packages bring is theirs, unless it is named as this package."""
    found = list(problems(Search(1, (path,), (), frozenset(), {}), {}, ["my_pkg"], []))
    assert bool(found) is CACHES[path]


def test_a_package_is_known_by_the_name_of_its_distribution_too() -> None:
    """A later wheel is called as the distribution is, which the tree was installed as, and not as its modules are."""
    place = "/opt/env/lib/python3.11/site-packages"
    caches = (f"{place}/scikit_learn-9.0-py3-none-any.whl", f"{place}/other/data.zip", "/opt/env/share/x.tar.xz")
    found = Search(1, caches, (), frozenset(), {}, own=("scikit-learn",), others=(f"{place}/sklearn_x.dist-info",))
    assert list(problems(found, {}, ["sklearn"], [])) == [
        f"cached package {caches[0]}",
        f"another distribution brings the package: {place}/sklearn_x.dist-info",
    ]


def test_paths_are_read_as_they_are() -> None:
    """Whatever stands in them: decisions are made on the path itself."""
    answer = "looked\t1\ncopy\t/a\\nb/\\\\n\u00e4\tc.py\nfile\t/x\\ny\nsame\t3\t/p\tq\\n\n"
    found = Search.read(answer)
    assert (found.copies, list(found.files)) == (("/a\nb/\\n\u00e4\tc.py",), ["/x\ny"])
    assert found.same == ((3, "/p\tq\n"),)


def test_a_file_that_cannot_be_told_is_named() -> None:
    """Short lines, those that base has, too, and files to which nothing is added."""
    added = {"short.py": ["x = 1", "return x"], "old.py": [LONG, ""], "new.py": [LONG + "!"], "gone.py": ["", "  "]}
    found = Search(1, (), (), frozenset({LONG + "!"}), {}, whole=(3,))
    assert [line.replace(": ", ";").split(";")[::2] for line in untold(found, added, telling(added), list(added))] == [
        ["short.py", " nothing of it was"],
        ["old.py", " nothing of it was"],
        ["gone.py", " only the whole file was"],
    ]


def test_whole_files_of_the_fix_are_named() -> None:
    """A file as the fix leaves it; a commit to which the fix does not apply; what was not told apart."""
    answer = "looked\t1\nwhole\t0\nwhole\t1\nother\t2\nsame\t1\t/opt/later/b.py\n"
    found, files = Search.read(answer), ["a.py", "b.py", "c.py"]
    assert list(problems(found, {}, [], files)) == [
        "the commit's c.py is not the one that the fix changes",
        "/opt/later/b.py holds b.py as the fix leaves it",
    ]
    short = f"the lines that the fix adds are too short, too common, too few, or not of the {MOST_LINES} longest"
    assert list(untold(found, {"a.py": [], "b.py": ["x"], "c.py": []}, {}, files)) == [
        "a.py: the fix adds no line that can be read; only the whole file was",
        f"b.py: {short}; only the whole file was",
        "c.py: the fix adds no line that can be read; nothing of it was",
    ]


def test_a_directory_without_its_init_is_a_copy_too() -> None:
    """One file of it is named, and none of a package that is named already; the tree's own are the tree."""
    site = "/opt/env/lib/python3.11/site-packages"
    parts = (f"{site}/pkg/a.so", f"{site}/pkg/b.py", f"{site}/~kg/x/c.so", f"{site}/whole/d.py")
    found = Search(1, (), (f"{site}/whole/__init__.py",), frozenset(), {}, parts=parts)
    assert [line.partition(": ")[2] for line in problems(found, {}, ["pkg", "whole"], [])] == [
        f"{site}/whole/__init__.py", f"{site}/pkg/a.so", f"{site}/~kg/x/c.so",
    ]  # fmt: skip
    assert places(["pkg", "zope.interface"]) == "pkg|zope/interface|~kg"


@pytest.mark.parametrize(
    ("problems", "unknown", "sealed"),
    [((), (), True), ((), ("a.py",), None), (("a leak",), (), False), (("a leak",), ("a.py",), False)],
)
def test_only_what_was_looked_for_as_a_whole_is_called_sealed(
    problems: tuple[str, ...], unknown: tuple[str, ...], sealed: bool | None
) -> None:
    """Where nothing was found, and something could not be looked for, that is neither yes nor no."""
    assert SealReport((), problems, unknown).sealed is sealed
