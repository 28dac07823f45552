"""Version constraints as Poetry writes them."""

import pytest

from datasmith.resolution.poetry_versions import poetry_specifier, python_marker
from datasmith.resolution.pyproject import read_pyproject
from datasmith.resolution.requirements import read_lines


@pytest.mark.parametrize(
    ("constraint", "specifier"),
    [
        ("^0.3", ">=0.3,<0.4"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("~1", ">=1,<2"),
        ("*", ""),
        (">=1, <2", ">=1,<2"),
        ("~=1.4", "~=1.4"),
        (">=3.7.1 <4.0", ">=3.7.1,<4.0"),
        ("> 1.0, < 2.0", ">1.0,<2.0"),
        ("= 1.2", "==1.2"),
        ("1.4.*", "==1.4.*"),
    ],
)
def test_poetry_versions(constraint: str, specifier: str) -> None:
    """A caret keeps the first part that is not zero, a tilde the first two."""
    assert poetry_specifier(constraint) == specifier


@pytest.mark.parametrize(
    ("constraint", "specifier"),
    [
        ("^1.5 || ^2.0", ">=1.5,<3"),
        ("^21.2.0 | ^22", ">=21.2.0,<23"),
        (">=2.7 <3.0 || >=3.4 <=4", ">=2.7,<=4"),
        ("1.2 || >1.4", ">=1.2"),
        ("~=1.4.2 || 1.3.*", ">=1.3,<1.5"),
        ("<1 || >=2", ""),
        ("^1.0 || *", ""),
    ],
)
def test_a_union_is_the_range_around_it(constraint: str, specifier: str) -> None:
    """From the lowest lower bound to the highest upper one, each only where every choice has one."""
    assert poetry_specifier(constraint) == specifier


@pytest.mark.parametrize("constraint", ["newest", "1.0 - 2.0", "^x", "||", 3])
def test_what_cannot_be_read_bounds_nothing(constraint: object) -> None:
    """The name stays, and any version of it will do."""
    assert poetry_specifier(constraint) == ""


def test_every_line_of_a_table_is_read() -> None:
    """None is lost to the way that it is written."""
    found = read_pyproject("""
        [tool.poetry.dependencies]
        python = ">=3.7.1 <4.0"
        numpy = ">=1.20 <2.0"
        scipy = "^1.5 || ^2.0"
        six = "whatever"
        """)
    assert found.requires_python == ">=3.7.1,<4.0"
    assert read_lines(found.dependencies or ()).requirements == ("numpy<2.0,>=1.20", "scipy<3,>=1.5", "six")


@pytest.mark.parametrize(
    ("clause", "marker"),
    [
        (">=3.8.1", "python_version >= '3.8'"),
        (">3.8.1", "python_version >= '3.8'"),
        ("<3.8.5", "python_version < '3.8'"),
        ("<=3.8.5", "python_version < '3.8'"),
        ("~=3.8.1", "python_version == '3.8'"),
        ("!=3.9.7", ""),
        ("==3.8.1", "python_version < '0'"),
        ("===3.8.1", "python_version < '0'"),
        ("<3.11", "python_version < '3.11'"),
        ("==3.8.*", "python_version == '3.8.*'"),
    ],
)
def test_a_bound_of_a_patch_is_one_of_its_newest_patch(clause: str, marker: str) -> None:
    """No dependency is lost by the patch that an interpreter is not named with."""
    assert python_marker(clause) == marker
