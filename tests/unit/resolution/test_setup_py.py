"""setup.py is read, not run."""

from pathlib import Path

import pytest

from datasmith.resolution.setup_py import read_setup_py


def test_constants_names_and_sums_are_known() -> None:
    """The values come out as running it would give them."""
    call = read_setup_py("N = 'nm'\nsetup(name=N, install_requires=['a', 'b'] + ['c'], version='1.' + '2')\n")
    assert (call.text("name"), call.lines("install_requires"), call.text("version")) == ("nm", ("a", "b", "c"), "1.2")
    assert call.computed == frozenset()


def test_what_is_read_from_files_is_not_known() -> None:
    """A dynamic read gives no dependencies, and is named; the static keywords stay."""
    call = read_setup_py(
        "import setuptools\nsetuptools.setup(name='x', install_requires=open('r.txt').read().split())\n"
    )
    assert call.lines("install_requires") == ()
    assert call.computed == {"install_requires"}
    assert call.text("name") == "x"


def test_nothing_is_run(tmp_path: Path) -> None:
    """Code with an effect leaves none."""
    target = tmp_path / "ran"
    call = read_setup_py(f"open({str(target)!r}, 'w').close()\nfrom setuptools import setup\nsetup(name='x')\n")
    assert call.text("name") == "x"
    assert not target.exists()


@pytest.mark.parametrize(
    "change",
    [
        "R.append('b')",
        "R += ['b']",
        "if True:\n    R = ['b']",
        "R = f()",
        "R[0] = 'b'",
        "for R in []: pass",
        "with f() as R: pass",
        "R, V = f()",
        "(R := f())",
        "from pins import R",
        "del R[0]",
        "Q = R\nQ.append('b')",
        "Q = [R]\nQ[0].append('b')",
        "for Q in (R, []):\n    Q.append('b')",
        "add = R.append\nadd('b')",
        "def f():\n    R.append('b')\nf()",
        "def f():\n    global R\n    R = ['b']\nf()",
        "def add(to):\n    to.append('b')\nadd(R)",
        "from tools import add\nadd(R)",
    ],
)
def test_a_name_that_changes_is_not_known(change: str) -> None:
    """Half a list would be a wrong list."""
    call = read_setup_py(f"from setuptools import setup\nR = ['a']\n{change}\nsetup(install_requires=R)\n")
    assert call.lines("install_requires") == ()
    assert "install_requires" in call.computed


@pytest.mark.parametrize(
    "text",
    [
        "K = dict(install_requires=['a'])\nK['install_requires'].append('b')\nsetup(**K)",
        "E = {'test': ['a']}\nE['test'].append('b')\nsetup(install_requires=[], extras_require=E)",
        "E = {'test': ['a']}\nT = E['test']\nT += ['b']\nsetup(install_requires=[], extras_require=E)",
        "R = ['a']\nR.append('b')\nQ = R + ['c']\nsetup(install_requires=Q)",
        "K = {}\nexec(open('about.py').read(), K)\nsetup(**K)",
    ],
)
def test_what_is_made_of_something_that_changes_is_not_known(text: str) -> None:
    """A list inside a table, a table with such a list, a sum of it."""
    call = read_setup_py(text)
    assert not call.lines("install_requires") and not call.table("extras_require")
    assert call.computed & {"install_requires", "extras_require", "**"}


@pytest.mark.parametrize(
    "around",
    [
        "def main():\n    R = ['b', 'c']\n    {}\nmain()",
        "def main(R):\n    {}\nmain(['z'])",
        "[{} for R in lists]",
        "(lambda R: {})(['z'])",
    ],
)
def test_a_name_that_is_local_to_the_call_is_not_the_modules(around: str) -> None:
    """The function around setup() binds it anew."""
    call = read_setup_py("R = ['old']\n" + around.format("setup(name='x', install_requires=R)"))
    assert call.lines("install_requires") == ()
    assert call.computed == {"install_requires"}


@pytest.mark.parametrize(
    "between",
    [
        "def f():\n    R = []\n    return R",
        "def f(R):\n    return R",
        "Q = [R for R in lists]",
        "Q = R[:]\nQ.append('b')",
        "Q = list(R)\nQ.append('b')",
        "E = {}\nE['all'] = R + ['t']\nE['all'].extend(R)",
        "E = {}\nE['run'] = R\nE['test'] = ['t']",
        "print(' '.join(R))",
    ],
)
def test_what_leaves_a_list_alone_leaves_it_known(between: str) -> None:
    """Local variables are other variables, copies other lists, and a table takes no part of what is put into it."""
    call = read_setup_py(f"R = ['a']\n{between}\nsetup(install_requires=R)\n")
    assert (call.lines("install_requires"), call.computed) == (("a",), frozenset())


@pytest.mark.parametrize(
    "text",
    [
        "import logging\nlogging.setup(level=3)\nfrom setuptools import setup\nsetup(name='x')",
        "import setuptools as st\nst.setup(name='x')",
        "from setuptools import setup as real\nreal(name='x')",
        "from numpy.distutils import core\nK = {'name': 'x'}\ncore.setup(**K)",
    ],
)
def test_setup_is_that_of_a_build_tool(text: str) -> None:
    """By whatever name it was imported; a method of something else that is called the same is none."""
    assert read_setup_py(text).keywords == {"name": "x"}


def test_a_file_without_the_call_computes_it() -> None:
    """Somebody else makes it."""
    assert read_setup_py("from tools import main\nmain(install_requires=['a'])").computed == {"**"}


def test_a_table_of_keywords_is_read() -> None:
    """setup(**kwargs), with dict() or braces, starred lists and f-strings of known parts."""
    call = read_setup_py(
        "B = ['b']\nV = 2\nK = dict(name='x', install_requires=['a', *B], extras_require={'test': ['t>=1'], **{}})\n"
        "setup(**K, version=f'1.{V}')\n"
    )
    assert call.lines("install_requires") == ("a", "b")
    assert call.table("extras_require") == {"test": ("t>=1",)}
    assert call.text("version") == "1.2"


@pytest.mark.parametrize(
    "text", ["print 'python 2'", "", "x = (" * 5000, "a" + "+1" * 50000, "\0", "setup(" + "-" * 9000 + "1)"]
)
def test_what_cannot_be_read_says_nothing(text: str) -> None:
    """Old syntax, empty files and hostile nesting give an answer without keywords, no error: any may be computed."""
    assert read_setup_py(text).keywords == {} and read_setup_py(text).computed == {"**"}


def test_imports_and_extensions_are_seen() -> None:
    """What the file needs to run, in its order, and that it compiles something."""
    call = read_setup_py(
        "import numpy as np\nfrom Cython.Build import cythonize\nsetup(ext_modules=cythonize('x.pyx'))\n"
    )
    assert call.imports == ("numpy", "Cython")
    assert call.builds_extensions


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("first", "doubled"),
    [
        ("'xxxxxxxxxx'", "{0} + {0}"),
        ("['a', 'b']", "{0} + {0}"),
        ("['a', 'b']", "[*{0}, *{0}]"),
        ("'xxxxxxxxxx'", "f'{{{0}}}{{{0}}}'"),
    ],
)
def test_values_that_grow_by_themselves_are_computed(first: str, doubled: str) -> None:
    """Of a file that doubles a string or a list no keyword counts as known."""
    lines = [f"a0 = {first}", *(f"a{at} = {doubled.format(f'a{at - 1}')}" for at in range(1, 60))]
    call = read_setup_py("\n".join([*lines, "setup(name='x', install_requires=a59)"]))
    assert call.computed == {"**"} and not call.keywords


@pytest.mark.timeout(20)
def test_a_table_pays_for_what_it_repeats() -> None:
    """One long list under many names."""
    rows = ", ".join(f"'{at}': a" for at in range(10_000))
    call = read_setup_py(f"a = [{'1, ' * 10_000}]\nsetup(extras_require={{{rows}}})")
    assert call.computed == {"**"}
