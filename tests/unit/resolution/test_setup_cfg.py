"""setup.cfg."""

from datasmith.resolution.setup_cfg import read_setup_cfg


def test_the_declarative_part_is_read() -> None:
    """Requirements with markers, extras, tests_require, module places; percent signs mean nothing."""
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
