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
    ["R.append('b')", "R += ['b']", "if True:\n    R = ['b']", "R = f()", "R[0] = 'b'", "for R in []: pass\nR = f()"],
)
def test_a_name_that_changes_is_not_known(change: str) -> None:
    """Half a list would be a wrong list."""
    call = read_setup_py(f"from setuptools import setup\nR = ['a']\n{change}\nsetup(install_requires=R)\n")
    assert call.lines("install_requires") == ()
    assert "install_requires" in call.computed


def test_a_function_of_the_file_may_use_the_same_name() -> None:
    """Local variables are other variables."""
    call = read_setup_py("R = ['a']\ndef f():\n    R = []\n    return R\nsetup(install_requires=R)\n")
    assert call.lines("install_requires") == ("a",)


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
    """Old syntax, empty files and hostile nesting give an empty answer, no error."""
    assert read_setup_py(text).keywords == {}


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
