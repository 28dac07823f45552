"""setup.cfg."""

import pytest

from datasmith.resolution.setup_cfg import read_setup_cfg


def test_the_declarative_part_is_read() -> None:
    """Requirements with markers, extras, tests_require, module places; a percent sign alone means nothing."""
    found = read_setup_cfg("""
[metadata]
name = c
version = attr: c.__version__
[options]
python_requires = >=3.8
packages = find:
package_dir =
    = src
install_requires =
    numpy>=1.20; python_version >= "3.8"
    six
tests_require = hypothesis
[options.extras_require]
bench =
    pandas
[tool:pytest]
addopts = --cov=c %d
""")
    assert (found.name, found.requires_python) == ("c", ">=3.8")
    assert found.dependencies == ('numpy>=1.20; python_version >= "3.8"', "six")
    assert found.extras == {"bench": ("pandas",), "test": ("hypothesis",)}
    assert found.package_roots == ("src",)
    assert found.modules == ()
    assert found.pytest_options == "--cov=c %d"


def test_a_single_line_may_hold_several() -> None:
    """Between semicolons, as setuptools reads it; what follows one as a marker stays with its requirement."""
    found = read_setup_cfg(
        "[options]\ninstall_requires = numpy; scipy>=1; python_version > '3' ;six\nsetup_requires = a; os_name == 'x'\n"
        "tests_require =\n    b; c\n    d\n[options.extras_require]\nio = e; f\n"
    )
    assert found.dependencies == ("numpy", "scipy>=1; python_version > '3'", "six")
    assert found.setup_requires == ("a; os_name == 'x'",)
    assert found.extras == {"io": ("e", "f"), "test": ("b; c", "d")}


def test_what_tests_require_is_part_of_the_extra() -> None:
    """It vanished where an extra of its name was there."""
    found = read_setup_cfg("[options]\ntests_require = mock\n[options.extras_require]\ntest = six\nempty =\n")
    assert found.extras == {"test": ("six", "mock")}
    head = "[options]\ntests_require = file: t.txt\n[options.extras_require]\n"
    assert read_setup_cfg(f"{head}test = file: a.txt, b.txt\n").files == {
        "optional-dependencies.test": ("a.txt", "b.txt", "t.txt")
    }
    both = read_setup_cfg(f"{head}test = six\n")
    assert (both.extras, both.files) == ({"test": ("six",)}, {"optional-dependencies.test": ("t.txt",)})


def test_values_of_a_section_refer_to_each_other() -> None:
    """As in setuptools: `%(io)s`, and two percent signs for one; what cannot be resolved stays as it is."""
    extras = "io = netCDF4\nTest =\n    %(IO)s\n    pytest-mock\nall = %(test)s\nodd = %(none)s\nself = %(self)s\n"
    found = read_setup_cfg(f"[options.extras_require]\n{extras}[tool:pytest]\naddopts = --a=%%d\n")
    assert found.extras == {
        "io": ("netCDF4",), "test": ("netCDF4", "pytest-mock"), "all": ("netCDF4", "pytest-mock"),
        "odd": ("%(none)s",), "self": ("%(self)s",),
    }  # fmt: skip
    assert found.pytest_options == "--a=%d"


@pytest.mark.timeout(20)
def test_values_that_grow_beyond_the_limit_stay_as_they_are() -> None:
    """Each refers to the one before a hundred times."""
    rows = "".join(f"a{at} = {f'%(a{at - 1})s ' * 100}\n" for at in range(1, 10))
    found = read_setup_cfg(f"[options.extras_require]\na0 = six\n{rows}")
    assert found.extras["a0"] == ("six",) and found.extras["a9"][0].startswith("%(a8)s %(a8)s")


def test_file_directives_point_to_files() -> None:
    """They are not taken for requirements."""
    found = read_setup_cfg("[options]\ninstall_requires = file: requirements.txt, more.txt\n")
    assert found.dependencies is None
    assert found.files == {"dependencies": ("requirements.txt", "more.txt")}


def test_no_install_requires_is_not_an_empty_one() -> None:
    """Another file may still say it."""
    assert read_setup_cfg("[metadata]\nname = c\n").dependencies is None
    assert read_setup_cfg("[options]\ninstall_requires =\n").dependencies == ()


def test_a_broken_file_is_a_remark() -> None:
    """Reading goes on without it."""
    assert "cannot be read" in read_setup_cfg("no section\n").problem


def test_dashes_in_keywords_are_underscores() -> None:
    """As setuptools read them for years; names of extras stay as they are."""
    found = read_setup_cfg(
        "[options]\npython-requires = >=3.8\ninstall-requires =\n    numpy\nsetup-requires = cython\n"
        "package-dir =\n    = src\n[options.extras_require]\nin-memory = six\n"
    )
    assert (found.requires_python, found.dependencies, found.setup_requires) == (">=3.8", ("numpy",), ("cython",))
    assert found.package_roots == ("src",) and found.extras == {"in-memory": ("six",)}
